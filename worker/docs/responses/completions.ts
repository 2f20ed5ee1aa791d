// Responses of chat completions and embeddings (completions.md 6 and 10).
import { z } from 'zod'
import type {
  CompletionsAnnotation,
  CompletionsChunk,
  CompletionsDelta,
  CompletionsFile,
  CompletionsFinishReason,
  CompletionsMessage,
  CompletionsResponse,
  CompletionsToolCall,
  CompletionsToolExecution,
  CompletionsUsage,
  EmbeddingsResponse
} from '../../protocols/completions/client/schema.ts'
import { count, describe, jsonObject, jsonValue, labels } from '../schema.ts'

const finishReason = describe<CompletionsFinishReason>()(
  'ChatCompletionFinishReason',
  z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
)

const usage = describe<CompletionsUsage>()(
  'ChatCompletionUsage',
  z.strictObject({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z.strictObject({
      cached_tokens: count,
      cache_write_tokens: count.describe('Only where the provider reports it.').exactOptional()
    }),
    completion_tokens_details: z.strictObject({ reasoning_tokens: count })
  })
)

const functionCall = z.strictObject({ name: z.string(), arguments: z.string().describe('JSON text.') })

const callExtension = {
  extra_content: jsonObject.describe('Extension: what the provider of the call wants back with it.').exactOptional()
}

const toolCall = describe<CompletionsToolCall>()(
  'ChatCompletionToolCall',
  z.discriminatedUnion('type', [
    z.strictObject({ id: z.string(), type: z.literal('function'), function: functionCall, ...callExtension }),
    z.strictObject({
      id: z.string(),
      type: z.literal('custom'),
      custom: z.strictObject({ name: z.string(), input: z.string().describe('Free text.') }),
      ...callExtension
    })
  ])
)

const annotation = describe<CompletionsAnnotation>()(
  'ChatCompletionAnnotation',
  z.strictObject({
    type: z.literal('url_citation'),
    url_citation: z.strictObject({ start_index: count, end_index: count, url: z.string(), title: z.string() })
  }),
  'The indexes count UTF-16 code units of the whole content.'
)

const toolExecution = describe<CompletionsToolExecution>()(
  'ChatCompletionToolExecution',
  z.strictObject({
    name: z.string(),
    status: z.string(),
    seconds_left: z.number().exactOptional(),
    censored: z.boolean().exactOptional()
  }),
  'Extension: a run of a tool that the provider executed itself.'
)

const file = describe<CompletionsFile>()(
  'ChatCompletionFile',
  z.strictObject({
    id: z.string(),
    mime: z.string().exactOptional(),
    target: z.string().exactOptional(),
    url: z.string().exactOptional(),
    content: z.string().describe('Base64.').exactOptional()
  }),
  'Extension: a file that the provider made.'
)

const extensions = {
  tool_executions: z.array(toolExecution).exactOptional(),
  files: z.array(file).exactOptional(),
  inline_data: jsonObject.exactOptional()
}

const reasoningDetails = z
  .array(jsonValue)
  .describe('Extension: reasoning that its provider wants back unchanged.')
  .exactOptional()

const message = describe<CompletionsMessage>()(
  'ChatCompletionMessage',
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    refusal: z.string().nullable(),
    tool_calls: z.array(toolCall).exactOptional(),
    function_call: functionCall.exactOptional(),
    reasoning_content: z.string().exactOptional(),
    reasoning_details: reasoningDetails,
    annotations: z.array(annotation).exactOptional(),
    ...extensions
  })
)

export const chatCompletion = describe<CompletionsResponse>()(
  'ChatCompletion',
  z.strictObject({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: count,
    model: z.string(),
    choices: z.tuple([
      z.strictObject({ index: z.literal(0), message, logprobs: z.null(), finish_reason: finishReason })
    ]),
    usage: usage.exactOptional(),
    system_fingerprint: z.string().exactOptional(),
    metadata: labels.exactOptional()
  })
)

const callHead = { index: count, id: z.string().exactOptional(), extra_content: jsonObject.exactOptional() }

const delta = describe<CompletionsDelta>()(
  'ChatCompletionDelta',
  z.strictObject({
    role: z.literal('assistant').exactOptional(),
    content: z.string().exactOptional(),
    refusal: z.string().exactOptional(),
    reasoning_content: z.string().exactOptional(),
    reasoning_details: reasoningDetails,
    tool_calls: z
      .tuple([
        z.union([
          z.strictObject({
            ...callHead,
            type: z.literal('function').exactOptional(),
            function: z.strictObject({ name: z.string().exactOptional(), arguments: z.string() })
          }),
          z.strictObject({
            ...callHead,
            type: z.literal('custom').exactOptional(),
            custom: z.strictObject({ name: z.string().exactOptional(), input: z.string() })
          })
        ])
      ])
      .exactOptional(),
    function_call: z.strictObject({ name: z.string().exactOptional(), arguments: z.string() }).exactOptional(),
    annotations: z.array(annotation).exactOptional(),
    ...extensions
  })
)

export const chatCompletionChunk = describe<CompletionsChunk>()(
  'ChatCompletionChunk',
  z.strictObject({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: count,
    model: z.string(),
    system_fingerprint: z.string().exactOptional(),
    choices: z.union([
      z.tuple([
        z.strictObject({
          index: z.literal(0),
          delta,
          logprobs: z.null(),
          finish_reason: finishReason.nullable()
        })
      ]),
      z.tuple([])
    ]),
    usage: usage.nullable().exactOptional(),
    metadata: labels.exactOptional()
  }),
  'The data of one event. The last event of the stream has the data `[DONE]`.'
)

export const embeddings = describe<EmbeddingsResponse>()(
  'EmbeddingList',
  z.strictObject({
    object: z.literal('list'),
    data: z.array(
      z.strictObject({
        object: z.literal('embedding'),
        embedding: z.union([z.array(z.number()), z.string()]).describe('Numbers, or base64 of little-endian float32.'),
        index: count
      })
    ),
    model: z.string(),
    usage: z.strictObject({ prompt_tokens: count, total_tokens: count }),
    metadata: labels.exactOptional()
  })
)
