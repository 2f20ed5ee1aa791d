// The request body of the Responses operation (responses.md 2 and 3).
import { countTokensParameters } from '../../protocols/responses/client/count-tokens.ts'
import { responsesParameters } from '../../protocols/responses/members.ts'
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
import { samplingSchemas, toolSchemas } from './completions.ts'

const contentPart: JsonSchema = {
  anyOf: [
    members({ type: { enum: ['input_text', 'output_text', 'text'] }, text }, ['type', 'text']),
    members({ type: { const: 'input_image' }, image_url: optionalText, file_id: optionalText }, ['type']),
    members({ type: { const: 'input_file' }, file_id: optionalText, file_url: optionalText, file_data: optionalText }, [
      'type'
    ])
  ]
}

const inputItem: JsonSchema = {
  anyOf: [
    members(
      {
        type: { const: 'message' },
        role: { enum: ['user', 'assistant', 'system', 'developer'] },
        content: { anyOf: [text, list(contentPart)] }
      },
      ['role', 'content']
    ),
    members({ type: { const: 'function_call' }, call_id: nonEmptyText, name: nonEmptyText, arguments: text }, [
      'type',
      'call_id',
      'name',
      'arguments'
    ]),
    members(
      { type: { const: 'function_call_output' }, call_id: nonEmptyText, output: { anyOf: [text, list(contentPart)] } },
      ['type', 'call_id', 'output']
    ),
    members({ type: { const: 'custom_tool_call' }, call_id: nonEmptyText, name: nonEmptyText, input: text }, [
      'type',
      'call_id',
      'name',
      'input'
    ]),
    members(
      {
        type: { const: 'custom_tool_call_output' },
        call_id: nonEmptyText,
        output: { anyOf: [text, list(contentPart)] }
      },
      ['type', 'call_id', 'output']
    ),
    members({ type: { const: 'reasoning' } }, ['type']),
    members({ type: { const: 'compaction' }, encrypted_content: nonEmptyText }, ['type', 'encrypted_content']),
    members({ type: { const: 'compaction_trigger' } }, ['type'])
  ]
}

const input: JsonSchema = { anyOf: [text, list(inputItem)] }

const bodyMembers = {
  model: optionalText,
  input,
  instructions: optionalText,
  stream: optionalBoolean,
  temperature: optionalNumber,
  top_p: optionalNumber,
  max_output_tokens: optional({ type: 'integer', minimum: 0 }),
  max_tokens: optionalPositive,
  ...toolSchemas,
  ...samplingSchemas,
  text: optional(members({ format: optional(members({ type: text }, ['type'])), verbosity: optionalText })),
  previous_response_id: optionalText,
  conversation: optional({ anyOf: [nonEmptyText, members({ id: nonEmptyText }, ['id'])] }),
  store: optionalBoolean,
  ...extraMemberSchemas,
  metadata: optionalObject,
  user: optionalText,
  frequency_penalty: optionalNumber,
  presence_penalty: optionalNumber,
  seed: optional({ type: 'integer' }),
  storage: { anyOf: [openObject, { type: ['boolean', 'null'] }] }
}

/** The body of a response. */
export function writeResponsesBody(model: string): JsonSchema {
  return writeBody(responsesParameters, {
    members: bodyMembers,
    required: ['input'],
    others: 'A member that is not listed is sent to the provider as an additional field.',
    example: { model, input: 'Say hello.' }
  })
}

/** The body of a wish for a summary. */
export function writeResponsesCompactBody(model: string): JsonSchema {
  return writeBody(responsesParameters, {
    members: { ...bodyMembers, input: optional(input) },
    required: [],
    others: 'A member that is not listed is sent to the provider as an additional field.',
    example: { model, input: [{ role: 'user', content: 'Say hello.' }] }
  })
}

/** The body of a count of input tokens. */
export function writeResponsesCountBody(model: string): JsonSchema {
  return writeBody(countTokensParameters, {
    members: { ...bodyMembers, input: optional(input) },
    required: [],
    others: 'A member that is not listed has no effect on the count.',
    example: { model, input: 'Say hello.' }
  })
}
