import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import {
  readCountTokensRequest,
  writeCountTokens
} from '../../../../../worker/protocols/messages/client/count-tokens.ts'
import { failure, requestId } from './support.ts'

const read = (body: JsonObject) => readCountTokensRequest(body, { requestId })
const textsOf = (body: JsonObject) => read({ messages: [], ...body }).texts

t.test('system, messages, tools and schema count, in this order (D5)', async t => {
  const { request, texts } = read({
    model: 'claude-x',
    system: [
      { type: 'text', text: 'sys' },
      { type: 'text', text: 'tem' }
    ],
    messages: [
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'text', text: 'let me' },
          { type: 'tool_use', id: 'i', name: 'get_weather', input: { a: 1 } }
        ]
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'thanks' },
          { type: 'tool_result', tool_use_id: 'i', content: 'ok' }
        ]
      }
    ],
    tools: [
      { name: 'get_time', input_schema: { type: 'object' } },
      { name: 'get_weather', description: 'Weather', input_schema: { type: 'object' } },
      { name: 'get_time', input_schema: {} },
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'bash_20250124', name: 'bash' }
    ],
    output_config: { format: { type: 'json_schema', name: 'answer', schema: { type: 'string' } } }
  })
  t.equal(request.model, 'claude-x')
  t.strictSame(texts, [
    'sys\ntem',
    'hello',
    'let me',
    'get_weather',
    '{"a":1}',
    '{"result":"ok"}',
    'thanks',
    'get_time {"type":"object"}',
    'get_weather Weather {"type":"object"}',
    'answer {"type":"string"}'
  ])
  t.strictSame(writeCountTokens(10), { input_tokens: 10 })
})

t.test('a request without counted texts counts zero tokens', async t => {
  t.strictSame(textsOf({}), [])
  t.strictSame(textsOf({ system: '', messages: [{ role: 'user', content: '' }] }), [])
  t.strictSame(writeCountTokens(0), { input_tokens: 0 })
})

t.test('images, files and data URLs are not counted (D8), documents of text are', async t => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(4000) } }
  const file = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'A'.repeat(4000) } }
  t.strictSame(textsOf({ messages: [{ role: 'user', content: [image, file] }] }), [])
  const document = { type: 'document', source: { type: 'text', data: 'long text' } }
  t.strictSame(textsOf({ messages: [{ role: 'user', content: [document] }] }), ['long text'])
})

t.test('a tool result counts as the object that the upstream gets, also when the tool failed', async t => {
  const resultOf = (result: JsonObject) =>
    textsOf({ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'i', ...result }] }] })
  t.strictSame(resultOf({ content: '{"a": 1}' }), ['{"a": 1}'])
  t.strictSame(resultOf({ content: 'boom', is_error: true }), ['{"error":"boom","is_error":true}'])
})

t.test('tools are not counted when the tool choice is none', async t => {
  t.strictSame(textsOf({ tools: [{ name: 'f', input_schema: {} }], tool_choice: { type: 'none' } }), [])
})

t.test('an incomplete conversation can be counted, a malformed one is refused', async t => {
  const call = { type: 'tool_use', id: 'i', name: 'f', input: {} }
  t.strictSame(textsOf({ messages: [{ role: 'assistant', content: [call] }] }), ['f', '{}'])
  t.equal(failure(() => read({})).param, 'messages')
  t.equal(failure(() => read({ messages: [{ role: 'critic', content: 'x' }] })).param, 'messages[0].role')
  t.equal(failure(() => read({ messages: [], extra_body: 'x' })).param, 'extra_body')
})

t.test('only the parameters that select the model are read, all others have no effect', async t => {
  const { request } = read({
    model: ' ',
    messages: [],
    extra_body: { storage: { thread_id: 't' } },
    thinking: { type: 'enabled' },
    context_management: {},
    extra_headers: { 'x-a': '1' }
  })
  t.notOk('model' in request)
  t.strictSame(request.additionalFields, { storage: { thread_id: 't' } })
  t.strictSame(request.ignored, { thinking: { type: 'enabled' }, context_management: {} })
  t.strictSame(request.extraHeaders, { 'x-a': '1' })
  t.equal(request.isStream, false)
})
