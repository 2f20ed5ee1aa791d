// The JSON document of a request in the normalized form, `gateway.normalized.v1`
// (operations.md 10.2). The reader validates with this schema, and `ops/schema/normalized.v1.json`
// is generated from it.

import { z } from 'zod'
import { isJsonObject, type JsonObject, type JsonValue, NORMALIZED_VERSION } from '../../normalized/index.ts'
import { MODEL_CHARACTERS_MAX } from '../../protocols/shared/model.ts'

/** Any JSON object, which is not copied: a copy would lose a member named `__proto__`. */
const object = z.custom<JsonObject>(isJsonObject, 'expected an object').meta({ type: 'object' })
const anything = z.custom<JsonValue>(value => value !== undefined, 'Field required').meta({ title: 'Any JSON value' })
const text = z.string()
const flag = z.boolean()
const mark = z.literal(true)

const path = text.meta({
  description: "Path of the part in the client's body, for errors; a path in this document by default."
})

/** What a provider wants back unchanged on the next turn, by the provider kind that issued it. */
const providerState = z
  .strictObject({
    native: z.strictObject({ tool_state_id: text, thread_id: text, message_id: text }).partial(),
    chat_compatible: z.strictObject({ reasoning_details: text, extra_content: text }).partial(),
    messages_compatible: z.strictObject({ signature: text, redacted: text }).partial(),
    content_compatible: z.strictObject({ thought_signature: text }).partial(),
    responses: z.strictObject({ reasoning_item: text, phase: text }).partial()
  })
  .partial()

const state = providerState
  .optional()
  .meta({ description: 'What a provider wants back unchanged, by the kind of the provider that issued it.' })

const source = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('url'), url: text, media_type: text.optional() }),
  z.strictObject({ kind: z.literal('bytes'), media_type: text, base64: text }),
  z.strictObject({ kind: z.literal('file-id'), file_id: text })
])

const media = { source, path: path.optional(), member: text.optional(), state }

const plainParts = [
  z.strictObject({ type: z.literal('text'), text, state }),
  z.strictObject({ type: z.literal('reasoning'), text, state }),
  z.strictObject({ type: z.literal('refusal'), text, state }),
  z.strictObject({ type: z.literal('image'), detail: text.optional(), ...media }),
  z.strictObject({ type: z.literal('file'), filename: text.optional(), ...media }),
  z.strictObject({
    type: z.literal('tool-call'),
    id: text.nullable(),
    name: text,
    namespace: text.optional(),
    arguments: object,
    arguments_text: text.optional().meta({ description: 'The arguments as the client wrote them.' }),
    state
  })
] as const

/** Tool results of a tool result are possible in the type, and no client protocol has them. */
const toolResult = z.strictObject({
  type: z.literal('tool-result'),
  call_id: text.nullable(),
  name: text.optional(),
  get parts() {
    return z.array(part)
  },
  is_error: flag.default(false),
  has_error_flag: mark.optional(),
  path: path.optional(),
  state
})

const part: z.ZodDiscriminatedUnion<[...typeof plainParts, typeof toolResult]> = z.discriminatedUnion('type', [
  ...plainParts,
  toolResult
])

const message = z.strictObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  sent_role: text.optional().meta({ description: "The client's own word where `role` is only the nearest known one." }),
  name: text.optional(),
  parts: z.array(part),
  form: z.enum(['text', 'null', 'absent', 'pieces']).optional().meta({
    description: 'How the client wrote the content; parts unless stated otherwise.'
  }),
  uploaded_files: z.strictObject({ file_ids: z.array(text), path: path.optional() }).optional(),
  state
})

const hostedKind = z.enum([
  'web_search',
  'code_interpreter',
  'image_generate',
  'url_content_extraction',
  'model_3d_generate'
])

