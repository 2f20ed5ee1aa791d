// What a client asked for, in words that all four client protocols and all provider kinds share (`gateway.normalized.v1`).
// An absent member means that the client said nothing; a member is never filled with a default here.

import type { Diagnostics, NormalizedMessage } from './content.ts'
import type { JsonObject } from './json.ts'
import type { NormalizedTool, ToolChoice } from './tool.ts'

export const NORMALIZED_VERSION = 'gateway.normalized.v1'

/** The protocol the client speaks. Completions and Responses belong to one SDK family but are two codecs. */
export type ClientProtocol = 'completions' | 'responses' | 'messages' | 'content'

export interface Sampling {
  temperature?: number
  topP?: number
  topK?: number
  maxOutputTokens?: number
  stop?: string[]
  seed?: number
  presencePenalty?: number
  frequencyPenalty?: number
}

export type OutputFormat =
  | { type: 'text' }
  | {
      type: 'json-schema'
      schema: JsonObject
      name?: string
      description?: string
      strict?: boolean
      /** The schema is that of a string, and the client wants the string itself instead of its JSON text. */
      wantsBareString?: true
    }

export interface Reasoning {
  /** The client's own word; `none` switches reasoning off and is not the same as absent. */
  effort?: string
  summary?: string
  generateSummary?: string
  context?: string
  mode?: string
  /** False when the client does not want to see the reasoning it paid for. */
  isVisible?: boolean
}

export interface Conversation {
  previousResponseId?: string
  conversationId?: string
  store?: boolean
  background?: boolean
  include?: string[]
}

/** Members that belong to one provider kind and mean nothing to the others. */
export interface ProviderOptions {
  native?: {
    /** Additional fields: unknown and vendor members of the body, already merged in their order of precedence. */
    fields: JsonObject
    /** Ids of files the client uploaded before, for the last user message. */
    attachmentIds?: string[]
  }
}

/** What the answer repeats of the request: kept apart, because the messages may be gone when the answer is written. */
export interface RequestEcho {
  /** Members of the body as the client sent them. */
  members: JsonObject
  /** Everything the user said, where a tool of the provider may be asked with it. */
  userText?: string
}

export interface NormalizedRequest {
  version: typeof NORMALIZED_VERSION
  requestId: string
  protocol: ClientProtocol
  /** The model as the client wrote it; absent when it wrote none. */
  model?: string
  isStream: boolean
  /** The client wants the usage as an event of its own at the end of the stream. */
  wantsStreamUsage: boolean
  messages: NormalizedMessage[]
  tools: NormalizedTool[]
  /** Absent when the client said nothing, which reads as `auto`. */
  toolChoice?: ToolChoice
  /** The client declared its tools in the old single-call form and must be answered in it. */
  usesLegacyFunctions: boolean
  parallelToolCalls?: boolean
  output?: OutputFormat
  sampling: Sampling
  reasoning?: Reasoning
  conversation?: Conversation
  providerOptions: ProviderOptions
  /** Headers asked for inside the body; the header policy decides which of them travel. */
  extraHeaders?: JsonObject
  user?: string
  metadata?: JsonObject
  /** Only of protocols whose answers repeat the request. */
  echo?: RequestEcho
  /** Members that are accepted and have no effect. Shown by the debug endpoints, used by nothing. */
  ignored: Diagnostics
}
