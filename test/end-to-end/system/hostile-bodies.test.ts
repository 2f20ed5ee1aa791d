// For every body the client gets a response or an error in its family's form, and the gateway keeps running.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { oddVersionsOf } from './odd-documents.ts'
import { type Family, model, readError } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })

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

const targets: Array<[family: Family, path: string, body: object]> = [
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

for (const [family, path, body] of targets) {
  t.test(`${path}: no body makes a worker exit, and every error has the form of its family`, async t => {
    await fc.assert(
      fc.asyncProperty(oddVersionsOf(body), async odd => {
        const response = await post(gateway.url + path, odd)
        if (response.status === 200) return
        if (response.status >= 500) throw new Error(`${response.status} ${response.text}`)
        readError(family, response)
      }),
      { numRuns: 60 }
    )
    t.equal((await get(`${gateway.url}/health`)).status, 200)
  })
}

t.test('a model name that is too long is refused with its field and appears in no log line', async t => {
  const long = 'm'.repeat(1025)
  for (const [family, path, body] of targets) {
    if (!('model' in body)) continue
    const response = await post(gateway.url + path, { ...body, model: long })
    t.equal(response.status, 400, path)
    t.match(readError(family, response).message, /model.*must have at most 1024 characters\./, path)
  }
  t.notMatch(readFileSync(join(gateway.folder, 'gateway.log'), 'utf8'), long)
})
