// The wire of the completions family: what every parameter does, and the shapes of what we answer.

import type { JsonObject, JsonValue } from '../../normalized/index.ts'
import type { Parameter, ParameterTable } from '../shared/parameters.ts'

const supported: Parameter = { class: 'supported' }
const ignored: Parameter = { class: 'accepted_ignored' }
const additionalField: Parameter = {
  class: 'supported',
  isAdditionalField: true,
  note: 'Goes to the native upstream under its own name; the same name in a literal extra_body wins.'
}
const sdkOption: Parameter = { class: 'not_applicable', note: 'An option of the SDK, not of the request.' }

/** Chat completions (completions.md 2). A name that is not here is an additional field for the native upstream. */
export const chatParameters = {
  model: supported,
  messages: supported,
  stream: supported,
  stream_options: { class: 'supported', note: 'include_usage is honoured, other members have no effect.' },
  temperature: supported,
  top_p: supported,
  max_tokens: { class: 'supported', note: 'Wins over max_completion_tokens.' },
  max_completion_tokens: supported,
  max_output_tokens: { class: 'supported', note: 'Another name of max_tokens, over which it wins.' },
  stop: { class: 'supported', note: 'Up to four strings; the gateway itself cuts the answer at the first match.' },
  tools: {
    class: 'supported',
    note: 'Functions and namespaces everywhere, built-in tools on the v2 contract; other kinds have no effect.'
  },
  tool_choice: { class: 'supported', note: 'What a route cannot enforce is refused; unknown kinds have no effect.' },
  parallel_tool_calls: { class: 'supported', note: 'Has an effect with the largest model on the v2 contract.' },
  functions: { class: 'supported', note: 'The old form of tools; without effect beside a non-empty tools.' },
  function_call: { class: 'supported', note: 'The old form of tool_choice, which wins over it.' },
  response_format: { class: 'supported', note: 'text and json_schema; every other type is refused.' },
  reasoning_effort: supported,
  reasoning: { class: 'supported', note: 'Its effort wins over reasoning_effort.' },
  extra_body: {
    class: 'supported',
    note: 'Additional fields for the native upstream. Refused unless it is an object.'
  },
  additional_fields: { class: 'supported', note: 'Like extra_body, and wins over it.' },
  extra_headers: { class: 'supported', note: 'Headers for the upstream, as far as the header policy lets them pass.' },
  extra_query: { class: 'accepted_ignored', note: 'No query parameter is ever forwarded.' },
  flags: additionalField,
  function_ranker: additionalField,
  profanity_check: additionalField,
  repetition_penalty: additionalField,
  storage: additionalField,
  update_interval: additionalField,
  audio: ignored,
  background: ignored,
  conversation: ignored,
  frequency_penalty: ignored,
  include: ignored,
  logit_bias: ignored,
  logprobs: ignored,
  max_tool_calls: ignored,
  metadata: { class: 'accepted_ignored', note: 'Not echoed in the answer.' },
  modalities: ignored,
  moderation: ignored,
  n: { class: 'accepted_ignored', note: 'The answer always holds exactly one choice.' },
  prediction: ignored,
  presence_penalty: ignored,
  previous_response_id: ignored,
  prompt_cache_key: ignored,
  prompt_cache_options: ignored,
  prompt_cache_retention: ignored,
  safety_identifier: ignored,
  seed: ignored,
  service_tier: ignored,
  store: ignored,
  top_logprobs: ignored,
  truncation: ignored,
  user: ignored,
  verbosity: ignored,
  web_search_options: ignored,
  base_url: sdkOption,
  api_key: sdkOption,
  timeout: sdkOption,
  max_retries: sdkOption,
  proxy: sdkOption,
  http_client: sdkOption
} as const satisfies ParameterTable

/** Embeddings (completions.md 10). A name that is not here is accepted and has no effect either. */
export const embeddingsParameters = {
  input: supported,
  model: supported,
  encoding_format: { class: 'supported', note: 'base64 gives little-endian float32; anything else gives numbers.' },
  extra_headers: { class: 'supported', note: 'Headers for the upstream, as far as the header policy lets them pass.' },
  dimensions: ignored,
  user: ignored,
  extra_body: ignored,
  extra_query: { class: 'accepted_ignored', note: 'No query parameter is ever forwarded.' },
  base_url: sdkOption,
  api_key: sdkOption,
  timeout: sdkOption,
  max_retries: sdkOption,
  proxy: sdkOption,
  http_client: sdkOption
} as const satisfies ParameterTable

/** A chat body as it came: parsed JSON whose members nobody has looked at yet. */
export type CompletionsRequest = JsonObject & { [Name in keyof typeof chatParameters]?: JsonValue | undefined }
/** An embeddings body as it came. */
export type EmbeddingsRequest = JsonObject & { [Name in keyof typeof embeddingsParameters]?: JsonValue | undefined }

export type CompletionsFinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

export type CompletionsUsage = {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number }
  completion_tokens_details: { reasoning_tokens: number }
}

export type CompletionsToolCall = { id: string; type: 'function'; function: CompletionsFunctionCall }
export type CompletionsFunctionCall = { name: string; arguments: string }

/** `start_index` and `end_index` count UTF-16 code units of the whole `content`. */
export type CompletionsAnnotation = {
  type: 'url_citation'
  url_citation: { start_index: number; end_index: number; url: string; title: string }
}

/** Extension: a run of a tool that the provider executed itself. */
export type CompletionsToolExecution = { name: string; status: string; seconds_left?: number; censored?: boolean }
/** Extension: a file that the provider made; `content` is base64. */
export type CompletionsFile = { id: string; mime?: string; target?: string; content?: string }

/** Members beyond the family's own, present only when there is something in them. */
export type CompletionsExtensions = {
  tool_executions?: CompletionsToolExecution[]
  files?: CompletionsFile[]
  inline_data?: JsonObject
}

export type CompletionsMessage = CompletionsExtensions & {
  role: 'assistant'
  content: string | null
  refusal: string | null
  tool_calls?: CompletionsToolCall[]
  function_call?: CompletionsFunctionCall
  reasoning_content?: string
  annotations?: CompletionsAnnotation[]
}

export type CompletionsResponse = {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: [{ index: 0; message: CompletionsMessage; logprobs: null; finish_reason: CompletionsFinishReason }]
  /** null when the provider reported none. */
  usage: CompletionsUsage | null
  system_fingerprint: string
  metadata?: Record<string, string>
}

export type CompletionsDelta = CompletionsExtensions & {
  role?: 'assistant'
  content?: string
  refusal?: string
  reasoning_content?: string
  tool_calls?: [{ index: number; id?: string; type?: 'function'; function: { name?: string; arguments: string } }]
  function_call?: { name?: string; arguments: string }
  annotations?: CompletionsAnnotation[]
}

/** One frame of a stream; the one that only carries the usage has no choice. */
export type CompletionsChunk = {
  id: string
  object: 'chat.completion.chunk'
  created: number
  model: string
  system_fingerprint: string
  choices: [{ index: 0; delta: CompletionsDelta; logprobs: null; finish_reason: CompletionsFinishReason | null }] | []
  usage: CompletionsUsage | null
  metadata?: Record<string, string>
}

export type EmbeddingsResponse = {
  object: 'list'
  data: Array<{ object: 'embedding'; embedding: number[] | string; index: number }>
  model: string
  usage: { prompt_tokens: number; total_tokens: number }
  metadata?: Record<string, string>
}
