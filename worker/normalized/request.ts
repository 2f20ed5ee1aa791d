// What a client asked for, in terms that all client protocols and all provider kinds share (`gateway.normalized.v1`).
// An absent member means that the client did not send it; a member is never filled with a default here.

import type { Diagnostics, NormalizedMessage } from './content.ts'
import type { GatewayError } from './error.ts'
import type { FieldPaths } from './field-paths.ts'
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
  /** Any JSON object, without a schema; not every provider has this mode. `path` is the client's field that requests it. */
  | { type: 'json-object'; path: string }
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
  /** The client's own bound of the reasoning, where it gave one; -1 leaves it to the model. `effort` is then what it amounts to. */
  budgetTokens?: number
  summary?: string
  generateSummary?: string
  context?: string
  mode?: string
  /** False when the client does not want to see the reasoning. */
  isVisible?: boolean
}

/**
 * The client's own word on several calls in one response; absent when it said nothing, which allows
 * them as its own service does (decisions.md 50). A client that refused them gets the first call of
 * a response only (decisions.md 38).
 */
export type ParallelToolCalls = 'requested' | 'refused'

export interface Conversation {
  /** The id as the client wrote it. */
  previousResponseId?: string
  /** The client's conversation object: sent on a wire that has them, without effect elsewhere (decisions.md 90). */
  conversationId?: string
  /** The provider's own id of the stored conversation that the request continues. */
  storedConversationId?: string
  store?: boolean
  /** The client did not say whether to store, and the operator's default is to store where the provider can. */
  storesByDefault?: true
  background?: boolean
  include?: string[]
}

/** What the gateway's own memory makes of the response to a request (memory.md 2). */
export interface ResponseTurn {
  /** The id of the response. */
  id: string
  /** As the client wrote it; the body does not have it any more. */
  previousResponseId?: string
  conversationId?: string
  /** False for a response that the memory only continues: it cannot be continued itself. */
  isStored: boolean
  isBackground?: boolean
  /** Seconds since the epoch. Its provider begins later, and the time in a stored response does not change. */
  createdAt?: number
}

/** What the response repeats of the request: kept apart, because the messages may be gone when the response is written. */
export interface RequestEcho {
  /** Members of the body as the client sent them; none where `text` has them. */
  members: JsonObject
  /** The members of the response that repeat the request, as JSON without the braces: of a request that was read in a thread. */
  text?: string
  /** All text of the user, where a hosted tool may be asked with it. */
  userText?: string
}

/** What services on the wire of chat completions tell apart and no other wire does. */
export interface ChatWireNames {
  /** The name that the client gave its output limit; absent when it gave none, or one of another wire. */
  outputLimit?: 'max_tokens' | 'max_completion_tokens'
}

export interface NormalizedRequest {
  version: typeof NORMALIZED_VERSION
  requestId: string
  /** The client's own fields, for errors that are found after reading. */
  fieldPaths: FieldPaths
  /** The model as the client wrote it; absent when it wrote none. */
  model?: string
  isStream: boolean
  /** The client wants the usage as an event of its own at the end of the stream. */
  wantsStreamUsage: boolean
  /** The client protocol has a place for the bytes of generated files, and its clients have no other way to get them. */
  carriesFileBytes: boolean
  messages: NormalizedMessage[]
  tools: NormalizedTool[]
  /** Absent when the client said nothing, which reads as `auto`. */
  toolChoice?: ToolChoice
  /** The client declared its tools in the old single-call form and expects the response in that form. */
  usesLegacyFunctions: boolean
  parallelToolCalls?: ParallelToolCalls
  output?: OutputFormat
  sampling: Sampling
  reasoning?: Reasoning
  conversation?: Conversation
  /** Unknown and vendor members of the body, merged in their order of precedence, for a provider that has a place for them. */
  additionalFields?: JsonObject
  /** Ids of files that the client uploaded to the provider before, for the last user message. */
  uploadedFileIds?: string[]
  /** Headers asked for inside the body; the header policy decides which of them travel. */
  extraHeaders?: JsonObject
  user?: string
  metadata?: JsonObject
  /** Only of clients that speak chat completions, for a provider on the same wire. */
  chatWire?: ChatWireNames
  /**
   * The response is a summary that replaces the conversation: an ordinary response with it, or the object of an operation of its own
   * (memory.md 5).
   */
  compacts?: 'response' | 'object'
  /** Only of protocols whose responses repeat the request. */
  echo?: RequestEcho
  /** Only of a request whose state the gateway keeps itself. */
  turn?: ResponseTurn
  /**
   * The request uses something of its protocol that this form does not have: the error for every provider but one of the same wire, which
   * gets the client's own body.
   */
  refusal?: GatewayError
  /** Members that are accepted and have no effect. Shown by the debug endpoints only. */
  ignored: Diagnostics
}
