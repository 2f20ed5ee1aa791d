// Responses of the Responses operation (responses.md 4 and 6).
import { z } from 'zod'
import type {
  ResponsesAnnotation,
  ResponsesCompacted,
  ResponsesEvent,
  ResponsesItemEvent,
  ResponsesLifecycleEvent,
  ResponsesOutputItem,
  ResponsesOutputText,
  ResponsesRefusal,
  ResponsesResponse,
  ResponsesTokenCount,
  ResponsesUsage
} from '../../protocols/responses/client/schema.ts'
import { count, describe, jsonObject, jsonValue, labels } from '../schema.ts'

const annotation = describe<ResponsesAnnotation>()(
  'ResponseAnnotation',
  z.strictObject({
    type: z.literal('url_citation'),
    start_index: count,
    end_index: count,
    url: z.string(),
    title: z.string()
  }),
  'The indexes count UTF-16 code units in the text of the part.'
)

const outputText = describe<ResponsesOutputText>()(
  'ResponseOutputText',
  z.strictObject({
    type: z.literal('output_text'),
    text: z.string(),
    annotations: z.array(annotation),
    logprobs: z.array(z.never()),
    inline_data: jsonObject.describe('Extension: the results of tools that the provider executed.').exactOptional()
  })
)

const refusal = describe<ResponsesRefusal>()(
  'ResponseRefusal',
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() })
)

const contentPart = z.discriminatedUnion('type', [outputText, refusal])
const summaryText = z.strictObject({ type: z.literal('summary_text'), text: z.string() })
const textStatus = z.enum(['in_progress', 'completed', 'incomplete'])
const callStatus = z.enum(['in_progress', 'completed', 'failed'])
const fileMembers = { mime: z.string().exactOptional(), target: z.string().exactOptional() }

const outputItem = describe<ResponsesOutputItem>()(
  'ResponseOutputItem',
  z.discriminatedUnion('type', [
    z.strictObject({
      id: z.string(),
      type: z.literal('message'),
      status: textStatus,
      role: z.literal('assistant'),
      content: z.array(contentPart)
    }),
    z.strictObject({
      id: z.string(),
      type: z.literal('reasoning'),
      summary: z.array(summaryText),
      encrypted_content: z
        .string()
        .describe('State that the provider wants back with the next request, only where it has some.')
        .exactOptional()
    }),
    z.strictObject({
      id: z.string(),
      type: z.literal('function_call'),
      status: textStatus,
      call_id: z.string(),
      name: z.string(),
      arguments: z.string().describe('JSON text.'),
      namespace: z.string().exactOptional()
    }),
    z.strictObject({
      id: z.string(),
      type: z.literal('custom_tool_call'),
      status: textStatus,
      call_id: z.string(),
      name: z.string(),
      input: z.string().describe('Free text.'),
      namespace: z.string().exactOptional()
    }),
    z.strictObject({
      id: z.string(),
      type: z.literal('web_search_call'),
      status: callStatus,
      action: z.strictObject({
        type: z.literal('search'),
        query: z.string(),
        sources: z.array(z.strictObject({ type: z.literal('url'), url: z.string() }))
      })
    }),
    z.strictObject({
      id: z.string(),
      type: z.literal('image_generation_call'),
      status: callStatus,
      result: z.string().nullable().describe('Base64.'),
      file_id: z.string().exactOptional(),
      ...fileMembers
    }),
    z.strictObject({
      id: z.string(),
      type: z.literal('compaction'),
      encrypted_content: z.string().describe('The sealed summary of a conversation; send the item back in its place.')
    }),
    z.strictObject({
      id: z.string(),
      type: z.literal('model_3d_generate_call'),
      status: z.enum(['in_progress', 'completed']),
      file_id: z.string(),
      url: z.string().exactOptional(),
      ...fileMembers
    })
  ])
)

const usage = describe<ResponsesUsage>()(
  'ResponseUsage',
  z.strictObject({
    input_tokens: count,
    input_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
    output_tokens: count,
    output_tokens_details: z.strictObject({ reasoning_tokens: count }),
    total_tokens: count,
    prompt_tokens_details: z
      .strictObject({ cached_tokens: count })
      .describe('Extension, for clients that read the usage as in chat completions.')
  })
)

