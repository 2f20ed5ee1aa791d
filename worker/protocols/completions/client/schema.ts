// The wire of the completions family: the effect of every request parameter, and the types of the responses.

import type { JsonObject, JsonValue } from '../../../normalized/index.ts'
import { extraHeaders, extraQuery, ignored, sdkOptions, supported } from '../../shared/members/common-parameters.ts'
import type { ParameterTable } from '../../shared/members/parameters.ts'
import type { chatParameters } from '../members.ts'

/** Parameters of embeddings (completions.md 10). A parameter that is not listed is accepted and has no effect. */
export const embeddingsParameters = {
  input: supported,
  model: supported,
  encoding_format: { class: 'supported', note: 'base64 gives little-endian float32; anything else gives numbers.' },
  extra_headers: extraHeaders,
  dimensions: { class: 'supported', note: 'Sent to a provider that has it; other providers ignore it.' },
  user: ignored,
  extra_body: ignored,
  extra_query: extraQuery,
  ...sdkOptions
} as const satisfies ParameterTable

/** A chat body: parsed JSON whose members are not validated yet. */
export type CompletionsRequest = JsonObject & { [Name in keyof typeof chatParameters]?: JsonValue | undefined }
/** An embeddings body: parsed JSON whose members are not validated yet. */
export type EmbeddingsRequest = JsonObject & { [Name in keyof typeof embeddingsParameters]?: JsonValue | undefined }

export type CompletionsFinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

export type CompletionsUsage = {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  /** `cache_write_tokens` only where the provider reports it. */
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens?: number }
  completion_tokens_details: { reasoning_tokens: number }
}

/** `extra_content` is an extension: what the provider of the call wants back with it. */
export type CompletionsToolCall = { id: string; extra_content?: JsonObject } & (
  | { type: 'function'; function: CompletionsFunctionCall }
  | { type: 'custom'; custom: CompletionsCustomCall }
)
export type CompletionsCustomCall = { name: string; input: string }
export type CompletionsFunctionCall = { name: string; arguments: string }

/** `start_index` and `end_index` count UTF-16 code units of the whole `content`. */
export type CompletionsAnnotation = {
  type: 'url_citation'
  url_citation: { start_index: number; end_index: number; url: string; title: string }
}

/** Extension: a run of a tool that the provider executed itself. */
export type CompletionsToolExecution = { name: string; status: string; seconds_left?: number; censored?: boolean }
/** Extension: a file that the provider made; `content` is base64. */
export type CompletionsFile = { id: string; mime?: string; target?: string; url?: string; content?: string }

/** Members that extend the family's message; empty ones are omitted. */
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
  /** Extension: reasoning that its provider wants back unchanged. */
  reasoning_details?: JsonValue[]
  annotations?: CompletionsAnnotation[]
}

export type CompletionsResponse = {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: [{ index: 0; message: CompletionsMessage; logprobs: null; finish_reason: CompletionsFinishReason }]
  /** Absent when the provider reported none, because the SDK's type has no null here. */
  usage?: CompletionsUsage
  system_fingerprint?: string
  metadata?: Record<string, string>
}

export type CompletionsDelta = CompletionsExtensions & {
  role?: 'assistant'
  content?: string
  refusal?: string
  reasoning_content?: string
  reasoning_details?: JsonValue[]
  tool_calls?: [
    { index: number; id?: string; extra_content?: JsonObject } & (
      | { type?: 'function'; function: { name?: string; arguments: string } }
      | { type?: 'custom'; custom: { name?: string; input: string } }
    )
  ]
  function_call?: { name?: string; arguments: string }
  annotations?: CompletionsAnnotation[]
}

/** One frame of a stream. A separate frame for the usage has no choice. */
export type CompletionsChunk = {
  id: string
  object: 'chat.completion.chunk'
  created: number
  model: string
  system_fingerprint?: string
  choices: [{ index: 0; delta: CompletionsDelta; logprobs: null; finish_reason: CompletionsFinishReason | null }] | []
  /** Absent unless the chunk has the usage; null on chunks without it when the client requested a chunk of its own for it. */
  usage?: CompletionsUsage | null
  metadata?: Record<string, string>
}

export type EmbeddingsResponse = {
  object: 'list'
  data: Array<{ object: 'embedding'; embedding: number[] | string; index: number }>
  model: string
  usage: { prompt_tokens: number; total_tokens: number }
  metadata?: Record<string, string>
}
