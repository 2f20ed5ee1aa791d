// Builds what the native executor is called with: settings, a pool, calls, contexts and sinks.

import type { Test } from 'tap'
import type { Emulator } from '../../../../ops/emulator/server.ts'
import { parseSettings } from '../../../../shared/settings.ts'
import type { NormalizedEvent } from '../../../../worker/normalized/index.ts'
import type { PendingAttachment } from '../../../../worker/protocols/face.ts'
import { createNativeProviderPool, type NativeProviderOptions } from '../../../../worker/providers/native/index.ts'
import type { CallContext, EventSink, NativeProvider, NativeProviderPool } from '../../../../worker/providers/types.ts'
import type { TranslatedChat } from '../../../../worker/translation/types.ts'
import { createMemoryLog, type MemoryLog } from './log.ts'

export const CREDENTIALS = Buffer.from('client:secret').toString('base64')

export interface TestPool {
  pool: NativeProviderPool
  /** The provider of the server's credential. */
  provider: NativeProvider
  memory: MemoryLog
}

/** A pool that ends with the test. */
export function startPool(
  t: Test,
  env: Record<string, string>,
  options: Partial<NativeProviderOptions> = {}
): TestPool {
  const memory = createMemoryLog()
  const pool = createNativeProviderPool({
    settings: parseSettings(env),
    log: memory.log,
    version: '1.2.3',
    ...options
  })
  t.teardown(() => pool.destroy())
  return { pool, provider: pool.acquire({ type: 'server' }).provider, memory }
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
  wire?: 'native-v1' | 'native-v2'
  /** True unless stated otherwise, as in the completions family. */
  carriesFileBytes?: boolean
  isStream?: boolean
  stop?: string[]
  attachments?: PendingAttachment[]
  /** Members of the body beside model, messages and stream. */
  extra?: Record<string, unknown>
}

/** A translated chat with one user message. */
export function chatCall(prompt: string, options: ChatOptions = {}): TranslatedChat {
  const wire = options.wire ?? 'native-v1'
  const attachments = options.attachments ?? []
  const ids = attachments.map(attachment => attachment.placeholder)
  const message =
    wire === 'native-v1'
      ? { role: 'user', content: prompt, ...(ids.length > 0 ? { attachments: ids } : {}) }
      : { role: 'user', content: [{ text: prompt }, ...(ids.length > 0 ? [{ files: ids.map(id => ({ id })) }] : [])] }
  const body = {
    model: wire === 'native-v1' ? 'GigaChat-2-Max' : 'GigaChat-3-Ultra',
    messages: [message],
    ...(options.isStream === true ? { stream: true } : {}),
    ...options.extra
  }
  return {
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
      carriesFileBytes: options.carriesFileBytes ?? true,
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
      wire,
      upstreamModel: body.model,
      publicModel: body.model,
      slotKey: body.model
    },
    body: Buffer.from(JSON.stringify(body)),
    attachments,
    reading: {
      toolNames: new Map(),
      buffersToolCalls: false,
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

export interface CollectingSink extends EventSink {
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
