// The two sides of a codec, the client face and the provider face. Both are pure: bytes or plain objects in, bytes or plain
// objects out; no I/O, no clock, and no randomness that is not passed in. Only the normalized form passes between them.

import type { CatalogBounds, CatalogEntry } from '../../shared/catalog.ts'
import type { OutputLimitField } from '../../shared/profile.ts'
import type {
  ClientProtocol,
  EmbeddingPurpose,
  EmbeddingsCall,
  EmbeddingsResult,
  GatewayError,
  JsonObject,
  NormalizedEvent,
  NormalizedMessage,
  NormalizedRequest,
  NormalizedResponse,
  ProviderAcceptance,
  ResponseTurn
} from '../normalized/index.ts'
import type { JsonEdits } from './shared/edits.ts'
import type { Members, PartSink } from './shared/members.ts'

// The client side.

/** The parts of a request besides its body that a client face reads. */
export interface ReadContext {
  requestId: string
  /** What the body was parsed from: a protocol with arguments as objects reads the digits of large integers there. */
  bytes?: Uint8Array
  /** Model and streaming from the URL, in the protocol whose URL contains them. */
  path?: { model: string; isStream: boolean }
  /** The unparsed header `x-gateway-attachment-ids`, in the protocol that has it. */
  attachmentIds?: string | undefined
  /** The operator's default for `store`, in the protocol that has it. */
  storesByDefault?: boolean
  /** The client wants every field refused that its route would leave out (decisions.md 71). */
  refusesUnsupported?: true
  /** Opens summaries of conversations, in the protocol that has them: 32 bytes. */
  compactionKey?: Uint8Array | undefined
  /** The response has the form of the operation that summarizes a conversation. */
  isCompactOperation?: true
  /** What the gateway's own memory makes of the response, in the protocol that has one. */
  turn?: ResponseTurn | undefined
  /**
   * Headers of the request that belong to the protocol's wire, names and values in turn. They go to a provider only with a body that is
   * the client's own (`SameWireCodec`).
   */
  wireHeaders?: readonly string[]
}

/** The data that a client face needs to write a response. */
export interface ResponseContext {
  requestId: string
  /** Seconds since the epoch. */
  createdAt: number
  /** The model that the client sees. */
  model: string
  /** The request of this response. Its messages may be missing when the request was very large. */
  request: NormalizedRequest
  /** Seconds since the epoch at the time of the call, for protocols that report when a response was completed. */
  now?: () => number
  /**
   * True when the client's SDK refuses a stream whose response id changes: the stream is then held back until the final id is
   * known.
   */
  needsFinalId?: boolean
  /** Seals the summary of a conversation, in the protocol that has them. */
  seal?: ((text: string) => string) | undefined
}

/** Frames of a stream. They are in pieces where they repeat something large: as one text it would be copied and encoded each time. */
export type StreamFrames = string | readonly (string | Uint8Array)[]

/** What a stream would be if it ended now. */
export interface WrittenPartial {
  /** JSON of the response. */
  response: string
  /** The number that its last event would have. */
  sequenceNumber: number
}

/** Writes one streamed response, as SSE or in another form of the protocol. '' means that there is nothing to send. */
export interface StreamWriter<Frames extends StreamFrames = StreamFrames> {
  /** The frames for the events of one upstream read. After the terminal event it returns '' for everything. */
  write(events: readonly NormalizedEvent[]): Frames
  /**
   * The same for a stream that is passed on: whole frames of the provider in the form of this stream. `events` is what was read in them, no
   * error among it. Absent where the provider's frames have this form already, and an error behind them needs nothing of them.
   */
  pass?(frames: Uint8Array, events: readonly NormalizedEvent[]): string | Uint8Array
  /**
   * The response as it would be if it ended now, in a protocol whose responses are stored: of
   * a stream whose client has left. Changes nothing.
   */
  writePartial?(): WrittenPartial
  /**
   * The error of a failed stream, in a protocol whose clients report it only when it is a chunk of
   * its own. Undefined before the failure. Other protocols do not have this member: their `write`
   * returns the error. The connection of every failed stream closes behind the error, in the middle
   * of the response (decisions.md 108).
   */
  readonly brokenEnd?: string | undefined
}

/** An error response of a client protocol. */
export interface WrittenError {
  status: number
  headers: Record<string, string>
  body: JsonObject
}

export type WriteError = (error: GatewayError, context: { requestId: string }) => WrittenError

/** What all requests of a protocol have in common. */
export type ProtocolTraits = Readonly<Pick<NormalizedRequest, 'fieldPaths' | 'carriesFileBytes'>>

/** A body that was looked at without parsing it. */
export interface BodyOutline {
  /** The body with the one message of its reader in place of all, one character for each byte. */
  text: string
  /** The place of the list of messages in the bytes. */
  messages: { start: number; end: number }
}

