// A conversation that is summarized on one provider kind goes on upon every other (memory.md 5; decisions.md 91).

import t from 'tap'
import { post, readFrames } from '../../support/client.ts'
import type { Loose } from './families.ts'
import { providers, responses, startBridge } from './providers/index.ts'

const bridge = await startBridge(t)
const { gateway } = bridge
const ask = (body: object) => post(`${gateway.url}/v1/responses`, body)

const history = [
  { role: 'user', content: 'My name is Ada.' },
  { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' },
  { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
  { type: 'compaction_trigger' }
]
const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }]

/** The embedded upstream repeats the question: that text is the summary. */
const SUMMARY = /replaced by the following summary of it.{0,8}You wrote/

/** A summary of each provider whose conversations the gateway summarizes. */
const items = new Map<string, Loose>()

for (const provider of providers.filter(one => one !== responses)) {
  t.test(`memory 18: ${provider.name} summarizes a conversation with calls, whole and streamed`, async t => {
    const model = provider.aliases.keyed
    for (const stream of [false, true]) {
      const answer = await ask({ model, input: history, tools, tool_choice: 'required', stream })
      t.equal(answer.status, 200, answer.text)
      const response = stream ? readFrames(answer.text).at(-1).response : answer.json
      t.match(response, {
        status: 'completed',
        output: [{ type: 'compaction', encrypted_content: /^gateway-summary:/ }]
      })
      t.notMatch(answer.text, 'You wrote')
      items.set(provider.name, response.output[0])
    }
    const sent = JSON.stringify(bridge.received(provider, 'keyed').at(-1)?.body)
    t.match(sent, 'Summarize the conversation')
    t.match(sent, 'weather')
  })
}

for (const provider of providers) {
  t.test(`memory 18: ${provider.name} reads what any provider has summarized, as a message`, async t => {
    for (const [name, item] of items) {
      const input = [item, { role: 'user', content: 'Who am I? [[text:Ada]]' }]
      const answer = await ask({ model: provider.aliases.keyed, input })
      t.equal(answer.status, 200, answer.text)
      const sent = JSON.stringify(bridge.received(provider, 'keyed').at(-1)?.body)
      t.match(sent, SUMMARY, name)
      t.notMatch(sent, 'gateway-summary:')
    }
  })
}

t.test('memory 18: an item that was altered is 400 with its path, on every wire', async t => {
  for (const provider of providers) {
    const [item] = items.values()
    const altered = { ...item, encrypted_content: item.encrypted_content.replace(/.{6}$/, 'AAAAAA') }
    const answer = await ask({ model: provider.aliases.keyed, input: [{ role: 'user', content: 'a' }, altered] })
    t.equal(answer.status, 400, provider.name)
    t.match(answer.json, { error: { code: 'invalid_request', param: 'input[1].encrypted_content' } }, provider.name)
  }
})
