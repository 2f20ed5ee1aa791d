// The interface between the worker and the code that opens connections to providers.

import type { Bytes } from '../../shared/bytes.ts'
import type { CatalogModels } from '../../shared/catalog/catalog.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'
import type { SeenCertificates } from '../../shared/provider-health.ts'
import type { Secret } from '../../shared/secrets/secret.ts'
import type { ExecutionPlan } from '../bridge/resolve-route.ts'
import type { NormalizedEvent, NormalizedRequest } from '../normalized/index.ts'
import type { PendingAttachment, ResponseHead, WrittenCall } from '../protocols/provider-face.ts'
import type { OutcomeListener } from './http/call-outcome.ts'

/** On whose behalf a provider is called. */
export type UpstreamAuthorization =
  | { type: 'server' }
  | { type: 'access-token'; accessToken: Secret }
  | { type: 'credentials'; credentials: Secret; scope: string }
  | { type: 'user'; user: string; password: Secret }

/** What a call to a provider is for. */
export type UpstreamOperation = 'chat' | 'embeddings' | 'models' | 'tokens' | 'upload' | 'download'

/** One exchange with a provider that has ended, for metrics and records. */
export interface UpstreamCallReport {
  operation: UpstreamOperation
  /** Retries before this attempt. An attempt with a renewed token has the number of the one before it. */
  attempt: number
  /** The provider's status as text, the word of a failure without one (`TransportOutcome`), or `cancelled`. */
  status: string
  /** Of the provider's response, also where its body was cut; undefined where no response began. */
  httpStatus: number | undefined
  /** From the request's first byte to the response's last. */
  durationMs: number
  /** The profile, of a call that belongs to no planned request. */
  profile?: CalledProfile
}

/** The profile whose provider was called. */
export type CalledProfile = Pick<ProviderProfile, 'profileId' | 'providerKind'>

/** What an executor needs of the request that it works for. */
export interface CallContext {
  requestId: string
  /** The ids of the request for log lines; without it `requestId` is the only one. */
  readLogIds?: () => object
  /** What the client asked for and what the provider is asked for, of a call to an external provider. */
  target?: { alias: string; upstreamModel: string | undefined }
  /** Aborted at a client disconnect, at the drain deadline and at the request's own deadline. The reason is a `GatewayError`. */
  signal: AbortSignal
  /** Headers for every call of this request, names and values in turn, in the provider's spelling; already filtered. */
  headers: readonly string[]
  /** Put the bytes of generated images on their `file` events. */
  wantsFileBytes?: boolean
  /** An observer wants all events of a response that is passed on as bytes, and not its usage alone. */
  wantsEvents?: boolean
  /** Called when an exchange of this request with a provider begins; `onUpstreamCall` follows. Must not throw. */
  onUpstreamCallStarted?: () => void
  /** Called once for each exchange of this request with a provider, when it has ended; not for tokens. Must not throw. */
  onUpstreamCall?: (report: UpstreamCallReport) => void
  /**
   * Called once for a call that finally failed, with the word of operations.md 7.3:
   * `http_<status>` or a word of `UpstreamCallReport`. Must not throw.
   */
  onUpstreamFailure?: (errorType: string) => void
  /** Called when the head of a response arrives, with its status. Must not throw. */
  onHead?: ((status: number) => void) | undefined
  /** Called once for each attempt that ended and was not cancelled. Must not throw. */
  onOutcome?: OutcomeListener | undefined
  /** Called for an anomaly in a usable response, with a stable id of the anomaly. Must not throw. */
  onAnomaly?: (anomaly: string, details: Readonly<Record<string, string | number>>) => void
  /** Called with further fields of the client that were left out, before the response begins. Must not throw. */
  onLeftOut?: (paths: readonly string[]) => void
}

/** A chat that was read, planned and written on its provider's wire. */
export interface ChatCall {
  isStream: boolean
  /** Stop strings that the gateway applies itself: none where the provider got the client's own body. */
  stops: readonly string[]
  /** Drop every tool call after the first: the client refused several calls, and this wire may not carry that. */
  keepsFirstCallOnly?: true
  plan: ExecutionPlan
  /** Path and query on the provider's origin. */
  path: string
  /** Headers of the wire, names and values in turn. */
  headers: readonly string[]
  /** JSON for the provider, with placeholders where ids of uploaded files belong. */
  body: Bytes
  /** The memory of the body, where only this call uses it. */
  ownMemory?: Uint8Array
  attachments: PendingAttachment[]
  /** For the reader of the response. */
  reading: unknown
  /** The body is the client's own, and the response goes to the client as the provider writes it (`SameWireCodec`). */
  isSameWire?: true
  /** The client's own words, for the notice of members that the provider refuses. */
  request?: Pick<NormalizedRequest, 'fieldPaths' | 'tools' | 'wantsStreamUsage'>
  /** The client or the alias wants no member left out (decisions.md 71). */
  refusesUnsupported?: true
}

