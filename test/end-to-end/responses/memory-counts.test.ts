// Counts of input tokens with memory: what a request continues is counted, and nothing is stored (memory.md 5).

import t from 'tap'
import { type HttpResponse, post } from '../../support/client.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { chat, content, messages, NATIVE_ALIAS, startBridge } from '../bridge/providers/index.ts'
import { createReader } from './memory-support.ts'

const store = await openTemporaryStore(t)
const { gateway } = await startBridge(t, { memory: store })
const { ask } = createReader(gateway)

const count = (body: object): Promise<HttpResponse> => post(`${gateway.url}/v1/responses/input_tokens`, body)

for (const model of [NATIVE_ALIAS, chat.aliases.keyed, messages.aliases.keyed, content.aliases.keyed]) {
  t.test(`memory 18: what a request continues is counted as if it were sent, on ${model}`, async t => {
    const first = await ask('v1', { model, input: 'a first turn with a good number of words', store: true })
    const [answer] = first.output
    const sent = [{ role: 'user', content: 'a first turn with a good number of words' }, ...first.output]
    const own = { role: 'user', content: 'and on' }
    const whole = (await count({ model, input: [...sent, own] })).json.input_tokens
    const alone = (await count({ model, input: 'and on' })).json.input_tokens
    t.ok(whole > alone + 5)
    const { responses } = await store.totals()
    t.match(await count({ model, input: 'and on', previous_response_id: first.id, background: true }), {
      status: 200,
      json: { object: 'response.input_tokens', input_tokens: whole }
    })
    const created = await post(`${gateway.url}/v1/conversations`, { items: sent })
    t.match((await count({ model, input: 'and on', conversation: created.json.id })).json, { input_tokens: whole })
    const referred = await count({ model, input: [sent[0], { type: 'item_reference', id: answer.id }, own] })
    t.match(referred.json, { input_tokens: whole })
    t.equal((await store.totals()).responses, responses)
  })
}

t.test('memory 18: a count that names what is not stored is refused as a response is', async t => {
  const model = chat.aliases.keyed
  const unknown = await count({ model, input: 'x', previous_response_id: `resp_${'a'.repeat(32)}` })
  t.match(unknown, { status: 404, json: { error: { code: 'previous_response_not_found' } } })
  const item = await count({ model, input: [{ type: 'item_reference', id: 'msg_unknown' }] })
  t.match(item, {
    status: 404,
    json: { error: { param: 'input[0].id', message: `Item with id 'msg_unknown' not found.` } }
  })
})

t.test('memory 2: a store that is no boolean is refused, because it may mean that nothing is to be stored', async t => {
  for (const value of ['false', 0, {}]) {
    const refused = await post(`${gateway.url}/v1/responses`, { model: chat.aliases.keyed, input: 'x', store: value })
    t.match(refused, { status: 400, json: { error: { code: 'invalid_request', param: 'store' } } })
  }
  t.match((await ask('v1', { model: chat.aliases.keyed, input: 'x', store: null })).store, true)
})
