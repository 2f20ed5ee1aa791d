// Counts of input tokens on the native upstream and by the official SDK (memory.md 5); the other provider kinds are in
// `test/end-to-end/provider-cases/`.

import OpenAI from 'openai'
import t from 'tap'
import { post } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { lastReceived, received } from '../../support/upstream.ts'

const model = 'GigaChat-2'
const { emulator, gateway } = await startSharedGateway()

t.test('memory 18: the native upstream counts the texts in one call under every prefix', async t => {
  const body = {
    model,
    instructions: 'be brief',
    input: [{ role: 'user', content: 'some words to count' }],
    tools: [{ type: 'function', name: 'get_time', parameters: { type: 'object' } }]
  }
  for (const prefix of ['', '/v1', '/v2']) {
    const before = received(emulator, '/tokens/count').length
    const response = await post(`${gateway.url}${prefix}/responses/input_tokens`, body)
    t.equal(response.status, 200)
    t.equal(received(emulator, '/tokens/count').length, before + 1)
    t.match(lastReceived(emulator, '/tokens/count').body, {
      model,
      input: ['be brief', 'some words to count', 'get_time {"type":"object"}']
    })
    t.equal(response.json.object, 'response.input_tokens')
    t.ok(response.json.input_tokens > 5)
    t.equal(response.headers.get('x-gateway-token-count'), null)
  }
})

t.test('memory 18: the official SDK counts, and nothing to count is 0 without a call', async t => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused', maxRetries: 0 })
  t.match(await client.responses.inputTokens.count({ model, input: 'hello' }), {
    object: 'response.input_tokens',
    input_tokens: Number
  })
  const before = received(emulator, '/tokens/count').length
  t.strictSame(await client.responses.inputTokens.count({ model }), {
    object: 'response.input_tokens',
    input_tokens: 0
  })
  t.equal(received(emulator, '/tokens/count').length, before)
})

t.test('memory 18: errors of a count have the form of the family', async t => {
  const wrong = await post(`${gateway.url}/v1/responses/input_tokens`, { model, input: [{ role: 7 }] })
  t.equal(wrong.status, 400)
  t.match(wrong.json, { error: { code: 'invalid_request', param: 'input[0].role' } })
  const prompt = await post(`${gateway.url}/v1/responses/input_tokens`, { model, input: 'x', prompt: { id: 'p' } })
  t.match(prompt.json, { error: { code: 'unsupported_semantic', param: 'prompt' } })
})