const tool = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('function'),
    name: text,
    namespace: text.optional(),
    description: text.optional(),
    parameters: object,
    parameters_text: text
      .optional()
      .meta({ description: 'The schema as JSON text, where a double would change its integers.' }),
    strict: flag.optional(),
    few_shot_examples: anything.optional(),
    return_parameters: anything.optional(),
    is_deferred: mark.optional(),
    path: text.optional(),
    free_form: z
      .strictObject({
        description: text.optional(),
        grammar: z.strictObject({ syntax: text, definition: text }).optional()
      })
      .optional()
      .meta({ description: 'Of a custom tool, whose input is the one parameter `input`: what the client declares.' }),
    member_paths: z
      .strictObject({
        strict: text.optional(),
        few_shot_examples: text.optional(),
        return_parameters: text.optional()
      })
      .optional()
  }),
  z.strictObject({
    type: z.literal('hosted'),
    kind: hostedKind,
    sent_type: text,
    config: object,
    timezone: text.optional(),
    path: text.optional()
  }),
  z.strictObject({ type: z.literal('unsupported'), sent_type: text, definition: anything, path: text.optional() })
])

const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto') }),
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('required') }),
  z.strictObject({ type: z.literal('function'), name: text }),
  z.strictObject({ type: z.literal('hosted'), kind: hostedKind }),
  z.strictObject({
    type: z.literal('allowed'),
    mode: z.enum(['auto', 'required']),
    names: z.array(text),
    kinds: z.array(hostedKind).optional()
  })
])

const output = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json-object'), path: path.optional() }),
  z.strictObject({
    type: z.literal('json-schema'),
    schema: object,
    name: text.optional(),
    description: text.optional(),
    strict: flag.optional(),
    wants_bare_string: mark.optional()
  })
])

const sampling = z.strictObject({
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  top_k: z.number().optional(),
  seed: z.number().optional(),
  presence_penalty: z.number().optional(),
  frequency_penalty: z.number().optional()
})

/** Client faces take numbers beyond the safe integers as well. */
const positiveInteger = z.number().positive().refine(Number.isInteger, 'Invalid input: expected int')

const limits = z.strictObject({ max_output_tokens: positiveInteger.optional(), stop: z.array(text).optional() })

const reasoning = z.strictObject({
  effort: text.optional(),
  budget_tokens: z.number().optional(),
  summary: text.optional(),
  generate_summary: text.optional(),
  context: text.optional(),
  mode: text.optional(),
  is_visible: flag.optional()
})

const conversation = z.strictObject({
  previous_response_id: text.optional(),
  conversation_id: text.optional(),
  stored_conversation_id: text.optional(),
  store: flag.optional(),
  stores_by_default: mark.optional(),
  background: flag.optional(),
  include: z.array(text).optional()
})

/** A request. Members that are absent were not sent by the client. */
export const normalizedRequestSchema = z
  .strictObject({
    schema_version: z.literal(NORMALIZED_VERSION).default(NORMALIZED_VERSION),
    request_id: text.optional(),
    protocol: z.enum(['openai', 'anthropic', 'gemini']).optional().meta({
      description:
        'The client protocol that the request comes from: errors name its fields. Absent: errors name members of this document.'
    }),
    operation: z
      .enum(['chat', 'responses'])
      .optional()
      .meta({ description: '`responses` only of the protocol `openai`.' }),
    model: text.max(MODEL_CHARACTERS_MAX).optional(),
    stream: flag.default(false),
    wants_stream_usage: flag.default(false),
    messages: z.array(message),
    tools: z.array(tool).default([]),
    tool_choice: toolChoice.optional(),
    uses_legacy_functions: flag.default(false),
    parallel_tool_calls: z.enum(['requested', 'refused']).optional(),
    output: output.optional(),
    sampling: sampling.optional(),
    limits: limits.optional(),
    reasoning: reasoning.optional(),
    conversation: conversation.optional(),
    provider_state: z
      .strictObject({ native: z.strictObject({ additional_fields: object }) })
      .optional()
      .meta({
        description: 'Unknown and vendor members of the body, for a provider that has a place for them.'
      }),
    uploaded_file_ids: z.array(text).optional(),
    extra_headers: object.optional(),
    user: text.optional(),
    metadata: object.optional(),
    echo: z.strictObject({ members: object, text: text.optional(), user_text: text.optional() }).optional().meta({
      description: 'What the response repeats of the request.'
    }),
    ignored: object.default({}).meta({ description: 'Members of the body that have no effect.' })
  })
  .meta({ title: 'A request in the normalized form of llm-gateway' })

export type RequestDocument = z.output<typeof normalizedRequestSchema>
export type MessageDocument = z.output<typeof message>
export type PartDocument = z.output<typeof part>
export type StateDocument = z.output<typeof providerState>
