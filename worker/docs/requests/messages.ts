// Request bodies of the messages protocol (messages.md 2 to 6 and 7.3).
import { countTokensParameters } from '../../protocols/messages/client/schema.ts'
import { messagesParameters } from '../../protocols/messages/members.ts'
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

const textBlock = members({ type: { const: 'text' }, text }, ['type', 'text'])
const imageBlock = members(
  {
    type: { const: 'image' },
    source: {
      anyOf: [
        members({ type: { const: 'base64' }, media_type: text, data: nonEmptyText }, ['type', 'data']),
        members({ type: { const: 'url' }, url: nonEmptyText }, ['type', 'url'])
      ]
    }
  },
  ['type', 'source']
)
const toolResultBlock = members(
  {
    type: { const: 'tool_result' },
    tool_use_id: nonEmptyText,
    content: { anyOf: [text, list({ anyOf: [textBlock, imageBlock] })] },
    is_error: optionalBoolean
  },
  ['type', 'tool_use_id']
)
const toolUseBlock = members({ type: { const: 'tool_use' }, id: nonEmptyText, name: nonEmptyText, input: openObject }, [
  'type',
  'id',
  'name',
  'input'
])
const thinkingBlock = members({ type: { const: 'thinking' }, thinking: text, signature: text }, ['type', 'thinking'])

const message: JsonSchema = {
  anyOf: [
    members(
      {
        role: { const: 'user' },
        content: { anyOf: [text, list({ anyOf: [textBlock, imageBlock, toolResultBlock] })] }
      },
      ['role', 'content']
    ),
    members(
      {
        role: { const: 'assistant' },
        content: { anyOf: [text, list({ anyOf: [textBlock, toolUseBlock, thinkingBlock] })] }
      },
      ['role', 'content']
    )
  ]
}

const shared = {
  model: optionalText,
  messages: list(message),
  system: optional({ anyOf: [text, list(textBlock)] }),
  tools: optional(
    list(
      members({ name: nonEmptyText, description: optionalText, input_schema: optionalObject, type: optionalText }, [
        'name'
      ])
    )
  ),
  tool_choice: optional(
    members({ type: { enum: ['auto', 'any', 'tool', 'none'] }, disable_parallel_tool_use: optionalBoolean }, ['type'])
  ),
  output_config: optional(members({ effort: optional(nonEmptyText), format: optionalObject })),
  output_format: optional(members({ type: { const: 'json_schema' }, schema: openObject }, ['type', 'schema'])),
  ...extraMemberSchemas
}

const example = (model: string) => ({ model, max_tokens: 256, messages: [{ role: 'user', content: 'Say hello.' }] })

/** The body of a message. */
export function writeMessagesBody(model: string): JsonSchema {
  return writeBody(messagesParameters, {
    members: {
      ...shared,
      max_tokens: optionalPositive,
      stream: optionalBoolean,
      temperature: optionalNumber,
      top_p: optionalNumber,
      top_k: optionalNumber,
      stop_sequences: optional(list(text)),
      thinking: optional(
        members(
          {
            type: { enum: ['enabled', 'disabled', 'adaptive', 'between_tools'] },
            budget_tokens: optionalPositive
          },
          ['type']
        )
      ),
      metadata: optionalObject
    },
    required: ['messages'],
    others: 'A member that is not listed is sent to the provider as an additional field.',
    example: example(model)
  })
}

/** The body of a token count. */
export function writeMessagesCountBody(model: string): JsonSchema {
  const { max_tokens: _maximum, ...counted } = example(model)
  return writeBody(countTokensParameters, {
    members: shared,
    required: ['messages'],
    others: 'A member that is not listed has no effect on the count.',
    example: counted
  })
}
