// The client side of a codec: reads the requests of a protocol and writes its responses. Pure: bytes or plain objects in, bytes or plain
// objects out; no I/O, no clock, and no randomness that is not passed in.

import type {
  EmbeddingPurpose,
  EmbeddingsResult,
  GatewayError,
  JsonObject,
  NormalizedEvent,
  NormalizedRequest,
  NormalizedResponse,
  ResponseTurn
} from '../normalized/index.ts'
import type { Members, PartSink } from './shared/members/members.ts'

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

/** The members of a request that determine its model. */
export type ModelRequest = Pick<NormalizedRequest, 'model' | 'additionalFields' | 'conversation' | 'refusal'>
