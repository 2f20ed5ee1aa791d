import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { lastReceived, received } from '../../support/upstream.ts'

const model = 'GigaChat-2'
const { emulator, gateway } = await startSharedGateway()
const client = new Anthropic({ baseURL: gateway.url, apiKey: 'unused', maxRetries: 0 })
const version = { 'anthropic-version': '2023-06-01' }

function count(body: object, prefix = '/v1') {
  // The beta client of some SDKs adds this query.
  return post(`${gateway.url}${prefix}/messages/count_tokens?beta=true`, { model, ...body })
}

t.test('messages 68: counting sends system, tools and schema in one upstream call (D4)', async t => {
  const body = {
    system: [{ type: 'text', text: 'sys' }],
    messages: [
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'not counted', signature: 'x' },
          { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { a: 1 } }
        ]
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] }
    ],
    tools: [{ name: 'get_time', description: 'The time', input_schema: { type: 'object' } }],
    output_config: { format: { type: 'json_schema', schema: { type: 'string' } } },
    temperature: 0.5,
    tenant: 'not counted'
  }
  for (const prefix of ['', '/v1', '/v2']) {
    const before = received(emulator, '/tokens/count').length
    const response = await count(body, prefix)
    t.equal(response.status, 200)
    t.equal(received(emulator, '/tokens/count').length, before + 1)
    const { path, query, body: sent } = lastReceived(emulator, '/tokens/count')
    t.equal(path, '/api/v1/tokens/count')
    t.equal(query, '')
    t.strictSame(Object.keys(sent as object), ['model', 'input'])
    const { input } = sent as { input: string[] }
    const words = input.join('\n').replaceAll(' ', '')
    for (const text of ['sys', 'hello', 'get_weather', '{"a":1}', '{"result":"ok"}', 'get_time', '{"type":"object"}']) {
      t.ok(words.includes(text), text)
    }
    t.ok(words.includes('{"type":"string"}'), 'the schema of the output')
    t.notMatch(words, /notcounted/)
    const upstream = await post(`${emulator.baseUrl}/tokens/count`, sent as object, {
      authorization: lastReceived(emulator, '/tokens/count').headers.authorization ?? ''
    })
    const sum = upstream.json.reduce((total: number, { tokens }: { tokens: number }) => total + tokens, 0)
    t.strictSame(response.json, { input_tokens: sum })
  }
})

t.test('messages 69: counting nothing is zero without an upstream call', async t => {
  const before = received(emulator, '/tokens/count').length
  for (const messages of [[], [{ role: 'user', content: '' }], [{ role: 'user', content: [] }]]) {
    const response = await count({ messages })
    t.equal(response.status, 200)
    t.strictSame(response.json, { input_tokens: 0 })
  }
  t.equal(received(emulator, '/tokens/count').length, before)
})

t.test('messages 70: paging through the models returns each exactly once, from one discovery', async t => {
  emulator.reset()
  const all = (await get(`${gateway.url}/v1/models?limit=1000`, version)).json
  t.equal(all.has_more, false)
  const expected = all.data.map(({ id }: { id: string }) => id)
  t.ok(expected.length > 4)
  const ids: string[] = []
  for await (const one of client.models.list({ limit: 1 })) ids.push(one.id)
  t.strictSame(ids, expected)
  t.ok(received(emulator, '/models').length <= 1)

  t.comment('and backwards')
  const backwards: string[] = []
  let page = await client.models.list({ before_id: ids.at(-1) ?? '', limit: 4 })
  for (;;) {
    backwards.unshift(...page.data.map(({ id }) => id))
    if (!page.has_more) break
    page = await client.models.list({ before_id: page.first_id ?? '', limit: 4 })
  }
  t.strictSame(backwards, ids.slice(0, -1))
  t.match(all.data[0], {
    id: String,
    type: 'model',
    display_name: ids[0],
    created_at: /^\d{4}-\d\d-\d\dT/,
    capabilities: null,
    deprecated_at: null,
    lifecycle: 'active',
    max_input_tokens: null,
    max_tokens: null,
    retires_at: null
  })
  const unknown = await get(`${gateway.url}/v1/models?after_id=nope`, version)
  t.equal(unknown.status, 400)
  t.match(unknown.json, { type: 'error', error: { type: 'invalid_request_error' } })
})

t.test(
  'messages 71: the headers of the messages family have priority over those of another family in model lists',
  async t => {
    for (const headers of [
      version,
      { 'anthropic-beta': 'x' },
      { 'user-agent': 'Anthropic/JS 1.11.0' },
      { ...version, 'x-goog-api-client': 'google-genai-sdk/2.32.0 gl-node/v24' }
    ]) {
      for (const path of ['/models', '/v1/models', '/v2/models']) {
        const { json } = await get(gateway.url + path, headers)
        t.match(json, { data: [{ type: 'model' }], has_more: Boolean, first_id: String, last_id: String })
        t.notOk('models' in json || 'object' in json)
      }
    }
  }
)

t.test('messages 72: an unknown model is not found, a known one is', async t => {
  t.match(await client.models.retrieve(model), { id: model, type: 'model' })
  for (const id of ['nope', 'team/large']) {
    const error = await catchError(() => client.models.retrieve(id))
    t.ok(error instanceof Anthropic.NotFoundError, id)
    t.match(error, { status: 404, error: { type: 'error', error: { type: 'not_found_error' } } })
  }
})
