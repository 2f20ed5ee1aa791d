// Turns of a conversation on every route (memory.md 3).

import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createConversationId } from '../../../worker/memory/new-ids.ts'
import { post } from '../../support/client.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { NATIVE_ALIAS, providers, responses, startBridge } from '../bridge/providers/index.ts'
import { createReader, type Loose } from './memory-support.ts'

const store = await openTemporaryStore(t)
const bridge = await startBridge(t, { memory: store })
const { gateway } = bridge
const { ask, textOf } = createReader(gateway)
const owner = { name: '' }

async function create(body: object = {}): Promise<string> {
  return (await post(`${gateway.url}/v1/conversations`, body)).json.id
}

async function listTexts(id: string): Promise<string[]> {
  const answer = await fetch(`${gateway.url}/v1/conversations/${id}/items?order=asc&limit=100`)
  const { data } = (await answer.json()) as Loose
  return data.map(({ role, content }: Loose) => `${role}: ${content[0].text}`)
}

const routes = [
  { name: 'native v1', version: 'v1', model: NATIVE_ALIAS },
  { name: 'native v2', version: 'v2', model: NATIVE_ALIAS },
  ...providers
    .filter(provider => provider !== responses)
    .map(({ name, aliases }) => ({ name, version: 'v1', model: aliases.keyed }))
] as const

for (const { name, version, model } of routes) {
  t.test(`memory 6: the turns of a conversation know each other on ${name}, whole and streamed`, async t => {
    const id = await create({ items: [{ role: 'user', content: 'my name is Ada' }] })
    const first = await ask(version, { model, input: 'I live in Omsk', conversation: id })
    t.match(first, { conversation: { id }, previous_response_id: null, store: true })
    const second = await ask(version, { model, input: '[[recall]]', conversation: { id }, stream: true })
    t.match(textOf(second), /my name is Ada/)
    t.match(textOf(second), /I live in Omsk/)
    t.match(second.conversation, { id })
    t.strictSame(await listTexts(id), [
      'user: my name is Ada',
      'user: I live in Omsk',
      `assistant: ${textOf(first)}`,
      'user: [[recall]]',
      `assistant: ${textOf(second)}`
    ])
  })
}

const model = NATIVE_ALIAS

t.test('memory 6: a turn waits until the one before it has ended', async t => {
  const id = await create()
  t.equal(await store.acquireConversation({ owner, id, holder: 'another turn', leaseMs: 60_000 }), 'acquired')
  const before = bridge.receivedNatively().length
  const turn = ask('v1', { model, input: 'second', conversation: id })
  await wait(150)
  t.equal(bridge.receivedNatively().length, before, 'the provider has not been asked')
  await store.releaseConversation({ owner, id, holder: 'another turn' })
  t.match(await turn, { status: 'completed', conversation: { id } })
})

t.test('memory 6: turns that come at the same time follow each other', async t => {
  const id = await create()
  const words = ['one', 'two', 'three']
  await Promise.all(words.map(input => ask('v1', { model, input, conversation: id })))
  const texts = await listTexts(id)
  t.equal(texts.length, 6)
  t.strictSame(texts.filter(text => text.startsWith('user: ')).sort(), words.map(word => `user: ${word}`).sort())
  for (const [index, text] of texts.entries()) t.match(text, index % 2 === 0 ? /^user: / : /^assistant: /)
})

t.test('memory 6: a response and a conversation together, and one that is not stored, are refused', async t => {
  const id = await create()
  const { id: responseId } = await ask('v1', { model, input: 'x' })
  const both = { model, input: 'x', conversation: id, previous_response_id: responseId }
  t.match(await post(`${gateway.url}/v1/responses`, both), { status: 400, json: { error: { param: 'conversation' } } })
  for (const unknown of [createConversationId(), 'conv_1']) {
    const refused = await post(`${gateway.url}/v1/responses`, { model, input: 'x', conversation: unknown })
    t.match(refused, {
      status: 404,
      json: { error: { param: 'conversation', message: `Conversation with id '${unknown}' not found.` } }
    })
  }
})

t.test('memory 6: a turn that failed, and one that is not stored, add nothing', async t => {
  const id = await create()
  const failed = await post(`${gateway.url}/v1/responses`, { model: 'unknown/model', input: 'x', conversation: id })
  t.equal(failed.status, 404)
  t.strictSame(await listTexts(id), [])
  t.match(await ask('v1', { model, input: 'y', conversation: id, store: false }), { store: false })
  t.strictSame(await listTexts(id), [])
  t.match(await ask('v1', { model, input: 'z', conversation: id }), { status: 'completed' }, 'nothing holds it')
})

t.test('memory 6: the items that a client adds and deletes count for the next turn', async t => {
  const said = (content: string) => ({ role: 'user', content })
  const id = await create({ items: [{ ...said('my name is Bob'), id: 'msg_gone' }] })
  await fetch(`${gateway.url}/v1/conversations/${id}/items/msg_gone`, { method: 'DELETE' })
  const items = [said('my name is Ada'), { role: 'assistant', content: 'Hello Ada' }]
  await post(`${gateway.url}/v1/conversations/${id}/items`, { items })
  const turn = await ask('v2', { model, input: '[[recall]]', conversation: id })
  t.match(textOf(turn), /my name is Ada/)
  t.notMatch(textOf(turn), /Bob/)
})
