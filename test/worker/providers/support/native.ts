// Builds what the native executors are called with: settings, a pool, calls, contexts and sinks.

import type { Test } from 'tap'
import type { Emulator } from '../../../../ops/emulator/server.ts'
import { createNativeProfileSet, NATIVE_PROFILE_ID } from '../../../../shared/profile/native-profile.ts'
import { parseSettings } from '../../../../shared/settings.ts'
import {
  accumulateEvents,
  type EmbeddingsCall,
  type EmbeddingsResult,
  type NormalizedEvent,
  type NormalizedResponse
} from '../../../../worker/normalized/index.ts'
import type { ApiMode, PendingAttachment, TokenCountCall } from '../../../../worker/protocols/provider-face.ts'
import { findProviderFace, providerFaces } from '../../../../worker/protocols/registry.ts'
import {
  createNativeKind,
  type NativeKindOptions,
  readNativeOptions
} from '../../../../worker/providers/native/index.ts'
import { createExecutors, type ExecutorsOptions } from '../../../../worker/providers/registry.ts'
import type { CallContext, Executor, ResponseSink, UpstreamAuthorization } from '../../../../worker/providers/types.ts'
import type { TranslatedChat } from '../../../../worker/translation/types.ts'
import { readsInline } from './large-responses.ts'
import { createMemoryLog, type MemoryLog } from './log.ts'
import { askForEmbeddings, askForTokenCounts } from './resources.ts'

export const CREDENTIALS = Buffer.from('client:secret').toString('base64')

/** An executor whose calls are written and read by the real face. */
export interface TestExecutor extends Required<Pick<Executor, 'listModels'>> {
  embed(call: EmbeddingsCall, context: CallContext): Promise<EmbeddingsResult>
  /** Tokens per text. */
  countTokens(call: TokenCountCall, context: CallContext): Promise<number[]>
  /** Runs a chat that is not streamed and resolves with its response, which must arrive in one push. */
  complete(call: TranslatedChat, context: CallContext): Promise<NormalizedResponse>
  stream(call: TranslatedChat, context: CallContext, sink: ResponseSink): Promise<void>
}

export interface TestPool {
  pool: {
    acquire(authorization: UpstreamAuthorization): { executor: TestExecutor; release(): void }
    close(): Promise<void>
    destroy(): Promise<void>
  }
  /** The executor of the server's credential. */
  executor: TestExecutor
  memory: MemoryLog
}

type PoolOptions = NativeKindOptions &
  Pick<Partial<ExecutorsOptions>, 'largeResponses' | 'now' | 'monotonicMs' | 'random' | 'onTokenFetched' | 'onOutcome'>

/** The executors of the native profile, destroyed with the test. */
export function startPool(t: Test, env: Record<string, string>, options: PoolOptions = {}): TestPool {
  const memory = createMemoryLog()
  const settings = parseSettings(env)
  const { addressPolicy, downloadDependencies, ...parts } = options
  const kind = createNativeKind({
    ...(addressPolicy === undefined ? {} : { addressPolicy }),
    ...(downloadDependencies === undefined ? {} : { downloadDependencies })
  })
  const executors = createExecutors({
    profiles: createNativeProfileSet(settings),
    credentials: {},
    kinds: { native: kind },
    faces: providerFaces,
    largeResponses: readsInline,
    settings,
    log: memory.log,
    version: '1.2.3',
    ...parts
  })
  t.teardown(() => executors.destroy())
  const acquire = (authorization: UpstreamAuthorization) => {
    const { executor, release } = executors.acquire(NATIVE_PROFILE_ID, authorization)
    return { executor: createTestExecutor(executor, readNativeOptions(settings)), release }
  }
  const pool = { acquire, close: executors.close, destroy: executors.destroy }
  return { pool, executor: acquire({ type: 'server' }).executor, memory }
}

function createTestExecutor(executor: Executor, options: unknown): TestExecutor {
  const { listModels } = executor
  if (listModels === undefined) throw new Error('The native upstream has a list of models.')
  const { plan } = chatCall('')
  const asker = { executor, plan, face: findProviderFace(providerFaces, plan), faceOptions: options }
  /** Path and headers of the chat as the face writes them; the body stays the test's own. */
  const write = (call: TranslatedChat): TranslatedChat => {
    const { path, headers } = findProviderFace(providerFaces, call.plan).writeChat(
      call.request,
      { upstreamModel: call.plan.upstreamModel },
      options
    )
    return { ...call, path, headers }
  }
  return {
    embed: (call, context) => askForEmbeddings(asker, call, context),
    countTokens: (call, context) => askForTokenCounts(asker, call, context),
    listModels,
    async complete(call, context) {
      const sink = createSink()
      await executor.chat(write(call), context, sink)
      if (sink.batches.length !== 1) throw new Error(`A whole response came in ${sink.batches.length} pushes.`)
      return accumulateEvents(sink.events())
    },
    stream: async (call, context, sink) => executor.chat(write(call), context, sink)
  }
}

