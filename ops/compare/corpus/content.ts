// Bodies of generateContent: configuration, histories, attachments, hosted tools and what is refused.

import type { CompareCase } from '../types.ts'
import { createFamilyCases } from './families.ts'
import { outputSchema, picture, unreachableUrls } from './values.ts'

const user = (...parts: object[]) => ({ role: 'user', parts })
const modelTurn = (...parts: object[]) => ({ role: 'model', parts })
const text = (words: string) => ({ text: words })
const hi = user(text('hi'))
const call = (more: object = {}) => ({ functionCall: { name: 'f', args: { x: 1 }, ...more } })
const result = (more: object = {}) => ({ functionResponse: { name: 'f', response: { ok: true }, ...more } })
const declare = (...functionDeclarations: object[]) => ({ tools: [{ functionDeclarations }] })
const typed = {
  type: 'OBJECT',
  properties: {
    city: { type: 'STRING', nullable: true, example: 'Omsk' },
    days: { type: 'INTEGER', format: 'int32' },
    tags: { type: 'ARRAY', items: { type: 'STRING' }, minItems: '1' }
  },
  propertyOrdering: ['days', 'city'],
  required: ['city']
}

const configurations: object[] = [
  { temperature: 0, topP: 0.5 },
  { temperature: 0.2, topP: 0.5, maxOutputTokens: '33' },
  { topK: 3, candidateCount: 2, seed: 1, presencePenalty: 1, responseModalities: ['TEXT'], responseLogprobs: true },
  { stopSequences: ['xx', 'lo'] },
  { thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true } },
  { thinkingConfig: { thinkingBudget: 3000 } },
  { thinkingConfig: { thinkingBudget: 0, includeThoughts: true } },
  { responseMimeType: 'application/json', responseSchema: typed },
  { responseMimeType: 'application/json', responseJsonSchema: outputSchema },
  { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a', 'b'] } },
  { responseMimeType: 'application/json' },
  { responseMimeType: 'text/plain' },
  { responseMimeType: 'image/png' },
  { maxOutputTokens: 0 },
  { temperature: 'x' },
  { thinkingConfig: { thinkingLevel: 'EXTREME' } }
]

const members: object[] = [
  { systemInstruction: { parts: [text('s1'), text('s2')] } },
  { systemInstruction: 's1s2' },
  { system_instruction: { parts: [text('s')] }, generation_config: { max_output_tokens: 9 } },
  { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }], labels: { a: 'b' } },
  { cachedContent: 'cachedContents/c' },
  { extra_body: { profanity_check: false }, unknownMember: 1 },
  { contents: [user(text('[[reason:because]][[text:done]]'))] },
  { contents: [user(text('[[reason:b]][[text:d]]'))], generationConfig: { thinkingConfig: { includeThoughts: true } } },
  declare({ name: 'A', description: 'does', parameters: typed }, { name: 'B' }),
  declare({ name: 'A', parametersJsonSchema: outputSchema }),
  { ...declare({ name: 'f', parametersJsonSchema: {} }), contents: [user(text('[[tool:f {"x":1}]]'))] },
  { tools: [{ googleSearch: {} }, { urlContext: {} }, { codeExecution: {} }, { googleMaps: {} }] },
  { tools: [{ googleSearch: {} }], contents: [user(text('[[builtin:web_search]]'))] },
  { tools: [{ codeExecution: {} }], contents: [user(text('[[builtin:code_interpreter]]'))] },
  { contents: [user(text('[[builtin:image_generate]]'))] },
  {
    tools: [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {} }],
    toolConfig: { functionCallingConfig: { mode: 'NONE' } }
  },
  { ...declare({ name: 'f', parameters: { type: 'OBJECT' }, parametersJsonSchema: {} }) },
  { ...declare({ parameters: {} }) },
  { ...declare({ name: 'f', parameters: 'x' }) },
  { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  { ...declare({ name: 'f' }), toolConfig: { functionCallingConfig: { mode: 'SOMETIMES' } } },
  { ...declare({ name: 'f' }), toolConfig: { functionCallingConfig: { allowedFunctionNames: [] } } }
]

const conversations: unknown[] = [
  [hi, modelTurn(text('said')), hi],
  [hi, modelTurn(call({ id: 'c1' })), user(result({ id: 'c1' }))],
  [hi, modelTurn(call()), user(result())],
  [hi, modelTurn(call({ id: 'a' }), call({ id: 'b' })), user(result({ id: 'b' }), result({ id: 'a' }))],
  [hi, modelTurn(call()), user(text('no result'))],
  [hi, user(result({ name: 'orphan' }))],
  [hi, modelTurn({ ...call({ id: 'c' }), thoughtSignature: 'c2VhbGVk' }), user(result({ id: 'c', parts: [] }))],
  [hi, modelTurn({ text: 'thought', thought: true }, text('said')), hi],
  [
    hi,
    modelTurn(
      { executableCode: { language: 'PYTHON', code: '1' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }
    ),
    hi
  ],
  [hi, { role: 'function', parts: [result()] }],
  [{ parts: [text('without role')] }],
  [user({ inline_data: { mime_type: 'image/png', data: picture('snake') } }, text('hi'))],
  [user(text('look'), { inlineData: { mimeType: 'image/png', data: picture('content') } })],
  [user(text('look'), { inlineData: { mimeType: 'application/pdf', data: picture('content pdf') } })],
  [user(text('look'), { inlineData: { mimeType: 'audio/wav', data: picture('content wav') } })],
  [user(text('look'), { inlineData: { mimeType: 'image/webp', data: picture('webp') } })],
  [user(text('look'), { fileData: { fileUri: 'files/f1', mimeType: 'image/png' } })],
  ...unreachableUrls.map(fileUri => [user(text('look'), { fileData: { fileUri, mimeType: 'image/png' } })]),
  [
    hi,
    modelTurn(call({ id: 'c' })),
    user({
      functionResponse: {
        id: 'c',
        name: 'f',
        response: {},
        parts: [{ inlineData: { mimeType: 'image/png', data: picture('in a response') } }]
      }
    })
  ],
  'plain text',
  { parts: [text('no list')] },
  [],
  null,
  5,
  [5],
  [user()],
  [user({})],
  [user({ text: 5 })],
  [{ role: 'wizard', parts: [text('x')] }],
  [hi, modelTurn(call({ name: undefined }))],
  [user({ functionResponse: { name: 'f' } })]
]

export function createContentCases(): CompareCase[] {
  return createFamilyCases('content', 'body', [
    ...configurations.map(generationConfig => ({ contents: [user(text('[[text:Hello]]'))], generationConfig })),
    ...members.map(more => ({ contents: [hi], ...more })),
    ...conversations.map(contents => ({ contents })),
    {}
  ])
}
