// Responses with memory on every route: stored, continued by their ids, on native and on every kind of provider (memory.md 2 and 3).

import t from 'tap'
import { post } from '../../support/client.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { NATIVE_ALIAS, providers, responses, startBridge } from '../bridge/providers/index.ts'
import { createReader, findRecord } from './memory-support.ts'

const store = await openTemporaryStore(t)
const bridge = await startBridge(t, { memory: store })
const { gateway } = bridge
const { ask, textOf } = createReader(gateway)

const STORED_ID = /^resp_[A-Za-z0-9_-]{32}$/
const routes = [
  { name: 'native v1', version: 'v1', model: NATIVE_ALIAS },
  { name: 'native v2', version: 'v2', model: NATIVE_ALIAS },
  ...providers
    .filter(provider => provider !== responses)
    .map(({ name, aliases }) => ({ name, version: 'v1', model: aliases.keyed }))
] as const

for (const { name, version, model } of routes) {
  for (const stream of [false, true]) {
    const way = stream ? 'streamed' : 'whole'
    t.test(`memory 1, 3: a response is stored and continued, twice, on ${name}, ${way}`, async t => {
      const first = await ask(version, { model, input: 'my name is Ada', stream })
      t.match(first, { id: STORED_ID, store: true, status: 'completed', previous_response_id: null })
      for (const input of ['[[recall]]', [{ role: 'user', content: '[[recall]]' }]]) {
        const next = await ask(version, { model, input, stream, previous_response_id: first.id })
        t.match(textOf(next), /my name is Ada/)
        t.match(next, { id: STORED_ID, store: true, previous_response_id: first.id })
        t.not(next.id, first.id)
        const third = await ask(version, { model, input: '[[recall]]', stream, previous_response_id: next.id })
        t.match(textOf(third), /my name is Ada/)
      }
    })
  }
}

t.test('memory 1: a chain leads through aliases of every kind', async t => {
  let previous: string | undefined
  const words = routes.map((_route, index) => `word-${index}`)
  for (const [index, { version, model }] of routes.entries()) {
    const response = await ask(version, { model, input: words[index], previous_response_id: previous })
    previous = response.id
  }
  for (const { name, version, model } of routes) {
    const response = await ask(version, { model, input: '[[recall]]', previous_response_id: previous })
    for (const word of words) t.match(textOf(response), word, `${name} knows ${word}`)
  }
})

t.test('memory 2: store decides: absent and true are stored, false is not and cannot be continued', async t => {
  const model = NATIVE_ALIAS
  for (const more of [{}, { store: true }, { store: null }]) {
    const { store: isStored, id } = await ask('v2', { model, input: 'x', ...more })
    t.equal(isStored, true)
    t.equal((await ask('v1', { model, input: 'x', previous_response_id: id })).previous_response_id, id)
  }
  const { responses: count } = await store.totals()
  const unstored = await ask('v1', { model, input: 'x', store: false })
  t.equal(unstored.store, false)
  t.equal((await store.totals()).responses, count)
  const first = await ask('v1', { model, input: 'my name is Ada' })
  const last = await ask('v1', { model, input: '[[recall]]', store: false, previous_response_id: first.id })
  t.match(textOf(last), /my name is Ada/)
  t.match(last, { store: false, previous_response_id: first.id })
  for (const id of [unstored.id, last.id]) {
    const refused = await post(`${gateway.url}/v1/responses`, { model, input: 'x', previous_response_id: id })
    t.equal(refused.status, 404)
    t.match(refused.json.error, { code: 'previous_response_not_found', param: 'previous_response_id' })
  }
})

t.test('the id stays the same in every event, and the record is there before the terminal one', async t => {
  const response = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: NATIVE_ALIAS, input: 'x', stream: true })
  })
  const text = await response.text()
  const ids = new Set([...text.matchAll(/"id":"(resp_[^"]+)"/g)].map(([, id]) => id))
  t.equal(ids.size, 1)
  const record = await findRecord(store, [...ids][0])
  t.equal(record.lastSequenceNumber, (text.match(/^event: /gm)?.length ?? 0) - 1)
  t.match(record.body, { id: record.id, status: 'completed', store: true, output: [] })
  t.match(record.input, [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }])
  t.match(record.output, [{ type: 'message', status: 'completed' }])
})
