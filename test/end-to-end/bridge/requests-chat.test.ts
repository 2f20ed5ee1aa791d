// What is particular to requests on the wire of chat completions.

import t from 'tap'
import { post, readFrames } from '../../support/client.ts'
import type { Loose } from './families.ts'
import { chat, startBridge } from './providers/index.ts'

const { gateway, received } = await startBridge(t)
const { url } = gateway
const model = chat.aliases.keyed

function lastBody(): Loose {
  return received(chat, 'keyed').at(-1)?.body
}

t.test('bridge 69: embeddings of an alias are executed at its provider', async t => {
  for (const path of ['/v1/embeddings', '/v2/embeddings', '/embeddings']) {
    const before = received(chat, 'keyed').length
    const response = await post(`${url}${path}`, { model, input: ['a', 'b'] })
    t.equal(response.status, 200, response.text)
    t.equal(response.json.model, model)
    t.equal(response.json.data.length, 2)
    const sent = received(chat, 'keyed').slice(before)
    t.equal(sent.length, 1)
    t.match(sent[0], {
      path: '/openai/chat-keyed/v1/embeddings',
      body: { model: chat.models.keyed, input: ['a', 'b'], encoding_format: 'float' }
    })
  }
})

t.test('bridge 83: a tool round trip of messages has text arguments and one call id', async t => {
  const tools = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }]
  const history: object[] = [{ role: 'user', content: '[[tool:weather {"city":"Oslo"}]]' }]
  const request = { model, max_tokens: 100, tools, messages: history }
  const first = await post(`${url}/v1/messages`, request)
  const use = first.json.content.find((block: Loose) => block.type === 'tool_use')
  t.strictSame(use.input, { city: 'Oslo' })
  history.push(
    { role: 'assistant', content: first.json.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'cold' }] }
  )
  const second = await post(`${url}/v1/messages`, request)
  t.equal(second.status, 200, second.text)
  const [, call, result] = lastBody().messages
  t.match(call, {
    role: 'assistant',
    content: null,
    tool_calls: [{ type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }]
  })
  t.equal(call.tool_calls[0].id, use.id)
  t.match(result, { role: 'tool', tool_call_id: use.id, content: 'cold' })
})

t.test('bridge 80: a call of a namespace comes back with its name and namespace, whole and streamed', async t => {
  const parameters = { type: 'object', properties: { q: { type: 'string' } } }
  const tools = [{ type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'fn', parameters }] }]
  const body = { model, input: '[[tool:ns__fn {"q":"x"}]]', tools }
  const isCall = ({ type }: Loose) => type === 'function_call'
  const expected = { name: 'fn', namespace: 'ns', arguments: '{"q":"x"}' }
  const whole = await post(`${url}/v1/responses`, body)
  t.match(whole.json.output.filter(isCall), [expected])
  t.match(lastBody().tools, [{ type: 'function', function: { name: 'ns__fn', parameters } }])
  const { text } = await post(`${url}/v1/responses`, { ...body, stream: true })
  t.match(lastBody().tools, [{ type: 'function', function: { name: 'ns__fn', parameters } }])
  const events = readFrames(text)
  const items = events.filter(({ type, item }) => type === 'response.output_item.done' && isCall(item))
  t.match(items, [{ item: expected }])
  t.match(events.at(-1).response.output.filter(isCall), [expected])
  t.notMatch(text, 'ns__fn')
})
