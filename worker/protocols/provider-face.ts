// The provider side of a codec: writes requests on a wire and reads its responses. Pure, as the client side is; only the normalized form
// passes between them.

import type { CatalogBounds, CatalogEntry } from '../../shared/catalog/catalog.ts'
import type { OutputLimitField } from '../../shared/profile/profile.ts'
import type {
  ClientProtocol,
  EmbeddingsCall,
  EmbeddingsResult,
  GatewayError,
  JsonObject,
  NormalizedEvent,
  NormalizedMessage,
  NormalizedRequest,
  ProviderAcceptance,
  ResponseTurn
} from '../normalized/index.ts'
import type { EmbeddingOption, ModelRequest, OutlineReader } from './client-face.ts'
import type { JsonEdits } from './shared/json/edits.ts'

/** The provider's contract that a route prefix selects, when the provider has more than one. */
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
  /** What is sent in place of `body`, on a wire whose bodies are no JSON. Observers are shown `body`. */
  bytes?: Uint8Array
}

/** A file that must be uploaded to the provider before the body can be sent. */
export interface PendingAttachment {
  /** The text in the body that the provider's file id replaces. */
  placeholder: string
  source: { kind: 'url'; url: string } | { kind: 'bytes'; mediaType: string; base64: string }
  filename?: string
  /** Path of the part in the client's body. */
  path: string
}

/** A call with a body. */
export interface WrittenPost extends WrittenCall {
  body: JsonObject
}

/** A chat request on a provider's wire. */
export interface WrittenChat<Reading> extends WrittenPost {
  attachments: PendingAttachment[]
  /** Data for the reader of the response: plain, because it may cross a thread boundary. */
  reading: Reading
  /** The client's fields that the body leaves out or replaces by a description; absent where it carries all of them. */
  leftOut?: readonly string[]
}

/** The provider's model for a chat. */
export interface ChatTarget {
  /** Undefined only when an assistant or a stored thread of the provider determines the model. */
  upstreamModel: string | undefined
  /** The most output tokens that the profile declares for the model, for a wire that demands a limit. */
  outputTokensMax?: number | undefined
  /** The features that the alias declares; absent on a route that declares none, which has them all. */
  features?: readonly string[] | undefined
  /** The name of the output limit that the alias declares, on a wire that knows two. */
  outputLimitField?: OutputLimitField | undefined
  /** The provider runs on this machine, and would read addresses that the client cannot reach. */
  isLocal?: boolean | undefined
}

/** What decides which media reach the provider. */
export type MediaTarget = Pick<ChatTarget, 'features' | 'isLocal'>

export interface ReaderDependencies {
  /** Creates the text that makes a tool call's id unique when the provider sends no id, such as a uuid. */
  createNonce: () => string
  /** Called for an anomaly of a response that is no failure. `name` is a fixed word, so that a metric can count it. */
  onAnomaly?: (name: string, details: Readonly<Record<string, string | number>>) => void
}

/** Reads one response of a provider. */
export interface ResponseReader {
  /** Reads a whole response. Raises `provider_protocol_error` for a body that cannot be used, or the provider's error in it. */
  readBody(bytes: Uint8Array): NormalizedEvent[]
  /** Reads the bytes of one read of a stream, cut anywhere. An error in them becomes a final `error` event. */
  push(bytes: Uint8Array): NormalizedEvent[]
  /** Ends the stream: returns the terminal event, unless `push` has returned it already. */
  end(): NormalizedEvent[]
}

/** What a call on the client's own wire needs besides the client's body. */
export interface SameWireTarget extends ChatTarget {
  isStream: boolean
  /** The conversation as it was read, for media that the alias cannot read. */
  messages?: readonly NormalizedMessage[]
  /** `ReadContext.wireHeaders`. */
  wireHeaders?: readonly string[] | undefined
  /** `ReadContext.compactionKey`. */
  compactionKey?: Uint8Array | undefined
  /** Of a request whose state the gateway keeps in place of the provider. */
  turn?: ResponseTurn | undefined
}

/** What of a body must be known without reading it, where its wrong shape is the provider's to refuse. */
export interface SameWireFacts {
  isStream: boolean
  wantsStreamUsage: boolean
  hasTools: boolean
}

/** A call with the client's own body. `body` has the changes as well, for observers and for bytes that have to be written anew. */
export interface EditedPost extends WrittenPost {
  /** What changes in the client's bytes. */
  edits: JsonEdits
}

/** A chat with the client's own body. */
export type EditedChat<Reading> = WrittenChat<Reading> & EditedPost

/**
 * How the requests of a client go on to a provider that speaks the client's own protocol, and its responses back: as they are, with the model
 * renamed and the changes that decisions.md 72 names. Nothing is lost that the normalized form has no place for. Requests and responses are
 * read all the same, for admission and for observers.
 */
