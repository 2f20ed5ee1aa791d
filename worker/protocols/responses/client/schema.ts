// The wire of the Responses operation: what every parameter does, and the types of the responses. The item and event types are the
// subset of the official SDK's types that the gateway writes; a test compares them.

import type { JsonObject, JsonValue } from '../../../normalized/index.ts'
import type { responsesParameters } from '../members.ts'

/** The body of a request: parsed JSON whose members are not validated yet. */
export type ResponsesRequest = JsonObject & { [Name in keyof typeof responsesParameters]?: JsonValue | undefined }

/** `start_index` and `end_index` count UTF-16 code units in the text of the part. */
export type ResponsesAnnotation = {
  type: 'url_citation'
  start_index: number
  end_index: number
  url: string
  title: string
}

export type ResponsesOutputText = {
  type: 'output_text'
  text: string
  annotations: ResponsesAnnotation[]
  logprobs: never[]
  /** Extension: the results of hosted tools, as the provider sent them. */
  inline_data?: JsonObject
}

export type ResponsesRefusal = { type: 'refusal'; refusal: string }

export type ResponsesMessage = {
  id: string
  type: 'message'
  status: 'in_progress' | 'completed' | 'incomplete'
  role: 'assistant'
  content: Array<ResponsesOutputText | ResponsesRefusal>
}

export type ResponsesSummaryText = { type: 'summary_text'; text: string }

/** `encrypted_content` only where a provider wants state back that has no other place. */
export type ResponsesReasoning = {
  id: string
  type: 'reasoning'
  summary: ResponsesSummaryText[]
  encrypted_content?: string
}

export type ResponsesFunctionCall = {
  id: string
  type: 'function_call'
  status: 'in_progress' | 'completed' | 'incomplete'
  call_id: string
  name: string
  /** JSON text. */
  arguments: string
  namespace?: string
}

export type ResponsesCustomCall = {
  id: string
  type: 'custom_tool_call'
  status: 'in_progress' | 'completed' | 'incomplete'
  call_id: string
  name: string
  /** Free text. */
  input: string
  namespace?: string
}

export type ResponsesWebSearch = {
  id: string
  type: 'web_search_call'
  status: 'in_progress' | 'completed' | 'failed'
  action: { type: 'search'; query: string; sources: Array<{ type: 'url'; url: string }> }
}

export type ResponsesImageGeneration = {
  id: string
  type: 'image_generation_call'
  status: 'in_progress' | 'completed' | 'failed'
  /** Base64; null when there is no image, or when fetching it failed. */
  result: string | null
  /** Extensions: the provider's description of the file. */
  file_id?: string
  mime?: string
  target?: string
}

/** Extension: a 3D model that the provider made; the client fetches it by its id or link. */
export type ResponsesModelGeneration = {
  id: string
  type: 'model_3d_generate_call'
  status: 'in_progress' | 'completed'
  file_id: string
  mime?: string
  target?: string
  url?: string
}

/** The summary of a conversation, sealed. */
export type ResponsesCompaction = { id: string; type: 'compaction'; encrypted_content: string }

export type ResponsesOutputItem =
  | ResponsesMessage
  | ResponsesReasoning
  | ResponsesFunctionCall
  | ResponsesCustomCall
  | ResponsesWebSearch
  | ResponsesImageGeneration
  | ResponsesModelGeneration
  | ResponsesCompaction

export type ResponsesUsage = {
  input_tokens: number
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number }
  output_tokens: number
  output_tokens_details: { reasoning_tokens: number }
  total_tokens: number
  /** Extension, for clients that read usage as in chat completions. */
  prompt_tokens_details: { cached_tokens: number }
}

