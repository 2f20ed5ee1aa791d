// The wire of the messages protocol: what every parameter does, and the types of the responses.

import type { JsonObject, JsonValue } from '../../../normalized/index.ts'
import { extraHeaders, extraQuery, ignored, supported } from '../../shared/members/common-parameters.ts'
import type { ParameterTable } from '../../shared/members/parameters.ts'
import { type messagesParameters, serviceParameters } from '../members.ts'

/** Count tokens (messages.md 7.3). A name that is not here has no effect on the count. */
export const countTokensParameters = {
  model: supported,
  messages: { class: 'supported', note: 'Texts, tool calls and tool results count; images and thinking do not.' },
  system: supported,
  tools: { class: 'supported', note: 'Functions count with name, description and schema.' },
  tool_choice: {
    class: 'supported',
    note: 'none takes the tools out of the count, as it takes them out of a request.'
  },
  output_config: { class: 'supported', note: 'The schema of its format counts.' },
  output_format: { class: 'supported', note: 'An older place of output_config.format, which wins over it.' },
  extra_body: { class: 'supported', note: 'Only what selects the model. Refused unless it is an object.' },
  additional_fields: { class: 'supported', note: 'Like extra_body, and wins over it.' },
  extra_headers: extraHeaders,
  extra_query: extraQuery,
  thinking: ignored,
  ...serviceParameters
} as const satisfies ParameterTable

/** The body of a message request: parsed JSON whose members are not validated yet. */
export type MessagesRequest = JsonObject & { [Name in keyof typeof messagesParameters]?: JsonValue | undefined }
/** The body of a token count request: parsed JSON whose members are not validated yet. */
export type CountTokensRequestBody = JsonObject & {
  [Name in keyof typeof countTokensParameters]?: JsonValue | undefined
}

export type MessagesStopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal'

export type MessagesStopDetails = { type: 'refusal'; category: null; explanation: null }

/** Why a response ended: the same members in a whole response and in the `message_delta` of a stream. */
export type MessagesStop = {
  stop_reason: MessagesStopReason
  stop_sequence: string | null
  stop_details: MessagesStopDetails | null
}

// A member that the original service leaves out when it has no value is absent here too, also where
// the SDK's type has null for it: `citations`, `container`, `diagnostics` and most members of the
// usage (decisions.md 40). Null stays where the service sends it.

/** Counts that are known only at the end of a response. */
export type MessagesDeltaUsage = {
  /** All input tokens, including the cached tokens. */
  input_tokens: number
  output_tokens: number
  cache_creation_input_tokens: number
  cache_read_input_tokens: number
  /** Absent when the provider reported no reasoning tokens. */
  output_tokens_details?: { thinking_tokens: number }
}

export type MessagesUsage = MessagesDeltaUsage & {
  service_tier: 'standard'
}

export type MessagesTextBlock = { type: 'text'; text: string }
export type MessagesThinkingBlock = { type: 'thinking'; thinking: string; signature: string }
export type MessagesRedactedThinkingBlock = { type: 'redacted_thinking'; data: string }
export type MessagesToolUseBlock = {
  type: 'tool_use'
  id: string
  name: string
  input: JsonObject
  caller: { type: 'direct' }
}

export type MessagesContentBlock =
  | MessagesTextBlock
  | MessagesThinkingBlock
  | MessagesRedactedThinkingBlock
  | MessagesToolUseBlock

export type MessagesResponse = {
  id: string
  type: 'message'
  role: 'assistant'
  model: string
  content: MessagesContentBlock[]
  /** Null only in the `message_start` of a stream. */
  stop_reason: MessagesStopReason | null
  stop_sequence: string | null
  stop_details: MessagesStopDetails | null
  usage: MessagesUsage
}

export type MessagesContentDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'signature_delta'; signature: string }
  | { type: 'input_json_delta'; partial_json: string }

/** One frame of a stream; its `type` is also the name of the event. */
export type MessagesStreamEvent =
  | { type: 'message_start'; message: MessagesResponse }
  | { type: 'ping' }
  | { type: 'content_block_start'; index: number; content_block: MessagesContentBlock }
  | { type: 'content_block_delta'; index: number; delta: MessagesContentDelta }
  | { type: 'content_block_stop'; index: number }
  | { type: 'message_delta'; delta: MessagesStop; usage: MessagesDeltaUsage }
  | { type: 'message_stop' }
  | MessagesErrorBody

export type MessagesErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'overloaded_error'
  | 'timeout_error'
  | 'api_error'

export type MessagesErrorBody = {
  type: 'error'
  error: { type: MessagesErrorType; message: string; code?: string; details?: { error_code: string } }
  request_id: string
}

export type MessagesTokenCount = { input_tokens: number }

export type MessagesModel = {
  id: string
  type: 'model'
  display_name: string
  /** RFC 3339. */
  created_at: string
  capabilities: null
  lifecycle: 'active' | 'deprecated'
  deprecated_at: null
  retires_at: null
  line: null
  max_input_tokens: number | null
  max_tokens: number | null
}

export type MessagesModelPage = {
  data: MessagesModel[]
  has_more: boolean
  first_id: string | null
  last_id: string | null
}
