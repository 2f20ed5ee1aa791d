// Request bodies of the content protocol (content.md 2 to 5). Snake-case spellings of all names
// mean the same.
import {
  batchEmbedContentsParameters,
  countTokensParameters,
  embedContentParameters
} from '../../protocols/content/client/schema.ts'
import { contentParameters, generationParameters } from '../../protocols/content/members.ts'
import type { JsonSchema } from '../schema.ts'
import {
  list,
  members,
  nonEmptyText,
  openObject,
  optional,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalText,
  text,
  writeBody,
  writeParameters
} from './body.ts'

const number = optional({ type: ['number', 'string'], description: 'A number, or its text.' })

const part: JsonSchema = {
  anyOf: [
    members({ text, thought: optionalBoolean }, ['text']),
    members({ inlineData: members({ mimeType: nonEmptyText, data: nonEmptyText }, ['mimeType', 'data']) }, [
      'inlineData'
    ]),
    members({ fileData: members({ fileUri: nonEmptyText, mimeType: optionalText }, ['fileUri']) }, ['fileData']),
    members({ functionCall: members({ name: nonEmptyText, args: optionalObject }, ['name']) }, ['functionCall']),
    members({ functionResponse: members({ name: nonEmptyText, response: openObject }, ['name', 'response']) }, [
      'functionResponse'
    ])
  ]
}

const content = members(
  { role: optional({ enum: ['user', 'model', 'function', 'tool'] }), parts: list(part, { minItems: 1 }) },
  ['parts']
)
const contents: JsonSchema = { anyOf: [list(content, { minItems: 1 }), content] }
const systemInstruction = optional({ anyOf: [text, content] })
const tools = optional(
  list(
    members({
      functionDeclarations: optional(
        list(members({ name: nonEmptyText, description: optionalText, parameters: optionalObject }, ['name']))
      )
    })
  )
)

const generationConfig = optional({
  type: 'object',
  properties: writeParameters(generationParameters, {
    temperature: number,
    topP: number,
    topK: number,
    maxOutputTokens: optional({ type: 'integer', minimum: 1 }),
    stopSequences: optional(list(text, { maxItems: 5 })),
    responseMimeType: optional({ enum: ['', 'text/plain', 'application/json', 'text/x.enum'] }),
    responseSchema: optionalObject,
    responseJsonSchema: optionalObject,
    thinkingConfig: optional(
      members({ includeThoughts: optionalBoolean, thinkingBudget: optionalNumber, thinkingLevel: optionalText })
    ),
    seed: number,
    presencePenalty: number,
    frequencyPenalty: number
  }),
  additionalProperties: true
})

const OTHERS = 'A member that is not listed is accepted and ignored. Names may also be written in snake case.'
const example = { contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] }

/** The body of generateContent and streamGenerateContent. */
export function writeGenerateBody(): JsonSchema {
  return writeBody(contentParameters, {
    members: {
      contents,
      systemInstruction,
      tools,
      toolConfig: optional(members({ functionCallingConfig: optionalObject })),
      generationConfig,
      extra_headers: optionalObject,
      labels: optionalObject
    },
    required: ['contents'],
    others: OTHERS,
    example
  })
}

/** The body of countTokens. */
export function writeContentCountBody(): JsonSchema {
  return writeBody(countTokensParameters, {
    members: {
      contents,
      systemInstruction,
      tools,
      generateContentRequest: optionalObject,
      extra_headers: optionalObject
    },
    others: OTHERS,
    example
  })
}

const embedMembers = {
  content,
  outputDimensionality: optional({ type: 'integer', minimum: 1 }),
  taskType: optionalText,
  title: optionalText,
  extra_headers: optionalObject
}

/** The body of embedContent. */
export function writeEmbedBody(): JsonSchema {
  return writeBody(embedContentParameters, {
    members: embedMembers,
    required: ['content'],
    others: OTHERS,
    example: { content: { parts: [{ text: 'A text to embed.' }] } }
  })
}

/** The body of batchEmbedContents. */
export function writeBatchEmbedBody(): JsonSchema {
  const entry = {
    type: 'object',
    properties: writeParameters(embedContentParameters, embedMembers),
    required: ['content'],
    additionalProperties: true
  }
  return writeBody(batchEmbedContentsParameters, {
    members: { requests: list(entry, { minItems: 1 }), extra_headers: optionalObject },
    required: ['requests'],
    others: OTHERS,
    example: { requests: [{ content: { parts: [{ text: 'A text to embed.' }] } }] }
  })
}
