// A valid body for each operation, with nearly every member that a codec reads, for tests that change them one by one.

import { type Family, model } from './support.ts'

const schema = { type: 'object', properties: { a: { type: 'string' } } }
const picture = 'data:image/png;base64,aGk='

const chat = {
  model,
  stream: false,
  temperature: 0.5,
  max_tokens: 5,
  stop: ['a'],
  tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema } }, { type: 'web_search' }],
  tool_choice: 'auto',
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
  reasoning_effort: 'low',
  stream_options: { include_usage: true },
  extra_headers: { 'x-a': 'b' },
  extra_body: { anything: { a: 1 } },
  messages: [
    { role: 'system', content: 's' },
    {
      role: 'user',
      name: 'n',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image_url', image_url: { url: picture } }
      ]
    },
    {
      role: 'assistant',
      content: 'x',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } }]
    },
    { role: 'tool', tool_call_id: 'c1', content: '{}' }
  ]
}

const response = {
  model,
  stream: false,
  instructions: 'be',
  max_output_tokens: 5,
  tools: [{ type: 'function', name: 'f', parameters: schema }, { type: 'web_search' }],
  tool_choice: 'auto',
  text: { format: { type: 'json_schema', name: 'x', schema } },
  reasoning: { effort: 'low' },
  metadata: { a: 'b' },
  include: [],
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'hi' },
        { type: 'input_image', image_url: picture }
      ]
    },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'x' },
    { type: 'reasoning', summary: [] }
  ]
}

const message = {
  model,
  max_tokens: 50,
  stream: false,
  system: [{ type: 'text', text: 's' }],
  stop_sequences: ['x'],
  tools: [
    { name: 'f', input_schema: schema },
    { type: 'web_search_20250305', name: 'web_search' }
  ],
  tool_choice: { type: 'auto' },
  thinking: { type: 'enabled', budget_tokens: 2000 },
  metadata: { user_id: 'x' },
  output_config: { format: { type: 'json_schema', schema }, effort: 'low' },
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
      ]
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't', signature: 's' },
        { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 'b' } }
      ]
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'r' }] }]
    }
  ]
}

const content = {
  systemInstruction: { parts: [{ text: 's' }] },
  generationConfig: {
    temperature: 0.5,
    maxOutputTokens: 5,
    stopSequences: ['x'],
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } },
    thinkingConfig: { thinkingBudget: 0 }
  },
  tools: [
    { functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT', properties: {} } }] },
    { googleSearch: {} }
  ],
  toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
  safetySettings: [],
  contents: [
    { role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: 'aGk=' } }] },
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] }
  ]
}

/** The operations of all families, with a valid body each. */
export const wholeBodies: ReadonlyArray<readonly [family: Family, path: string, body: object]> = [
  ['completions', '/v1/chat/completions', chat],
  ['completions', '/v2/chat/completions', { ...chat, stream: true }],
  [
    'completions',
    '/v1/embeddings',
    { model: 'Embeddings', input: ['a', 'b'], encoding_format: 'float', dimensions: 3 }
  ],
  ['responses', '/v1/responses', { ...response, stream: true }],
  ['responses', '/v2/responses', response],
  ['messages', '/v1/messages', message],
  ['messages', '/v2/messages', { ...message, stream: true }],
  ['messages', '/v1/messages/count_tokens', message],
  ['content', `/v1beta/models/${model}:generateContent`, content],
  ['content', `/v2/models/${model}:streamGenerateContent?alt=sse`, content],
  ['content', `/v1beta/models/${model}:streamGenerateContent?alt=json`, content],
  ['content', `/v1beta/models/${model}:countTokens`, { contents: content.contents, generateContentRequest: content }],
  ['content', '/v1beta/models/Embeddings:batchEmbedContents', { requests: [{ content: { parts: [{ text: 'a' }] } }] }]
]
