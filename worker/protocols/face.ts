// The two sides of a codec. Everything here is pure: bytes or plain objects in, bytes or plain objects out; no I/O, no clock,
// no randomness that is not passed in. What crosses between the two sides is the normalized form only.

import type { CatalogModels } from '../../shared/catalog.ts'
import type {
  EmbeddingsCall,
  EmbeddingsResult,
  GatewayError,
  JsonObject,
  NormalizedEvent,
  NormalizedRequest,
  NormalizedResponse,
  ProviderAcceptance
} from '../normalized/index.ts'

// The client side.

/** What a client face knows of a request besides its body. */
export interface ReadContext {
  requestId: string
  /** What the URL says, in the protocol that keeps the model and the form of the response there. */
  path?: { model: string; isStream: boolean }
  /** The header `x-gateway-attachment-ids` as it came, for the protocol that has it. */
  attachmentIds?: string | undefined
}

/** What a client face knows when it writes a response. */
export interface ResponseContext {
  requestId: string
  /** Seconds since the epoch. */
  createdAt: number
  /** The model that the client sees. */
  model: string
  /** The request of this response. The messages of a very large one may be missing. */
  request: NormalizedRequest
  /** Seconds since the epoch at the time of the call, for protocols that say when a response was complete. */
  now?: () => number
  /**
   * The client's SDK refuses a stream whose response changes its id: where the id is not known from the start, the stream is
   * held back until it is, instead of naming it only at the end.
   */
  needsFinalId?: boolean
}

/** Writes one streamed response: SSE, or what else the family streams. '' means that nothing is to be sent. */
export interface StreamWriter {
  /** The frames for the events of one upstream read. After the terminal event it returns '' for everything. */
  write(events: readonly NormalizedEvent[]): string
}

/** An error as a family sends it. */
export interface WrittenError {
  status: number
  headers: Record<string, string>
  body: JsonObject
}

export type WriteError = (error: GatewayError, context: { requestId: string }) => WrittenError

/** The client's side of a chat-like protocol. */
export interface ChatClientFace {
  /** Reads a parsed body. Raises `GatewayError` with the path of the field at fault. */
  readRequest(body: JsonObject, context: ReadContext): NormalizedRequest
  writeResponse(response: NormalizedResponse, context: ResponseContext): JsonObject
  createStreamWriter(context: ResponseContext): StreamWriter
  writeError: WriteError
  /** What an error means for this request, where the family can say more than the place that raised it. */
  refineError?(error: GatewayError, request: NormalizedRequest): GatewayError
}

// The provider side.

/** Which contract of a provider a route prefix selects, where the provider has more than one. */
export type ApiMode = 'v1' | 'v2'

/** Response headers by lower-case name; a repeated header is a list. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

export interface ResponseHead {
  status: number
  headers: ResponseHeaders
}

/** A call on a provider's wire. The executor adds authorization and the headers of the request. */
export interface WrittenCall {
  method: 'GET' | 'POST'
  /** Path and query on the provider's origin. */
  path: string
  /** Headers of the wire, names and values in turn. */
  headers: readonly string[]
  body?: JsonObject
}

/** A file that must be stored with the provider before the body can be sent. */
export interface PendingAttachment {
  /** Stands in the body where the provider's file id belongs. */
  placeholder: string
  source: { kind: 'url'; url: string } | { kind: 'bytes'; mediaType: string; base64: string }
  filename?: string
  /** Path of the part in the client's body. */
  path: string
}

/** A chat request on a provider's wire. */
export interface WrittenChat<Reading> extends WrittenCall {
  body: JsonObject
  attachments: PendingAttachment[]
  /** What the reader of the response needs: plain data, because it may cross a thread boundary. */
  reading: Reading
}

/** Which model of the provider a chat goes to. */
export interface ChatTarget {
  /** Absent only where an assistant or a stored thread of the provider decides. */
  upstreamModel: string | undefined
}

export interface ReaderDependencies {
  /** Makes the id of a tool call unique where the provider gives none: a uuid, or any other text. */
  createNonce: () => string
  /** Called for what is odd in a response and yet no failure. `name` is a word that a metric can carry. */
  onAnomaly?: (name: string, details: Readonly<Record<string, string | number>>) => void
}

/** Reads one response of a provider. */
export interface ResponseReader {
  /** Reads a whole response. Raises `provider_protocol_error` for a body that cannot be used, or the provider's error in it. */
  readBody(bytes: Uint8Array): NormalizedEvent[]
  /** Takes the bytes of one read of a stream, cut anywhere. What is wrong with them becomes a final `error` event. */
  push(bytes: Uint8Array): NormalizedEvent[]
  /** The stream's bytes ended: returns the terminal event, unless it came already. */
  end(): NormalizedEvent[]
}

/** The members of a request that decide which model serves it. */
export type ModelRequest = Pick<NormalizedRequest, 'model' | 'additionalFields' | 'conversation'>

/**
 * The provider's side of a protocol. `Options` is plain data made once per profile (`providers/<kind>/options.ts`), `Reading` what
 * `writeChat` leaves for the reader; both may cross a thread boundary. Method syntax keeps the faces of all kinds assignable to
 * one table.
 */
export interface ProviderFace<Options = unknown, Reading = unknown> {
  /** What this wire does with the parts of a request that not every wire has; `bridge/admit.ts` applies it. */
  readonly accepts: ProviderAcceptance
  /** Writes a chat request. Raises `GatewayError` with the client's field for what this wire cannot express. */
  writeChat(request: NormalizedRequest, target: ChatTarget, options: Options): WrittenChat<Reading>
  createReader(reading: Reading, head: ResponseHead, dependencies: ReaderDependencies): ResponseReader
  /** The error that a response without success stands for. Of the provider's words only its message may be in it. */
  readError(head: ResponseHead, body: Uint8Array): GatewayError
  /** The provider's error in a body that came with status 200; undefined for an ordinary body. */
  findError(body: JsonObject): GatewayError | undefined
  /** Names the assistant or the stored conversation that brings its own model, as a key for the concurrency limit. */
  findImpliedModel?(request: ModelRequest): string | undefined
  readonly embeddings?: EmbeddingsCodec<Options>
  readonly countTokens?: TokenCountCodec<Options>
  readonly models?: ModelListCodec<Options>
}

export interface EmbeddingsCodec<Options> {
  write(call: EmbeddingsCall, options: Options): WrittenCall
  /** Raises `provider_protocol_error` unless there is exactly one vector of numbers for each of `count` texts. */
  read(body: unknown, context: { count: number; head: ResponseHead }): EmbeddingsResult
}

/** Texts to count. Without a model an assistant or a stored thread of the provider decides. */
export interface TokenCountCall {
  model: string | undefined
  input: string[]
}

export interface TokenCountCodec<Options> {
  write(call: TokenCountCall, options: Options): WrittenCall
  /** The tokens of each of `count` texts, in order. Raises `provider_protocol_error` for anything else. */
  read(body: unknown, context: { count: number }): number[]
}

export interface ModelListCodec<Options> {
  write(options: Options): WrittenCall
  /** Raises `provider_protocol_error` for a list that cannot be used. */
  read(body: unknown): CatalogModels
}