/** The members that a response repeats from its request, with the defaults of the operation. */
export type ResponsesEcho = {
  instructions: string | null
  max_output_tokens: number | null
  parallel_tool_calls: boolean
  previous_response_id: string | null
  reasoning: JsonObject
  store: boolean
  temperature: number
  text: JsonObject
  tool_choice: JsonValue
  tools: JsonValue[]
  top_p: number
  truncation: string
  user?: string
  access_programs: null
  /** Only of a response that belongs to one. */
  conversation?: { id: string }
  background: boolean
  frequency_penalty: number
  max_tool_calls: number | null
  presence_penalty: number
  prompt_cache_key: string | null
  prompt_cache_retention: string | null
  safety_identifier: string | null
  service_tier: string
  top_logprobs: number
}

/** `server_error` or `rate_limit_exceeded`, or the provider's own code of a refusal. */
export type ResponsesFailure = { code: string; message: string }

export type ResponsesResponse = ResponsesEcho & {
  id: string
  object: 'response'
  created_at: number
  /** Null unless the response is completed. */
  completed_at: number | null
  /** `queued` and `cancelled` only of one that runs in the background (memory.md 4). */
  status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
  error: ResponsesFailure | null
  incomplete_details: { reason: 'max_output_tokens' | 'content_filter' } | null
  model: string
  output: ResponsesOutputItem[]
  /** Null until the usage is known, and when the provider did not report it. */
  usage: ResponsesUsage | null
  metadata: Record<string, string>
}

/** The response to `POST /responses/compact`. */
export type ResponsesCompacted = {
  id: string
  object: 'response.compaction'
  created_at: number
  output: ResponsesOutputItem[]
  usage: ResponsesUsage
}

export type ResponsesTokenCount = { object: 'response.input_tokens'; input_tokens: number }

/** The output item of an event. */
type OfItem = { item_id: string; output_index: number }
type OfContent = OfItem & { content_index: number }
type OfSummary = OfItem & { summary_index: number }

/** The events about the items of a response, without sequence numbers. */
export type ResponsesItemEvent =
  | { type: 'response.output_item.added'; output_index: number; item: ResponsesOutputItem }
  | { type: 'response.output_item.done'; output_index: number; item: ResponsesOutputItem }
  | (OfContent & { type: 'response.content_part.added'; part: ResponsesOutputText | ResponsesRefusal })
  | (OfContent & { type: 'response.content_part.done'; part: ResponsesOutputText | ResponsesRefusal })
  | (OfContent & { type: 'response.output_text.delta'; delta: string; logprobs: never[] })
  | (OfContent & { type: 'response.output_text.done'; text: string; logprobs: never[] })
  | (OfContent & {
      type: 'response.output_text.annotation.added'
      annotation_index: number
      annotation: ResponsesAnnotation
    })
  | (OfContent & { type: 'response.refusal.delta'; delta: string })
  | (OfContent & { type: 'response.refusal.done'; refusal: string })
  | (OfSummary & { type: 'response.reasoning_summary_part.added'; part: ResponsesSummaryText })
  | (OfSummary & { type: 'response.reasoning_summary_part.done'; part: ResponsesSummaryText })
  | (OfSummary & { type: 'response.reasoning_summary_text.delta'; delta: string })
  | (OfSummary & { type: 'response.reasoning_summary_text.done'; text: string })
  | (OfItem & { type: 'response.function_call_arguments.delta'; delta: string })
  | (OfItem & { type: 'response.function_call_arguments.done'; name: string; arguments: string })
  | (OfItem & { type: 'response.custom_tool_call_input.delta'; delta: string })
  | (OfItem & { type: 'response.custom_tool_call_input.done'; input: string })
  | (OfItem & { type: `response.web_search_call.${'in_progress' | 'searching' | 'completed'}`; seconds_left?: number })
  | (OfItem & {
      type: `response.image_generation_call.${'in_progress' | 'generating' | 'completed'}`
      seconds_left?: number
    })

export type ResponsesLifecycleEvent = {
  type: `response.${'created' | 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed'}`
  response: ResponsesResponse
}

/** An event of a stream, with its sequence number. */
export type ResponsesEvent = (ResponsesItemEvent | ResponsesLifecycleEvent) & { sequence_number: number }
