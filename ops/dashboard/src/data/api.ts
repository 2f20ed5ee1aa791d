// The admin API as the page uses it (operations.md 9). The key is an argument and is never stored.
import type {
  KeysAnswer,
  RunningAnswer,
  RunningEntry,
  ShownThread,
  SumsAnswerRow,
  ThreadsAnswer,
  TrafficHealth,
  TurnsAnswer
} from '../../../../shared/admin-answers.ts'
import type { BridgeModelsDocument } from '../../../../shared/documents/bridge-documents.ts'
import type { ReadinessDocument } from '../../../../shared/documents/documents.ts'
import type { ProviderEntry } from '../../../../shared/documents/provider-documents.ts'
import type { MirrorOutcome } from '../../../../shared/traffic/messages.ts'
import type {
  BucketSeconds,
  Latencies,
  PayloadField,
  SumKeyName,
  TrafficPayload,
  TrafficSummary
} from '../../../../shared/traffic/query.ts'

/** What the page can do about a failed request: enter another key, wait, or show the message. */
export type FailureKind = 'key' | 'store' | 'network' | 'other'

/** A request that failed, with a message for the reader. */
export class ApiError extends Error {
  readonly kind: FailureKind
  /** The error's stable code; empty when there was no response. */
  readonly code: string

  constructor(kind: FailureKind, code: string, message: string) {
    super(message)
    this.name = 'ApiError'
    this.kind = kind
    this.code = code
  }
}

export type SumsRow = SumsAnswerRow
export type SumGroup = Exclude<SumKeyName, 'currency'>

export interface SumsQuery {
  readonly from: string
  readonly to: string
  readonly by: readonly SumKeyName[]
  /** Seconds of a part of the time. */
  readonly bucket?: BucketSeconds
}

export type { Latencies, TrafficSummary }

export interface Page {
  readonly data: TrafficSummary[]
  readonly next_cursor: string | null
  /** How many records the filter selects, such as `37`, or `10000+` where there may be more. */
  readonly total: string
}

export interface ReplayResult {
  readonly request: {
    readonly method: string
    readonly path: string
    /** What was masked in the record was sent masked. */
    readonly redacted: boolean
  }
  readonly response: { readonly status_code: number; readonly headers: unknown; readonly body: unknown }
}

export interface RedactResult {
  readonly redacted_fields: string[]
  /** What became of the content in further sinks; absent where there are none. */
  readonly result: { readonly mirrors?: Readonly<Record<string, MirrorOutcome>> }
}

export type Health = TrafficHealth
export type Running = RunningAnswer
export type RunningRequest = RunningEntry
export type Provider = ProviderEntry
export type Readiness = ReadinessDocument
export type CatalogModel = BridgeModelsDocument['models'][number]
export type Thread = ShownThread
export type ThreadPage = ThreadsAnswer
export type ThreadTurns = TurnsAnswer

export interface Api {
  /** Resolves when the key is accepted, also where no store is configured. */
  checkKey(): Promise<void>
  list(query: URLSearchParams, signal?: AbortSignal): Promise<Page>
  find(id: string, signal?: AbortSignal): Promise<TrafficSummary>
  /** Of the newest records that the filters select. */
  latencies(query: URLSearchParams, signal?: AbortSignal): Promise<Latencies>
  readRequest(id: string): Promise<Pick<TrafficPayload, 'request_headers' | 'request_body'>>
  readResponse(id: string): Promise<Pick<TrafficPayload, 'response_body'>>
  /** The rows have the members that they are grouped by. */
  sums(query: SumsQuery, signal?: AbortSignal): Promise<SumsRow[]>
  health(signal?: AbortSignal): Promise<Health>
  /** Needs no key. */
  readiness(signal?: AbortSignal): Promise<Readiness>
  /** While a keys file is in force the admin key shows the models of all keys. */
  models(signal?: AbortSignal): Promise<readonly CatalogModel[]>
  running(signal?: AbortSignal): Promise<Running>
  providers(signal?: AbortSignal): Promise<readonly Provider[]>
  keys(signal?: AbortSignal): Promise<KeysAnswer>
  /** Behind a cursor where it is given. */
  threads(cursor: string | undefined, signal?: AbortSignal): Promise<ThreadPage>
  thread(id: string, signal?: AbortSignal): Promise<ThreadTurns>
  replay(id: string): Promise<ReplayResult>
  redact(id: string, fields: readonly PayloadField[]): Promise<RedactResult>
  /** Opens the tail; the body is a stream of events. Behind `lastId` where it is given. */
  openTail(signal: AbortSignal, lastId: string | undefined): Promise<ReadableStream<Uint8Array>>
}

/** What the gateway gives at most. */
export const SUM_ROWS_MAX = 10_000

const THREADS_PER_PAGE = 100
const READ_TIMEOUT_MS = 30_000
/** A replay waits for a provider. */
const REPLAY_TIMEOUT_MS = 10 * 60_000

export interface ApiOptions {
  readonly key: string
  /** Address that the routes are relative to: that of the page. */
  readonly base: string
  readonly fetch?: typeof fetch
}