export const response = describe<ResponsesResponse>()(
  'Response',
  z.strictObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: count,
    completed_at: count.nullable().describe('Null unless the response is completed.'),
    status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    incomplete_details: z.strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
    model: z.string(),
    output: z.array(outputItem),
    usage: usage.nullable(),
    metadata: labels,
    instructions: z.string().nullable(),
    max_output_tokens: z.number().nullable(),
    parallel_tool_calls: z.boolean(),
    previous_response_id: z.string().nullable(),
    reasoning: jsonObject,
    store: z.boolean(),
    temperature: z.number(),
    text: jsonObject,
    tool_choice: jsonValue,
    tools: z.array(jsonValue),
    top_p: z.number(),
    truncation: z.string(),
    user: z.string().exactOptional(),
    access_programs: z.null(),
    conversation: z.strictObject({ id: z.string() }).exactOptional(),
    background: z.boolean(),
    frequency_penalty: z.number(),
    max_tool_calls: z.number().nullable(),
    presence_penalty: z.number(),
    prompt_cache_key: z.string().nullable(),
    prompt_cache_retention: z.string().nullable(),
    safety_identifier: z.string().nullable(),
    service_tier: z.string(),
    top_logprobs: z.number()
  }),
  'Many members repeat the request.'
)

export const compacted = describe<ResponsesCompacted>()(
  'ResponseCompaction',
  z.strictObject({
    id: z.string(),
    object: z.literal('response.compaction'),
    created_at: count,
    output: z.array(outputItem),
    usage
  })
)

export const inputTokens = describe<ResponsesTokenCount>()(
  'ResponseTokenCount',
  z.strictObject({ object: z.literal('response.input_tokens'), input_tokens: count })
)

const sequence = { sequence_number: count }
const ofItem = { item_id: z.string(), output_index: count, ...sequence }
const ofContent = { ...ofItem, content_index: count }
const ofSummary = { ...ofItem, summary_index: count }
const noLogprobs = z.array(z.never())
const secondsLeft = z.number().exactOptional()

type Numbered<Event> = Event extends unknown ? Event & { sequence_number: number } : never

const itemEvent = describe<Numbered<ResponsesItemEvent>>()(
  'ResponseItemEvent',
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('response.output_item.added'),
      output_index: count,
      item: outputItem,
      ...sequence
    }),
    z.strictObject({
      type: z.literal('response.output_item.done'),
      output_index: count,
      item: outputItem,
      ...sequence
    }),
    z.strictObject({ type: z.literal('response.content_part.added'), part: contentPart, ...ofContent }),
    z.strictObject({ type: z.literal('response.content_part.done'), part: contentPart, ...ofContent }),
    z.strictObject({
      type: z.literal('response.output_text.delta'),
      delta: z.string(),
      logprobs: noLogprobs,
      ...ofContent
    }),
    z.strictObject({
      type: z.literal('response.output_text.done'),
      text: z.string(),
      logprobs: noLogprobs,
      ...ofContent
    }),
    z.strictObject({
      type: z.literal('response.output_text.annotation.added'),
      annotation_index: count,
      annotation,
      ...ofContent
    }),
    z.strictObject({ type: z.literal('response.refusal.delta'), delta: z.string(), ...ofContent }),
    z.strictObject({ type: z.literal('response.refusal.done'), refusal: z.string(), ...ofContent }),
    z.strictObject({ type: z.literal('response.reasoning_summary_part.added'), part: summaryText, ...ofSummary }),
    z.strictObject({ type: z.literal('response.reasoning_summary_part.done'), part: summaryText, ...ofSummary }),
    z.strictObject({ type: z.literal('response.reasoning_summary_text.delta'), delta: z.string(), ...ofSummary }),
    z.strictObject({ type: z.literal('response.reasoning_summary_text.done'), text: z.string(), ...ofSummary }),
    z.strictObject({ type: z.literal('response.function_call_arguments.delta'), delta: z.string(), ...ofItem }),
    z.strictObject({
      type: z.literal('response.function_call_arguments.done'),
      name: z.string(),
      arguments: z.string(),
      ...ofItem
    }),
    z.strictObject({ type: z.literal('response.custom_tool_call_input.delta'), delta: z.string(), ...ofItem }),
    z.strictObject({ type: z.literal('response.custom_tool_call_input.done'), input: z.string(), ...ofItem }),
    z.strictObject({
      type: z.enum([
        'response.web_search_call.in_progress',
        'response.web_search_call.searching',
        'response.web_search_call.completed'
      ]),
      seconds_left: secondsLeft,
      ...ofItem
    }),
    z.strictObject({
      type: z.enum([
        'response.image_generation_call.in_progress',
        'response.image_generation_call.generating',
        'response.image_generation_call.completed'
      ]),
      seconds_left: secondsLeft,
      ...ofItem
    })
  ])
)

const lifecycleEvent = describe<Numbered<ResponsesLifecycleEvent>>()(
  'ResponseLifecycleEvent',
  z.strictObject({
    type: z.enum([
      'response.created',
      'response.queued',
      'response.in_progress',
      'response.completed',
      'response.incomplete',
      'response.failed'
    ]),
    response,
    ...sequence
  })
)

export const responseStreamEvent = describe<ResponsesEvent>()(
  'ResponseStreamEvent',
  z.union([lifecycleEvent, itemEvent]),
  'The data of one event; its type is also the name of the event.'
)
