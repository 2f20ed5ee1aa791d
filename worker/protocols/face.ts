// The two faces of a codec. Everything here is pure: bytes or plain objects in, bytes or plain objects out; no I/O, no clock,
// no randomness that is not passed in. What crosses between the faces is the normalized form only.

import type {
  GatewayError,
  JsonObject,
  NormalizedEvent,
  NormalizedRequest,
  NormalizedResponse
} from '../normalized/index.ts'

/** Settings that decide how a body is read and written. Plain data: it also goes to the pool's threads. */
export interface TranslationSettings {
  passModel: boolean
  defaultModel?: string
  defaultMaxTokens?: number
  isImageInputEnabled: boolean
  /** v1 `profanity_check`; v2 `disable_filter` is its opposite. */
  profanityCheck?: boolean
  flags?: string[]
  attachmentLimits: AttachmentLimits
}

export interface AttachmentLimits {
  audioBytesMax: number
  imageBytesMax: number
  textBytesMax: number
  audioAndImageBytesMax: number
}

/** A file that must be with the upstream before the body can go out. */
export interface PendingAttachment {
  /** Stands in the body where the upstream's file id belongs. */
  placeholder: string
  source: { kind: 'url'; url: string } | { kind: 'bytes'; mediaType: string; base64: string }
  filename?: string
  /** Path of the part in the client's body. */
  path: string
}

/** A request on a provider's wire. `Reading` is plain data that the reader of the answer needs. */
export interface WrittenRequest<Reading> {
  body: JsonObject
  attachments: PendingAttachment[]
  /** How many attachments of the client went beyond the limits and were left out. */
  droppedAttachments: number
  reading: Reading
}

/** What the head of the provider's response says about the exchange. */
export interface AnswerHead {
  /** The upstream's `x-request-id` and `x-session-id`. */
  upstreamRequestId?: string
  upstreamSessionId?: string
}

/** What a client face knows of a request besides its body. */
export interface ReadContext {
  requestId: string
  /** What the URL says, in the protocol that keeps the model and the form of the answer there. */
  path?: { model: string; isStream: boolean }
  /** The header `x-gateway-attachment-ids` as it came, for the protocol that has it. */
  attachmentIds?: string | undefined
}

/** Reads one answer of a provider. */
export interface ResponseReader {
  /** Reads a whole answer. Throws `provider_protocol_error` for a body that cannot be used, or the provider's error in it. */
  readBody(bytes: Uint8Array): NormalizedEvent[]
  /** Takes the bytes of one read of a stream, cut anywhere. What is wrong with them becomes a final `error` event. */
  push(bytes: Uint8Array): NormalizedEvent[]
  /** The stream's bytes ended: the terminal event, unless it came already. */
  end(): NormalizedEvent[]
}

/** What a client face knows when it writes an answer. */
export interface ResponseContext {
  requestId: string
  /** Seconds since the epoch. */
  createdAt: number
  /** The model that the client sees. */
  model: string
  /** The request that is answered; of a very large one the messages may be gone. */
  request: NormalizedRequest
  /** Seconds since the epoch at the time of the call, for protocols that say when an answer was complete. */
  now?: () => number
  /**
   * The client's SDK refuses a stream whose response changes its id: where the id is not known from the start, the stream is
   * held back until it is, instead of naming it only at the end.
   */
  needsFinalId?: boolean
}

/** Writes one streamed answer: SSE, or what else the family streams. '' means that nothing is to be sent. */
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
  /** Reads a parsed body. Throws `GatewayError` with the path of the field at fault. */
  readRequest(body: JsonObject, context: ReadContext): NormalizedRequest
  writeResponse(response: NormalizedResponse, context: ResponseContext): JsonObject
  createStreamWriter(context: ResponseContext): StreamWriter
  writeError: WriteError
  /** What an error means for this very request, where the family can say more than the place that raised it. */
  refineError?(error: GatewayError, request: NormalizedRequest): GatewayError
}
