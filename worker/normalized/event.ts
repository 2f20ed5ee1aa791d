// A response while it arrives. A provider face turns wire frames into these events; a client face turns them into its own.
//
// Grammar, held by `event-assembler.ts`:
//   stream  = start (block | hosted | file | citation)* usage? (finish | error)
//   block   = text-start text-delta* text-end | reasoning-… | refusal-… | tool-call-…      (never two open at once)
//   hosted  = hosted-tool-start hosted-tool-progress* hosted-tool-end        (may overlap a block, but begins in no reasoning)
// A block without deltas carries nothing but state: redacted reasoning, or a signature that stands alone.
// `error` may come at any point and closes nothing: the client face closes what it has open. Before any upstream event an
// error is thrown instead, so a stream always begins with `start`.

import type { GeneratedFile, HostedSource, UrlCitation } from './content.ts'
import type { GatewayError } from './error.ts'
import type { JsonObject } from './json.ts'
import type { ProviderState } from './state.ts'
import type { HostedToolKind } from './tool.ts'
import type { NormalizedUsage } from './usage.ts'

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'cancelled'

export type HostedToolStatus = 'in-progress' | 'searching' | 'generating' | 'interpreting' | 'completed' | 'failed'

/** A provider's own name of a response, in place of the one that the gateway gives. */
export interface ResponseIdentity {
  /** Absent when the provider gives none that a client may be shown. */
  id?: string
  /** Seconds since the epoch; absent when the provider does not say. */
  createdAt?: number
  /** The provider's name of the configuration that answered. */
  fingerprint?: string
}

export interface StartEvent {
  type: 'start'
  /** The provider's own id of the model: for records, never for the client. */
  providerModel: string | null
  /** What the provider calls the response, where its clients may see it. */
  identity?: ResponseIdentity
  /** The provider's stored conversation, where it is known from the start. */
  conversationId?: string
  /** What the provider counted before the first content; the counts of the whole response come in a `usage` event. */
  usage?: NormalizedUsage
  /** Facts about the exchange that a client may see, as text. */
  metadata: Record<string, string>
}

export interface TextStartEvent {
  type: 'text-start'
}
export interface TextDeltaEvent {
  type: 'text-delta'
  text: string
}
export interface TextEndEvent {
  type: 'text-end'
  state?: ProviderState
}

export interface CitationEvent {
  type: 'citation'
  citation: UrlCitation
}

export interface ReasoningStartEvent {
  type: 'reasoning-start'
}
export interface ReasoningDeltaEvent {
  type: 'reasoning-delta'
  text: string
}
export interface ReasoningEndEvent {
  type: 'reasoning-end'
  state?: ProviderState
}

export interface RefusalStartEvent {
  type: 'refusal-start'
}
export interface RefusalDeltaEvent {
  type: 'refusal-delta'
  text: string
}
export interface RefusalEndEvent {
  type: 'refusal-end'
  state?: ProviderState
}

export interface ToolCallStartEvent {
  type: 'tool-call-start'
  /** Counts the calls of the response from 0; never reused. */
  index: number
  /** The id the client sees; it carries what the next turn needs (`tool-call-id.ts`). */
  id: string
  name: string
  namespace?: string
  state?: ProviderState
}
export interface ToolCallDeltaEvent {
  type: 'tool-call-delta'
  index: number
  /** A piece of the arguments' JSON text; all pieces together are the whole text. */
  arguments: string
}
export interface ToolCallEndEvent {
  type: 'tool-call-end'
  index: number
  /** State that came after the call's start. */
  state?: ProviderState
}

export interface HostedToolStartEvent {
  type: 'hosted-tool-start'
  /** Counts the hosted tool runs of the response from 0. */
  index: number
  kind: HostedToolKind | 'other'
  /** The provider's own name of the tool. */
  name: string
}
export interface HostedToolProgressEvent {
  type: 'hosted-tool-progress'
  index: number
  status: HostedToolStatus
  secondsLeft?: number
  isCensored?: boolean
}
export interface HostedToolEndEvent {
  type: 'hosted-tool-end'
  index: number
  status: 'completed' | 'failed'
  sources: HostedSource[]
  /** The query of a search, when the provider reports it. */
  query?: string
  /** The provider's raw payload beside the text, for protocols that show it. */
  inlineData?: JsonObject
}

export interface FileEvent {
  type: 'file'
  file: GeneratedFile
  state?: ProviderState
}

export interface UsageEvent {
  type: 'usage'
  usage: NormalizedUsage
}

/** A filter of a provider that some protocols have a word of their own for. */
export type ContentFilter = 'blocklist'

export interface FinishEvent {
  type: 'finish'
  reason: FinishReason
  /** The provider's own word, null when it sent none. */
  providerReason: string | null
  /** What refused the content, where the reason is `content-filter` and the provider tells. */
  filter?: ContentFilter
  /** The stop string that the response was cut at. */
  stopSequence?: string
  /** The provider's stored conversation that the response belongs to. */
  conversationId?: string
  /** State of the whole message. */
  state?: ProviderState
  metadata: Record<string, string>
}

export interface ErrorEvent {
  type: 'error'
  error: GatewayError
}

export type NormalizedEvent =
  | StartEvent
  | TextStartEvent
  | TextDeltaEvent
  | TextEndEvent
  | CitationEvent
  | ReasoningStartEvent
  | ReasoningDeltaEvent
  | ReasoningEndEvent
  | RefusalStartEvent
  | RefusalDeltaEvent
  | RefusalEndEvent
  | ToolCallStartEvent
  | ToolCallDeltaEvent
  | ToolCallEndEvent
  | HostedToolStartEvent
  | HostedToolProgressEvent
  | HostedToolEndEvent
  | FileEvent
  | UsageEvent
  | FinishEvent
  | ErrorEvent
