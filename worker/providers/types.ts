// What the routes need from an executor: the code that opens connections to a provider.

import type { CatalogModels } from '../../shared/catalog.ts'
import type { Secret } from '../../shared/secret.ts'
import type { NormalizedEvent, NormalizedResponse } from '../normalized/index.ts'
import type { CancelSignal } from '../performance/cancel-source.ts'
import type { TranslatedChat } from '../translation/types.ts'

/** On whose behalf the upstream is called. */
export type UpstreamAuthorization =
  | { type: 'server' }
  | { type: 'access-token'; accessToken: Secret }
  | { type: 'credentials'; credentials: Secret; scope: string }
  | { type: 'user'; user: string; password: Secret }

/** What a call to the upstream is for. */
export type UpstreamOperation = 'chat' | 'embeddings' | 'models' | 'tokens' | 'upload' | 'download'

/** One exchange with the upstream that has ended, for metrics and records. */
export interface UpstreamCallReport {
  operation: UpstreamOperation
  /** Retries before this try. A try after a renewed token has the number of the one before it. */
  attempt: number
  /** The upstream's status as text, or `connect_error`, `tls_error`, `timeout`, `protocol_error` or `cancelled`. */
  status: string
  /** From the request's first byte to the response's last. */
  durationMs: number
}

/** One request's view of the world while a provider is called. */
export interface CallContext {
  requestId: string
  /** Aborted when the client leaves, at the drain deadline, and when the request's own time is up. The reason is a `GatewayError`. */
  signal: CancelSignal
  /**
   * Headers that travel with every upstream call of this request, names and values in turn, under the upstream's spelling; already
   * filtered.
   */
  headers: readonly string[]
  /** Put the bytes of generated images on their `file` events. Without a word the protocols that carry them get them. */
  fetchesGeneratedImages?: boolean
  /** Called when an exchange of this request with the upstream begins; `onUpstreamCall` follows. Must not throw. */
  onUpstreamCallStarted?: () => void
  /** Called once for each exchange of this request with the upstream, when it has ended; not for tokens. Must not throw. */
  onUpstreamCall?: (report: UpstreamCallReport) => void
  /**
   * Called once for a call that finally failed, wherever its failure stood, with the word of the operations contract, section 7.3:
   * `http_<status>` or a word of `UpstreamCallReport`. Must not throw.
   */
  onUpstreamFailure?: (errorType: string) => void
  /** Called for what is odd in an answer and yet no failure, with a stable word for it. Must not throw. */
  onAnomaly?: (anomaly: string, details?: Readonly<Record<string, string | number>>) => void
}

/** Takes the events of a stream. */
export interface EventSink {
  /** Takes the events of one upstream read, at least one. False: send no more until `whenDrained` resolves. */
  push(events: readonly NormalizedEvent[]): boolean
  /** Resolves when more can be taken, or when the client is gone. */
  whenDrained(): Promise<void>
}

export interface EmbeddingsCall {
  model: string
  input: string[]
}

export interface EmbeddingsResult {
  /** In the order of the input. */
  vectors: number[][]
  /** null when the upstream reported none. */
  promptTokens: number | null
  metadata: Record<string, string>
}

export interface DownloadedFile {
  bytes: Uint8Array
  mediaType?: string
}

/** The native upstream for one credential. Every method raises `GatewayError`. */
export interface NativeProvider {
  /** Runs a chat to its end. */
  complete(call: TranslatedChat, context: CallContext): Promise<NormalizedResponse>
  /**
   * Streams a chat into `sink`. Rejects only before the first event; later failures arrive as an `error` event.
   * Resolves after the terminal event, or when `context.signal` was aborted.
   */
  stream(call: TranslatedChat, context: CallContext, sink: EventSink): Promise<void>
  embed(call: EmbeddingsCall, context: CallContext): Promise<EmbeddingsResult>
  listModels(context: CallContext): Promise<CatalogModels>
  /** Tokens per text, in the order of the input; without a model where the upstream's own assistant or thread decides. */
  countTokens(call: { model: string | undefined; input: string[] }, context: CallContext): Promise<number[]>
  downloadFile(fileId: string, context: CallContext): Promise<DownloadedFile>
  /** Ends idle connections and waits for the busy ones. */
  close(): Promise<void>
  /** Ends everything now. */
  destroy(): Promise<void>
}

/** The native upstream for every credential that clients bring. */
export interface NativeProviderPool {
  /** Lends the provider of a credential; `release` gives it back after the last byte of the answer. */
  acquire(authorization: UpstreamAuthorization): {
    provider: NativeProvider
    release: () => void
  }
  close(): Promise<void>
  destroy(): Promise<void>
}