/** Creates a client. Every method rejects with `ApiError`, or with the reason of an aborted signal. */
export function createApi({ key, base, fetch: send = fetch }: ApiOptions): Api {
  async function request(path: string, init: RequestInit = {}): Promise<Response> {
    // Raises a `TypeError` for a key that no header can hold, which is none of the gateway.
    const headers = new Headers({
      ...{ accept: 'application/json', ...(init.headers as Record<string, string>) },
      'x-admin-api-key': key
    })
    let response: Response
    try {
      response = await send(new URL(path, base), { ...init, headers, cache: 'no-store', credentials: 'omit' })
    } catch (error) {
      if (init.signal?.aborted && !isTimeout(error)) throw error
      throw new ApiError('network', '', isTimeout(error) ? 'The gateway did not respond in time.' : NETWORK_MESSAGE)
    }
    if (!response.ok) throw await readFailure(response)
    return response
  }

  async function json<Value>(path: string, init: RequestInit = {}, timeoutMs = READ_TIMEOUT_MS): Promise<Value> {
    return (await receive<Value>(path, init, timeoutMs)).value
  }

  async function receive<Value>(
    path: string,
    init: RequestInit,
    timeoutMs = READ_TIMEOUT_MS
  ): Promise<{ value: Value; headers: Headers }> {
    const deadline = AbortSignal.timeout(timeoutMs)
    const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline
    const response = await request(path, { ...init, signal })
    try {
      return { value: (await response.json()) as Value, headers: response.headers }
    } catch (error) {
      if (init.signal?.aborted) throw error
      throw new ApiError('network', '', isTimeout(error) ? 'The gateway did not respond in time.' : NETWORK_MESSAGE)
    }
  }

  /** Reads a document that needs no key, so it is not sent. */
  async function open<Value>(path: string, signal: AbortSignal | undefined): Promise<Value> {
    const deadline = AbortSignal.timeout(READ_TIMEOUT_MS)
    const response = await send(new URL(path, base), {
      headers: { accept: 'application/json' },
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      cache: 'no-store',
      credentials: 'omit'
    })
    return (await response.json()) as Value
  }

  const pathOf = (id: string, rest = '') => `logs/${encodeURIComponent(id)}${rest}`
  const withSignal = (signal: AbortSignal | undefined): RequestInit => (signal === undefined ? {} : { signal })

  return {
    async checkKey() {
      await json('logs?limit=1').catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.kind !== 'store') throw error
      })
    },
    async list(query, signal) {
      const { value, headers } = await receive<Omit<Page, 'total'>>(`logs?${query}`, withSignal(signal))
      return { ...value, total: headers.get('x-total-estimate') ?? '?' }
    },
    find: (id, signal) => json(pathOf(id), withSignal(signal)),
    readRequest: id => json(pathOf(id, '/request')),
    readResponse: id => json(pathOf(id, '/response')),
    async sums({ from, to, by, bucket }, signal) {
      const query = new URLSearchParams({ from, to, by: by.join(','), limit: String(SUM_ROWS_MAX) })
      if (bucket !== undefined) query.set('bucket', String(bucket))
      return (await json<{ data: SumsRow[] }>(`logs/sums?${query}`, withSignal(signal))).data
    },
    health: signal => json('logs/health', withSignal(signal)),
    // 503 is a document of the same form: it says why the gateway is not ready.
    readiness: signal => open('../ready', signal),
    models: async signal => (await json<{ models: CatalogModel[] }>('../bridge/models', withSignal(signal))).models,
    latencies: (query, signal) => json(`logs/latencies?${query}`, withSignal(signal)),
    running: signal => json('logs/running', withSignal(signal)),
    providers: async signal => (await json<{ data: Provider[] }>('logs/providers', withSignal(signal))).data,
    keys: signal => json('keys', withSignal(signal)),
    threads(cursor, signal) {
      const query = new URLSearchParams({ limit: String(THREADS_PER_PAGE), ...(cursor !== undefined && { cursor }) })
      return json(`threads?${query}`, withSignal(signal))
    },
    thread: (id, signal) => json(`threads/${encodeURIComponent(id)}`, withSignal(signal)),
    replay: id => json(pathOf(id, '/replay'), { method: 'POST' }, REPLAY_TIMEOUT_MS),
    redact: (id, fields) =>
      json(pathOf(id, '/redact'), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ fields })
      }),
    async openTail(signal, lastId) {
      const headers = { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) }
      const { body } = await request('logs/tail', { headers, signal })
      if (body === null) throw new ApiError('network', '', NETWORK_MESSAGE)
      return body
    }
  }
}

const NETWORK_MESSAGE = 'The gateway cannot be reached.'

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

/** Messages for codes that a reader can do something about; others show the gateway's own message. */
const MESSAGES: Readonly<Record<string, string>> = {
  invalid_admin_key: 'The admin key is wrong.',
  admin_key_required: 'The gateway has no admin key. Set GATEWAY_ADMIN_API_KEY and start it again.',
  query_store_not_configured:
    'No store is configured that can be queried. Set GATEWAY_TRAFFIC_LOG_SINK to sqlite or postgres.',
  query_store_unavailable: 'The store of the records is unavailable at the moment.',
  request_body_not_captured: 'The body of this request was not captured, so it cannot be sent again.'
}

async function readFailure(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined)
  const { code, message } = readErrorBody(body)
  const text = MESSAGES[code] ?? (message === '' ? `The gateway responded with status ${response.status}.` : message)
  if (response.status === 401 || response.status === 403) return new ApiError('key', code, text)
  return new ApiError(response.status === 503 ? 'store' : 'other', code, text)
}

function readErrorBody(body: unknown): { code: string; message: string } {
  const error = (body as { error?: { code?: unknown; message?: unknown; errors?: unknown } } | undefined)?.error
  const { code, message, errors } = error ?? {}
  const places = Array.isArray(errors)
    ? errors.map(({ path, message }: { path?: unknown; message?: unknown }) => `${path}: ${message}`)
    : []
  return {
    code: typeof code === 'string' ? code : '',
    message: [typeof message === 'string' ? message : '', ...places].join(' ').trim()
  }
}
