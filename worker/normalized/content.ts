// The parts that messages and responses are made of. Every client protocol maps onto these, in order and without loss.

import type { JsonObject, JsonValue } from './json.ts'
import type { ProviderState } from './state.ts'

/** Where the bytes of an image or a file are. `base64` stays text until the bytes are sent. A URL has a media type where the client gave it. */
export type MediaSource =
  | { kind: 'url'; url: string; mediaType?: string }
  | { kind: 'bytes'; mediaType: string; base64: string }
  | { kind: 'file-id'; fileId: string }

export interface TextPart {
  type: 'text'
  text: string
  state?: ProviderState
}

export interface ReasoningPart {
  type: 'reasoning'
  /** '' for redacted or signature-only reasoning, whose content is `state` alone. */
  text: string
  state?: ProviderState
}

export interface ImagePart {
  type: 'image'
  source: MediaSource
  detail?: string
  /** Path of the part in the client's body, for errors that are found after reading. */
  path: string
  /** The member of the part that holds the source, where that is not the part itself. */
  member?: string
  state?: ProviderState
}

/** A document or audio, by its media type. */
export interface FilePart {
  type: 'file'
  source: MediaSource
  filename?: string
  path: string
  member?: string
  state?: ProviderState
}

export interface ToolCallPart {
  type: 'tool-call'
  /** The id as the client sent it; null for the legacy single call that has none. */
  id: string | null
  name: string
  /** Set when the client keeps its functions in namespaces. */
  namespace?: string
  arguments: JsonObject
  /** The arguments as text where the client protocol carries text: sent unchanged to providers that take text. */
  argumentsText?: string
  state?: ProviderState
}

export interface ToolResultPart {
  type: 'tool-result'
  /** The id of the call that this result belongs to, as the client sent it; null for the legacy form that has only a name. */
  callId: string | null
  name?: string
  content: ContentPart[]
  isError: boolean
  /** The client's protocol marks results that are errors: a wire without such a mark gets it in the text of the result. */
  hasErrorFlag?: true
  /** Path of the result in the client's body, for the error that it cannot be placed. */
  path: string
  state?: ProviderState
}

export interface RefusalPart {
  type: 'refusal'
  text: string
  state?: ProviderState
}

export type ContentPart = TextPart | ReasoningPart | ImagePart | FilePart | ToolCallPart | ToolResultPart | RefusalPart

export type MessageRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool'

export interface NormalizedMessage {
  role: MessageRole
  /** The client's own word where `role` is only the nearest known one (`function`, or an unknown role). */
  sentRole?: string
  /** Name of the participant, where the protocol has one. */
  name?: string
  content: ContentPart[]
  /**
   * How the client wrote `content`, so that a face of the same protocol can write it back: parts unless stated otherwise.
   * `pieces` are parts whose texts are one text cut anywhere: a provider with one text per message joins them with nothing, and
   * leaves the message out where none of its parts can be sent.
   */
  form?: 'text' | 'null' | 'absent' | 'pieces'
  /** Files that the client uploaded to the provider before and attached to this message, and the path of their list. */
  uploadedFiles?: { fileIds: string[]; path: string }
  state?: ProviderState
}

/** A link into the delivered text: `startIndex` and `endIndex` count UTF-16 code units of the block's text. */
export interface UrlCitation {
  type: 'url-citation'
  startIndex: number
  endIndex: number
  url: string
  title: string
}

/** A file that the provider made: an image, a 3D model, audio. */
export interface GeneratedFile {
  fileId: string
  mediaType?: string
  /** The provider's word for what it is, such as `image`. */
  target?: string
  /** A link to the file, when the provider gives one. */
  url?: string
  /** Its bytes, once they are fetched. */
  base64?: string
}

/** A page that a hosted tool found and cites. */
export interface HostedSource {
  id: string
  url: string
  title: string
}

/** Other members that a client sent, kept only for display. */
export type Diagnostics = Record<string, JsonValue | undefined>