/** A call other than a chat, written on its provider's wire. */
export interface ResourceCall extends Omit<WrittenCall, 'body'> {
  plan: ExecutionPlan
  operation: 'embeddings' | 'tokens'
  body: Uint8Array
  /** The memory of the body, where only this call uses it. */
  ownMemory?: Uint8Array
}

/** A response of status 200 that was taken whole. */
export interface ResourceResponse extends ResponseHead {
  bytes: Uint8Array
}

/** A response of status 200 whose body is read while it arrives. */
export interface StreamedResponse extends ResponseHead {
  /** Can be read once. A slow reader pauses the provider. Raises `GatewayError` where the response breaks off. */
  bytes: AsyncIterable<Uint8Array>
}

/** Takes a chat response. */
export interface ResponseSink {
  /**
   * Takes the events of one upstream read, at least one; a whole response is one read. False: send no more until `whenDrained` resolves.
   * @param bytes of a provider that speaks the client's protocol: they go to the client in place of the events, as a whole response or as
   * whole frames of a stream. An error is the last event; it is behind the frames and not among them. There may be frames without events.
   */
  push(events: readonly NormalizedEvent[], bytes?: Uint8Array): boolean
  /** Resolves when more can be taken, and at a client disconnect. */
  whenDrained(): Promise<void>
}

/** One provider profile for one credential. Every method raises `GatewayError`. */
export interface Executor {
  /** The headers of the client's request go to this provider. Absent: a call has none of them, and none is planned. */
  readonly forwardsHeaders?: true
  /**
   * Runs a chat into `sink`. A whole response arrives in one push. A stream rejects only before its first event; later failures
   * arrive as an `error` event. Resolves after the terminal event, or when `context.signal` was aborted.
   */
  chat(call: ChatCall, context: CallContext, sink: ResponseSink): Promise<void>
  /**
   * Makes a call and resolves with what `read` makes of its response; what `read` raises about the response is a failure of the call.
   * Absent where the provider has nothing but chats.
   */
  request?<Result>(
    call: ResourceCall,
    context: CallContext,
    read: (response: ResourceResponse) => Promise<Result>
  ): Promise<Result>
  /** Like `request`, for a response that `read` takes piece by piece. The exchange ends with `read`. */
  stream?<Result>(
    call: ResourceCall,
    context: CallContext,
    read: (response: StreamedResponse) => Promise<Result>
  ): Promise<Result>
  /** Absent where the provider has no model list. */
  listModels?(context: CallContext): Promise<CatalogModels>
  /** The certificates of its connections as of now; absent where it has none of its own. */
  certificates?(): SeenCertificates
  /** Closes idle connections and waits for the busy ones. */
  close(): Promise<void>
  /** Closes everything now. */
  destroy(): Promise<void>
}

/** An executor in use. */
export interface ExecutorLease {
  executor: Executor
  /** Gives the executor back, after the last byte of the response. */
  release(): void
}

/** One provider profile for every credential. */
export interface ExecutorPool {
  /** Raises `invalid_upstream_authorization` for a credential that this provider cannot use. */
  acquire(authorization: UpstreamAuthorization): ExecutorLease
  /** The certificates of its connections as of now; absent where they are not watched. */
  certificates?(): SeenCertificates | undefined
  close(): Promise<void>
  destroy(): Promise<void>
}

/** The executors of all profiles. */
export interface Executors {
  /** Whether the profile has executors that take calls. */
  isReady(profileId: string): boolean
  /** The executor for a plan's profile and the request's credential. Raises like `ExecutorPool.acquire`. */
  acquire(profileId: string, authorization: UpstreamAuthorization): ExecutorLease
  /** The certificates that the connections of a profile have seen; undefined where they are not watched. */
  certificates(profileId: string): SeenCertificates | undefined
  close(): Promise<void>
  destroy(): Promise<void>
}