export interface SameWireCodec<Options, Reading> {
  readonly protocol: ClientProtocol
  /** Bodies of this kind need not be parsed. Absent where every body is. */
  readonly outline?: OutlineReader
  readFacts(body: JsonObject): SameWireFacts
  /**
   * The call for a client's body: without members for SDKs and for the gateway, without state that the gateway issued for another provider,
   * within the limits of the alias. Raises `GatewayError` for a member that cannot be sent on.
   */
  writeChat(body: JsonObject, target: SameWireTarget, options: Options): EditedChat<Reading>
  /** Absent on a wire without token counts. */
  readonly tokenCount?: {
    write(body: JsonObject, target: SameWireTarget, options: Options): EditedPost
    /** Reads the number. Raises `provider_protocol_error` for any other body. */
    read(body: unknown): number
  }
  /** Creates the editor of one response. */
  createEditor(options: ResponseEditorOptions<Reading>): ResponseEditor
}

export interface ResponseEditorOptions<Reading> {
  publicModel: string
  reading: Reading
  /** `ReaderDependencies.createNonce`. */
  createNonce: () => string
}

/** Makes in one response of a provider the changes that its client needs. */
export interface ResponseEditor {
  /** A whole response, which was read without an error. */
  editBody(bytes: Uint8Array): Uint8Array
  /** One whole frame of a stream, which was read without an error. It may become several, or none. */
  editFrame(frame: Uint8Array): Uint8Array
  /** What follows the last frame of a stream that ended well. */
  end?(): Uint8Array
}

/**
 * The provider's side of a protocol. `Options` is plain data made once per profile (`providers/<kind>/options.ts`), `Reading` the
 * data that `writeChat` passes to the reader; both may cross a thread boundary. Method syntax keeps the faces of all kinds
 * assignable to one table.
 */
export interface ProviderFace<Options = unknown, Reading = unknown> {
  /** How this wire treats the parts of a request that not every wire has; `bridge/admit.ts` applies it. */
  readonly accepts: ProviderAcceptance
  /** Writes a chat request. Raises `GatewayError` with the client's field for what this wire cannot express. */
  writeChat(request: NormalizedRequest, target: ChatTarget, options: Options): WrittenChat<Reading>
  createReader(reading: Reading, head: ResponseHead, dependencies: ReaderDependencies): ResponseReader
  /** Whether the head of a successful response begins a stream of this wire. Absent: server-sent events do. */
  acceptsStream?(head: ResponseHead): boolean
  /** Reads the error of an unsuccessful response. Of the provider's text it may contain only the message. */
  readError(head: ResponseHead, body: Uint8Array): GatewayError
  /** Finds the provider's error in a body with status 200; undefined for an ordinary body. */
  findError(body: JsonObject): GatewayError | undefined
  /** Names the assistant or the stored conversation that determines the model, as a key for the concurrency limit. */
  findImpliedModel?(request: ModelRequest): string | undefined
  /** Requests of this codec's protocol go on as they are; absent on a wire that is no client protocol. */
  readonly sameWire?: SameWireCodec<Options, Reading>
  readonly embeddings?: EmbeddingsCodec<Options>
  readonly countTokens?: TokenCountCodec<Options>
  readonly models?: ModelListCodec<Options>
}

export interface EmbeddingsCodec<Options> {
  /** The most texts that one call of the wire takes; absent where it takes all of them. */
  readonly inputsMax?: number
  /** What the wire carries besides the texts; absent where it is nothing. */
  readonly carries?: readonly EmbeddingOption[]
  write(call: EmbeddingsCall, options: Options): WrittenPost
  /** Raises `provider_protocol_error` unless there is exactly one vector of numbers for each of `count` texts. */
  read(body: unknown, context: { count: number; head: ResponseHead }): EmbeddingsResult
}

/** Texts to count. The model is undefined when an assistant or a stored thread of the provider determines it. */
export interface TokenCountCall {
  model: string | undefined
  input: string[]
}

export interface TokenCountCodec<Options> {
  write(call: TokenCountCall, options: Options): WrittenPost
  /** Reads the tokens of each of `count` texts, in order. Raises `provider_protocol_error` for any other body. */
  read(body: unknown, context: { count: number }): number[]
}

export interface ModelListCodec<Options> {
  readonly bounds: CatalogBounds
  /** @param cursor where the page before ended; absent for the first page. */
  write(options: Options, cursor?: string): WrittenCall
  /** Reads one page. Raises `provider_protocol_error` for a body that is none. */
  read(body: unknown): ModelListPage
}

export interface ModelListPage {
  /** In the provider's order; undefined for an item that cannot be used. */
  readonly models: ReadonlyArray<CatalogEntry | undefined>
  /** Absent on the last page. */
  readonly cursor?: string
}
