// A client and an executor of a small made-up provider: a JSON list of words, or a stream with a word in each event.

import type { Test } from 'tap'
import { Secret } from '../../../../shared/secrets/secret.ts'
import { GatewayError, type NormalizedEvent } from '../../../../worker/normalized/index.ts'
import { nativeV1Acceptance } from '../../../../worker/protocols/native/acceptance.ts'
import type { ProviderFace, ResponseHead } from '../../../../worker/protocols/provider-face.ts'
import { ProviderClient, type ProviderClientOptions } from '../../../../worker/providers/http/client.ts'
import { type OriginTimeouts, openOrigin } from '../../../../worker/providers/http/connections.ts'
import { createFixedCredential, signWithHeader } from '../../../../worker/providers/http/credential.ts'
import { createHttpExecutor, type HttpExecutorOptions } from '../../../../worker/providers/http/executor.ts'
import { createErrorRedaction } from '../../../../worker/providers/http/redaction.ts'
import { createSettingsRetries } from '../../../../worker/providers/http/retry.ts'
import type { ChatCall, Executor } from '../../../../worker/providers/types.ts'
import { readsInline } from './large-responses.ts'
import { createMemoryLog, type MemoryLog } from './log.ts'

/** The key of the made-up provider. */
export const KEY = 'k3y-of-the-gateway'

/** The same limit for every phase of every call. */
export function limitPhases(ms: number): OriginTimeouts {
  const response = { headMs: ms, idleMs: ms }
  return { connectMs: ms, writeMs: ms, call: response, chat: response, stream: response }
}

/** A client of an origin, closed with the test. */
export function createTestClient(t: Test, url: string, options: Partial<ProviderClientOptions> = {}): ProviderClient {
  const origin = openOrigin({
    origin: url,
    connectionsMax: 2,
    timeouts: limitPhases(5_000)
  })
  t.teardown(() => origin.destroy())
  return new ProviderClient({
    profileId: 'words-main',
    origin,
    credentials: createFixedCredential(signWithHeader('x-api-key', new Secret(KEY))),
    readError,
    retryPolicy: createSettingsRetries({ retriesMax: 0, backoffSeconds: 0, statuses: [503] }),
    userAgent: 'gateway/test',
    sendsRequestHeaders: false,
    lifetime: new AbortController().signal,
    log: createMemoryLog().log,
    now: Date.now,
    random: () => 0,
    ...options
  })
}

export const wordFace: ProviderFace = {
  accepts: nativeV1Acceptance,
  writeChat: () => ({ method: 'POST', path: '/say', headers: [], body: {}, attachments: [], reading: null }),
  createReader() {
    /** The network may cut anywhere. */
    let rest = ''
    return {
      readBody: bytes => readWords(JSON.parse(Buffer.from(bytes).toString())),
      push(bytes) {
        const frames = (rest + Buffer.from(bytes).toString()).split('\n\n')
        rest = frames.pop() ?? ''
        return frames.filter(frame => frame !== '').flatMap(frame => readFrame(frame.replace('data: ', '')))
      },
      end: () => [finish]
    }
  },
  readError,
  findError: body => (typeof body.oops === 'string' ? refusal(body.oops) : undefined),
  embeddings: {
    write: ({ input }) => ({ method: 'POST', path: '/embed', headers: ['content-type', 'x/y'], body: { input } }),
    read(body, { count, head }) {
      if (!Array.isArray(body) || body.length !== count) throw new GatewayError('provider_protocol_error')
      return { vectors: body, promptTokens: null, metadata: { server: String(head.headers.server) } }
    }
  }
}

const start: NormalizedEvent = { type: 'start', providerModel: null, metadata: {} }
const finish: NormalizedEvent = { type: 'finish', reason: 'stop', providerReason: null, metadata: {} }

function readWords(body: { words?: string[]; calls?: string[]; oops?: string }): NormalizedEvent[] {
  if (body.oops !== undefined) throw refusal(body.oops)
  if (body.calls !== undefined) return [start, ...writeCalls(body.calls), finish]
  return [start, { type: 'text-start' }, ...(body.words ?? []).map(writeWord), { type: 'text-end' }, finish]
}

function readFrame(word: string): NormalizedEvent[] {
  if (word === 'BEGIN') return [start, { type: 'text-start' }]
  if (word.startsWith('calls ')) return [start, ...writeCalls(word.slice(6).split(' '))]
  return word.startsWith('oops ') ? [{ type: 'error', error: refusal(word.slice(5)) }] : [writeWord(word)]
}

function writeWord(text: string): NormalizedEvent {
  return { type: 'text-delta', text }
}

/** The events of a response with these calls, without pieces of arguments. */
function writeCalls(names: readonly string[]): NormalizedEvent[] {
  return names.flatMap((name, index): NormalizedEvent[] => [
    { type: 'tool-call-start', index, id: `c${index}`, name },
    { type: 'tool-call-end', index }
  ])
}

function readError({ status }: ResponseHead, body: Uint8Array): GatewayError {
  return new GatewayError('provider_failure', { status, message: Buffer.from(body).toString() })
}

function refusal(message: string): GatewayError {
  return new GatewayError('rate_limited', { message })
}

/** A chat on the wire of the made-up provider. */
export function wordCall(
  options: { isStream?: boolean; stop?: string[]; headers?: string[]; keepsFirstCallOnly?: true } = {}
): ChatCall {
  return {
    isStream: options.isStream ?? false,
    stops: options.stop ?? [],
    ...(options.keepsFirstCallOnly === undefined ? {} : { keepsFirstCallOnly: options.keepsFirstCallOnly }),
    plan: {
      providerKind: 'words',
      profileId: 'words-main',
      apiMode: 'v1',
      upstreamModel: 'm',
      publicModel: 'm',
      slotKey: 'm'
    },
    path: '/say',
    headers: options.headers ?? ['content-type', 'application/json'],
    body: Buffer.from('{"say":true}'),
    attachments: [],
    reading: null
  }
}

export interface TestHttpExecutor {
  executor: Executor
  memory: MemoryLog
}

/** An executor of the made-up provider. */
export function createWordExecutor(
  t: Test,
  url: string,
  options: { client?: Partial<ProviderClientOptions>; executor?: Partial<HttpExecutorOptions> } = {}
): TestHttpExecutor {
  const memory = createMemoryLog()
  const lifetime = new AbortController()
  const executor = createHttpExecutor({
    providerKind: 'words',
    faces: { words: { v1: wordFace, v2: wordFace } },
    faceOptions: {},
    client: createTestClient(t, url, { log: memory.log, lifetime: lifetime.signal, ...options.client }),
    hooks: {},
    largeResponses: readsInline,
    redaction: createErrorRedaction(() => [KEY]),
    lifetime,
    log: memory.log,
    logsPayloads: false,
    ...options.executor
  })
  return { executor, memory }
}