/** Looks at bodies whose messages no provider on the same wire would get in another form. */
export interface OutlineReader {
  /** The list that stands in an outline for any list of messages: a body with it is read, admitted and written like the whole one. */
  readonly messages: string
  /** Undefined for a body with other messages, with other members than texts, numbers and words, or with much around its messages. */
  read(bytes: Uint8Array): BodyOutline | undefined
}

/** The client's side of a chat-like protocol. */
export interface ChatClientFace {
  readonly traits: ProtocolTraits
  /** Reads a parsed body. Raises `GatewayError` with the path of the field at fault. */
  readRequest(body: JsonObject, context: ReadContext): NormalizedRequest
  /** What every member of a body asks for (decisions.md 69). */
  readonly members: Members
  /**
   * Raises `invalid_request` for what the protocol forbids and `readRequest` accepts all the same. Called only for providers that refuse
   * such requests (`ProviderAcceptance.refusesLoss`).
   * @param request what `readRequest` made of the body.
   */
  assertValid?(body: JsonObject, request: NormalizedRequest): void
  /**
   * Notes tools, choices and parts of the conversation that do not reach a provider of another wire.
   * @param request what `readRequest` made of the body.
   */
  noteParts(body: JsonObject, request: NormalizedRequest, sink: PartSink): void
  /** The client's own spelling of a field of `FieldPaths`, in a protocol that has several names for one. */
  spellField?(body: JsonObject, field: string): string
  /** Writes what the response repeats of a request: `RequestEcho.text`. Absent where responses repeat nothing. */
  writeEchoText?(request: NormalizedRequest): string
  writeResponse(response: NormalizedResponse, context: ResponseContext): JsonObject
  /** Writes the form of the operation for the whole response of a provider of the client's wire, where that is not the response itself. */
  passResponse?(bytes: Uint8Array, context: ResponseContext): Uint8Array
  createStreamWriter(context: ResponseContext): StreamWriter
  writeError: WriteError
  /** Returns a more exact error, where the protocol knows more about the request than the code that raised the error. */
  refineError?(error: GatewayError, request: NormalizedRequest): GatewayError
}

/** What a client face reads of a token count request. */
export interface ReadTokenCount {
  /** The members that select the model, with the same result as for a chat request. */
  request: ModelRequest
  /** The texts to count, none of them empty; the list may be. */
  texts: string[]
  extraHeaders?: JsonObject | undefined
}

/** The client's side of a token count. */
export interface TokenCountClientFace {
  /** An empty body is read as an object without members. */
  readonly allowsEmptyBody?: boolean
  /** Those without effect on a count are named in the notice (decisions.md 70). */
  readonly members: Members
  /** Reads a parsed body. Raises `GatewayError` with the path of the field at fault. */
  read(body: JsonObject, context: ReadContext): ReadTokenCount
  writeResponse(totalTokens: number): object
}

/** Texts, or token ids that a tokenizer must still decode to texts. */
export type EmbeddingsInput = { type: 'texts'; texts: string[] } | { type: 'tokens'; tokens: number[][] }

/** What a client face reads of an embeddings request. */
export interface ReadEmbeddings {
  input: EmbeddingsInput
  /** The model, trimmed; absent when the client named none. */
  model?: string | undefined
  /** The model as the client wrote it, where the response repeats it. */
  requestedModel?: string
  encoding: EmbeddingsEncoding
  /** The length of a vector, where the client asks for one. */
  dimensions?: number | undefined
  /** What the client says of each text, in a protocol that has words for it. */
  purposes?: readonly EmbeddingPurpose[] | undefined
  /** The client's fields behind what not every wire carries; absent where the client wrote none. */
  fieldPaths?: EmbeddingFieldPaths | undefined
  extraHeaders?: JsonObject | undefined
}

/** What some wires of embeddings carry, and others not. */
export const EMBEDDING_OPTIONS = ['dimensions', 'purposes'] as const
export type EmbeddingOption = (typeof EMBEDDING_OPTIONS)[number]
export type EmbeddingFieldPaths = Readonly<Partial<Record<EmbeddingOption, readonly string[]>>>

export type EmbeddingsEncoding = 'float' | 'base64'

/** The client's side of an embeddings operation. */
export interface EmbeddingsClientFace {
  /** Those without effect on any wire are named in the notice (decisions.md 70). */
  readonly members: Members
  /** Reads a parsed body. Raises `GatewayError` with the path of the field at fault. */
  read(body: JsonObject, context: ReadContext): ReadEmbeddings
  /** @param context.model the model that the client sees. */
  writeResponse(result: EmbeddingsResult, context: { model: string; encoding: EmbeddingsEncoding }): object
}

// The provider side.

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

/** The members of a request that determine its model. */
export type ModelRequest = Pick<NormalizedRequest, 'model' | 'additionalFields' | 'conversation' | 'refusal'>

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
