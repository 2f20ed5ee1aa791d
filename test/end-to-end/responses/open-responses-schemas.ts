// What the Open Responses specification (2026-04-24) demands of responses, of events and of a compacted conversation, as schemas of our
// own. Members that it does not name may be added.

import { z } from 'zod'

const count = z.int().nonnegative()
const seconds = z.int().positive()
const text = z.string()

const urlCitation = z.looseObject({
  type: z.literal('url_citation'),
  url: text,
  title: text,
  start_index: count,
  end_index: count
})
const outputText = z.looseObject({ type: z.literal('output_text'), text, annotations: z.array(urlCitation) })
const refusal = z.looseObject({ type: z.literal('refusal'), refusal: text })
const summaryText = z.looseObject({ type: z.literal('summary_text'), text })
const reasoningText = z.looseObject({ type: z.literal('reasoning_text'), text })
const part = z.discriminatedUnion('type', [outputText, refusal, summaryText, reasoningText])

const progress = z.enum(['in_progress', 'completed', 'incomplete'])
const message = z.looseObject({
  type: z.literal('message'),
  id: text,
  status: progress,
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.array(part),
  phase: z.enum(['commentary', 'final_answer']).optional()
})
const functionCall = z.looseObject({
  type: z.literal('function_call'),
  id: text,
  call_id: text,
  name: text,
  arguments: text,
  status: progress
})
const reasoning = z.looseObject({
  type: z.literal('reasoning'),
  id: text,
  summary: z.array(summaryText),
  content: z.array(reasoningText).optional(),
  encrypted_content: text.optional()
})
const compaction = z.looseObject({ type: z.literal('compaction'), id: text, encrypted_content: text.min(1) })
/** An item of an output; the specification has no others without a prefix of their vendor. */
const item = z.discriminatedUnion('type', [message, functionCall, reasoning, compaction])

const functionTool = z.looseObject({
  type: z.literal('function'),
  name: text,
  description: text.nullable(),
  parameters: z.looseObject({}).nullable(),
  strict: z.boolean().nullable()
})
const toolMode = z.enum(['none', 'auto', 'required'])
const toolChoice = z.union([
  toolMode,
  z.looseObject({ type: z.literal('function'), name: text }),
  z.looseObject({ type: z.literal('allowed_tools'), tools: z.array(z.looseObject({})), mode: toolMode })
])
const textFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({ type: z.literal('json_schema'), name: text, strict: z.boolean() })
])

const usage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  input_tokens_details: z.looseObject({ cached_tokens: count }),
  output_tokens_details: z.looseObject({ reasoning_tokens: count })
})

/** The object that a whole response is, and that the first and the last events of a stream carry. */
export const responseSchema = z.looseObject({
  id: text.min(1),
  object: z.literal('response'),
  created_at: seconds,
  completed_at: seconds.nullable(),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  incomplete_details: z.looseObject({ reason: text }).nullable(),
  model: text,
  previous_response_id: text.nullable(),
  instructions: text.nullable(),
  output: z.array(item),
  error: z.looseObject({ code: text, message: text }).nullable(),
  tools: z.array(functionTool),
  tool_choice: toolChoice,
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.looseObject({ format: textFormat, verbosity: z.enum(['low', 'medium', 'high']).optional() }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: count,
  temperature: z.number(),
  reasoning: z.looseObject({ effort: text.nullable(), summary: text.nullable() }).nullable(),
  usage: usage.nullable(),
  max_output_tokens: count.nullable(),
  max_tool_calls: count.nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: text,
  metadata: z.record(text, text),
  safety_identifier: text.nullable(),
  prompt_cache_key: text.nullable()
})

/** What `POST /responses/compact` returns. */
export const compactionSchema = z.looseObject({
  id: text.min(1),
  object: z.literal('response.compaction'),
  created_at: seconds,
  output: z.array(z.union([item, z.looseObject({ type: z.literal('message'), role: text })])),
  usage
})

/** What a WebSocket gets in place of a response. */
export const socketErrorSchema = z.looseObject({
  type: z.literal('error'),
  status: z.int().min(400).max(599),
  error: z.looseObject({ code: text, message: text, param: text.nullable().optional() })
})

const ofItem = { item_id: text, output_index: count }
const ofContent = { ...ofItem, content_index: count }
const ofSummary = { ...ofItem, summary_index: count }

/** The members of each event beside its type and its number. */
const eventMembers = {
  'response.created': { response: responseSchema },
  'response.queued': { response: responseSchema },
  'response.in_progress': { response: responseSchema },
  'response.completed': { response: responseSchema },
  'response.incomplete': { response: responseSchema },
  'response.failed': { response: responseSchema },
  'response.output_item.added': { output_index: count, item },
  'response.output_item.done': { output_index: count, item },
  'response.content_part.added': { ...ofContent, part },
  'response.content_part.done': { ...ofContent, part },
  'response.output_text.delta': { ...ofContent, delta: text },
  'response.output_text.done': { ...ofContent, text },
  'response.output_text.annotation.added': { ...ofContent, annotation_index: count, annotation: urlCitation },
  'response.refusal.delta': { ...ofContent, delta: text },
  'response.refusal.done': { ...ofContent, refusal: text },
  'response.reasoning_summary_part.added': { ...ofSummary, part },
  'response.reasoning_summary_part.done': { ...ofSummary, part },
  'response.reasoning_summary_text.delta': { ...ofSummary, delta: text },
  'response.reasoning_summary_text.done': { ...ofSummary, text },
  'response.function_call_arguments.delta': { ...ofItem, delta: text },
  'response.function_call_arguments.done': { ...ofItem, arguments: text }
} satisfies Record<string, z.ZodRawShape>

const eventSchemas = new Map<string, z.ZodType>(
  Object.entries(eventMembers).map(([type, members]) => [
    type,
    z.looseObject({ type: z.literal(type), sequence_number: count, ...members })
  ])
)

/** Why an event is none of the specification; undefined for a right one. */
export function judgeEvent(event: { type?: unknown }): string | undefined {
  const schema = eventSchemas.get(String(event.type))
  if (schema === undefined) return `${event.type} is no event of the specification`
  const { error } = schema.safeParse(event)
  return error && `${event.type}: ${z.prettifyError(error)}`
}
