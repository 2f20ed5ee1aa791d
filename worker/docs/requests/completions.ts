// Request bodies of chat completions and embeddings (completions.md 2 to 5 and 10).
import { embeddingsParameters } from '../../protocols/completions/client/schema.ts'
import { chatParameters } from '../../protocols/completions/members.ts'
import type { JsonSchema } from '../schema.ts'
import {
  extraMemberSchemas,
  list,
  members,
  nonEmptyText,
  openObject,
  optional,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalPositive,
  optionalText,
  text,
  writeBody
} from './body.ts'

const functionDefinition = members(
  {
    name: nonEmptyText,
    description: optionalText,
    parameters: { ...optionalObject, description: 'JSON Schema of the arguments.' },
    strict: optionalBoolean
  },
  ['name']
)

/** What `toolParameters` accept, in chat completions and in Responses. */
export const toolSchemas = {
  tools: optional(
    list({
      anyOf: [
        members({ type: { const: 'function' }, function: functionDefinition }, ['type', 'function']),
        members({ type: { type: 'string' } }, ['type'])
      ]
    })
  ),
  tool_choice: optional({ anyOf: [{ type: 'string', enum: ['auto', 'none', 'required'] }, openObject] }),
  parallel_tool_calls: optionalBoolean,
  functions: optional(list(functionDefinition)),
  function_call: optional({ anyOf: [text, openObject] })
}

const stop = optional({ anyOf: [text, list(text, { maxItems: 4 })] })
const responseFormat = optional(members({ type: { enum: ['text', 'json_schema', 'json_object'] } }, ['type']))
const reasoning = optional(members({ effort: optionalText, summary: optionalText }))
export const samplingSchemas = { stop, response_format: responseFormat, reasoning, reasoning_effort: optionalText }

const contentPart: JsonSchema = {
  anyOf: [
    members({ type: { const: 'text' }, text }, ['type', 'text']),
    members(
      { type: { const: 'image_url' }, image_url: members({ url: nonEmptyText, detail: optionalText }, ['url']) },
      ['type', 'image_url']
    ),
    members(
      {
        type: { const: 'input_audio' },
        input_audio: members({ data: nonEmptyText, format: nonEmptyText }, ['data', 'format'])
      },
      ['type', 'input_audio']
    ),
    members(
      {
        type: { const: 'file' },
        file: members({ file_id: optionalText, file_data: optionalText, filename: optionalText })
      },
      ['type', 'file']
    ),
    members({ type: { const: 'refusal' }, refusal: text }, ['type', 'refusal'])
  ]
}

const content = optional({ anyOf: [text, list(contentPart)] })

const toolCall = members(
  {
    id: text,
    type: { const: 'function' },
    function: members({ name: nonEmptyText, arguments: { type: 'string', description: 'JSON text.' } }, [
      'name',
      'arguments'
    ])
  },
  ['id', 'type', 'function']
)

const message: JsonSchema = {
  anyOf: [
    members({ role: { enum: ['system', 'developer', 'user'] }, content, name: optionalText }, ['role', 'content']),
    members({ role: { const: 'assistant' }, content, tool_calls: optional(list(toolCall)) }, ['role']),
    members({ role: { const: 'tool' }, content, tool_call_id: nonEmptyText }, ['role', 'content', 'tool_call_id'])
  ]
}

/** The body of a chat completion. */
export function writeChatBody(model: string): JsonSchema {
  return writeBody(chatParameters, {
    members: {
      model: optionalText,
      messages: list(message, { minItems: 1 }),
      stream: optionalBoolean,
      stream_options: optional(members({ include_usage: optionalBoolean })),
      temperature: optionalNumber,
      top_p: optionalNumber,
      max_tokens: optionalPositive,
      max_completion_tokens: optionalPositive,
      max_output_tokens: optionalPositive,
      ...toolSchemas,
      ...samplingSchemas,
      ...extraMemberSchemas,
      frequency_penalty: optionalNumber,
      presence_penalty: optionalNumber,
      seed: optional({ type: 'integer' }),
      user: optionalText,
      metadata: optionalObject
    },
    required: ['messages'],
    others: 'A member that is not listed is sent to the provider as an additional field.',
    example: { model, messages: [{ role: 'user', content: 'Say hello.' }] }
  })
}

/** The body of an embeddings request. */
export function writeEmbeddingsBody(model: string): JsonSchema {
  const tokenIds = list({ type: 'integer', minimum: 0 }, { minItems: 1, maxItems: 2048 })
  return writeBody(embeddingsParameters, {
    members: {
      model: optional(nonEmptyText),
      input: {
        anyOf: [
          nonEmptyText,
          list(nonEmptyText, { minItems: 1, maxItems: 2048 }),
          tokenIds,
          list(tokenIds, { minItems: 1, maxItems: 2048 })
        ]
      },
      encoding_format: optionalText,
      dimensions: optionalPositive,
      extra_headers: optionalObject
    },
    required: ['input'],
    others: 'A member that is not listed is accepted and ignored.',
    example: { model, input: 'A text to embed.' }
  })
}