/** Variables that point the executor at an emulator with OAuth credentials. */
export function emulatorEnv(emulator: Emulator, more: Record<string, string> = {}): Record<string, string> {
  return {
    UPSTREAM_BASE_URL: emulator.baseUrl,
    UPSTREAM_AUTH_URL: emulator.authUrl,
    UPSTREAM_CREDENTIALS: CREDENTIALS,
    ...more
  }
}

export interface ChatOptions {
  apiMode?: ApiMode
  isStream?: boolean
  stop?: string[]
  attachments?: PendingAttachment[]
  /** Members of the body beside model, messages and stream. */
  extra?: Record<string, unknown>
}

/** A chat with one user message. */
export function chatCall(prompt: string, options: ChatOptions = {}): TranslatedChat {
  const apiMode = options.apiMode ?? 'v1'
  const attachments = options.attachments ?? []
  const ids = attachments.map(attachment => attachment.placeholder)
  const message =
    apiMode === 'v1'
      ? { role: 'user', content: prompt, ...(ids.length > 0 ? { attachments: ids } : {}) }
      : { role: 'user', content: [{ text: prompt }, ...(ids.length > 0 ? [{ files: ids.map(id => ({ id })) }] : [])] }
  const body = {
    model: apiMode === 'v1' ? 'GigaChat-2-Max' : 'GigaChat-3-Ultra',
    messages: [message],
    ...(options.isStream === true ? { stream: true } : {}),
    ...options.extra
  }
  return {
    isStream: options.isStream ?? false,
    stops: options.stop ?? [],
    request: {
      version: 'gateway.normalized.v1',
      requestId: 'r1',
      fieldPaths: {
        model: 'model',
        messages: 'messages',
        tools: 'tools',
        toolChoice: 'tool_choice',
        output: '',
        stop: 'stop'
      },
      isStream: options.isStream ?? false,
      carriesFileBytes: true,
      wantsStreamUsage: false,
      messages: [],
      tools: [],
      usesLegacyFunctions: false,
      sampling: options.stop === undefined ? {} : { stop: options.stop },
      ignored: {}
    },
    plan: {
      providerKind: 'native',
      profileId: 'native-upstream',
      apiMode,
      upstreamModel: body.model,
      publicModel: body.model,
      slotKey: body.model
    },
    path: '',
    headers: [],
    body: Buffer.from(JSON.stringify(body)),
    attachments,
    reading: {
      toolNames: new Map(),
      declaredNames: new Set(),
      buffersToolCalls: false,
      namesCallsInIds: false,
      expectsToolCall: false,
      isStructuredOutput: false,
      droppedAttachments: 0,
      droppedToolCalls: 0
    }
  }
}

export function contextOf(more: Partial<CallContext> = {}): CallContext {
  return { requestId: 'r1', signal: new AbortController().signal, headers: [], ...more }
}

export interface CollectingSink extends ResponseSink {
  batches: NormalizedEvent[][]
  events: () => NormalizedEvent[]
  /** All text deltas together. */
  text: () => string
  /** Resolves when this many batches were pushed. */
  pushed: (count: number) => Promise<void>
}

/** A sink that takes everything at once. */
export function createSink(): CollectingSink {
  const batches: NormalizedEvent[][] = []
  const waiters: Array<{ count: number; resolve: () => void }> = []
  const events = (): NormalizedEvent[] => batches.flat()
  return {
    batches,
    events,
    text: () => textOf(events()),
    push(batch) {
      batches.push([...batch])
      for (const waiter of waiters) if (batches.length >= waiter.count) waiter.resolve()
      return true
    },
    whenDrained: () => Promise.resolve(),
    pushed: count =>
      batches.length >= count ? Promise.resolve() : new Promise(resolve => waiters.push({ count, resolve }))
  }
}

export function textOf(events: readonly NormalizedEvent[]): string {
  return events.map(event => (event.type === 'text-delta' ? event.text : '')).join('')
}
