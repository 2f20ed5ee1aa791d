// The operations on conversations, with the official SDK and a store in a file.

import OpenAI from 'openai'
import t from 'tap'
import { createConversationId } from '../../../worker/memory/new-ids.ts'
import { catchError } from '../../support/errors.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { keys, startStoringGateway } from './stored-support.ts'

const gateway = await startStoringGateway(t)
const { url } = gateway
const client = gateway.client('first', '/v1')
const other = gateway.client('second', '/v1')

const texts = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ role: 'user' as const, content: `text ${from + index}` }))

t.test('memory 6: a conversation is created, read, changed and deleted, under every prefix', async t => {
  for (const prefix of ['', '/v1', '/v2']) {
    const sdk = gateway.client('first', prefix)
    const created = await sdk.conversations.create({ metadata: { topic: 'demo' }, items: texts(0, 2) })
    t.match(created, {
      id: /^conv_[\w-]{32}$/,
      object: 'conversation',
      created_at: Number,
      metadata: { topic: 'demo' }
    })
    t.strictSame(await sdk.conversations.retrieve(created.id), created)
    const updated = await sdk.conversations.update(created.id, { metadata: { topic: 'other' } })
    t.strictSame(updated, { ...created, metadata: { topic: 'other' } })
    t.strictSame((await sdk.conversations.update(created.id, { metadata: null })).metadata, {})
    t.equal((await sdk.conversations.items.list(created.id)).data.length, 2)
    t.strictSame(await sdk.conversations.delete(created.id), {
      id: created.id,
      object: 'conversation.deleted',
      deleted: true
    })
    for (const call of callsOf(sdk, created.id, 'msg_1')) t.match(await catchError(call), { status: 404 })
  }
  t.match(await client.conversations.create(), { metadata: {} }, 'without a body')
})

t.test('memory 6: items are added, read and deleted one by one', async t => {
  const { id } = await client.conversations.create({})
  const call = { type: 'function_call' as const, id: 'fc_own', call_id: 'c', name: 'f', arguments: '{"n": 1}' }
  const output = { type: 'function_call_output' as const, call_id: 'c', output: 'done' }
  const added = await client.conversations.items.create(id, { items: [...texts(0, 1), call, output] })
  t.match(added, { object: 'list', has_more: false, first_id: /^msg_/, last_id: /^fco_/ })
  const [message] = added.data
  t.match(message, {
    type: 'message',
    role: 'user',
    status: 'completed',
    content: [{ type: 'input_text', text: 'text 0' }]
  })
  t.match(added.data[1], { ...call, status: 'completed' })
  const place = { conversation_id: id }
  for (const item of added.data) {
    t.strictSame(await client.conversations.items.retrieve(item.id ?? '', { ...place, include: [] }), item)
  }
  t.match(await client.conversations.items.delete('fc_own', place), { id, object: 'conversation' })
  t.match(await catchError(() => client.conversations.items.retrieve('fc_own', place)), {
    status: 404,
    message: /Item with id 'fc_own' not found/
  })
  t.match(await catchError(() => client.conversations.items.delete('fc_own', place)), { status: 404 })
  const left = await client.conversations.items.list(id, { order: 'asc' })
  t.strictSame(left.data, [added.data[0], added.data[2]])
})

t.test('memory 6: items are listed in pages, in both orders', async t => {
  const { id } = await client.conversations.create({ items: texts(0, 20) })
  await client.conversations.items.create(id, { items: texts(20, 20) })
  await client.conversations.items.create(id, { items: texts(40, 5) })
  const expected = texts(0, 45).map(({ content }) => content)
  for (const order of ['asc', 'desc'] as const) {
    const seen: unknown[] = []
    for await (const item of client.conversations.items.list(id, { order, limit: 7 })) seen.push(textOf(item))
    t.strictSame(seen, order === 'asc' ? expected : expected.toReversed(), order)
  }
  const newest = await client.conversations.items.list(id)
  t.strictSame(newest.data.map(textOf), expected.toReversed().slice(0, 20), 'the newest 20 without a wish')
  t.equal(newest.has_more, true)
  const { data } = await client.conversations.items.list(id, { order: 'asc', limit: 100, after: newest.last_id })
  t.strictSame(data.map(textOf), expected.slice(26))
})

t.test('memory 6: a body that no conversation could hold is refused with its place', async t => {
  const { id } = await client.conversations.create({})
  const [user] = texts(0, 1)
  for (const [path, body, param] of [
    ['', { metadata: { k: 7 } }, 'metadata.k'],
    ['', { metadata: { k: 'v'.repeat(513) } }, 'metadata.k'],
    ['', { items: texts(0, 21) }, 'items'],
    [`/${id}`, {}, 'metadata'],
    [`/${id}/items`, {}, 'items'],
    [`/${id}/items`, { items: [user, { type: 'item_reference', id: 'msg_1' }] }, 'items[1].type'],
    [`/${id}/items`, { items: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'items[0].content[0].text']
  ] as const) {
    const { status, json } = await send('POST', `/v1/conversations${path}`, JSON.stringify(body))
    t.equal(status, 400, param)
    t.match(json, { error: { type: 'invalid_request_error', code: 'invalid_request', param } }, param)
  }
  t.match(await send('POST', '/conversations', '{'), { status: 400, json: { error: { code: 'invalid_json' } } })
  t.match(await send('POST', `/conversations/${id}/items`, ''), {
    status: 400,
    json: { error: { code: 'invalid_json' } }
  })
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['order=up', 'order'],
    ['after=msg_unknown', 'after'],
    ['before=a', 'before']
  ] as const) {
    t.match(
      await send('GET', `/conversations/${id}/items?${query}`),
      { status: 400, json: { error: { param } } },
      query
    )
  }
  t.equal((await client.conversations.items.list(id)).data.length, 0)
})

t.test('memory 6: an item too large for the store is refused', async t => {
  const { openTemporaryStore } = await import('../../support/response-store.ts')
  const store = await openTemporaryStore(t, { maxBytes: 1000 })
  const small = (await startStoringGateway(t, { store })).client('first')
  const items = [{ role: 'user' as const, content: 'x'.repeat(2000) }]
  t.match(await catchError(() => small.conversations.create({ items })), {
    status: 413,
    code: 'request_entity_too_large'
  })
  const { id } = await small.conversations.create({})
  t.match(await catchError(() => small.conversations.items.create(id, { items })), { status: 413 })
})

t.test('memory 6: the same through the process of the store', async t => {
  const { emulatorVariables, startEmulator, startGateway } = await import('../../support/in-process-gateway.ts')
  const emulator = await startEmulator(t)
  const dsn = `sqlite:${createTemporaryFolder(t)}/responses.sqlite`
  const env = { ...emulatorVariables(emulator), GATEWAY_RESPONSES_STORE_DSN: dsn }
  const served = await startGateway(t, { env })
  const sdk = new OpenAI({ baseURL: `${served.url}/v2`, apiKey: 'none', maxRetries: 0 })
  const { id } = await sdk.conversations.create({ items: texts(0, 3), metadata: { topic: 'demo' } })
  const turn = await sdk.responses.create({ model: 'GigaChat-2', conversation: id, input: '[[text:Hello]]' })
  const { data } = await sdk.conversations.items.list(id, { order: 'asc' })
  t.match(data.map(textOf), ['text 0', 'text 1', 'text 2', '[[text:Hello]]', 'Hello'])
  const [, second] = data
  const place = { conversation_id: id }
  t.strictSame(await sdk.conversations.items.retrieve(second?.id ?? '', place), second)
  await sdk.conversations.items.delete(second?.id ?? '', place)
  const rest = await sdk.conversations.items.list(id, { order: 'asc', limit: 1, after: data[0]?.id ?? '' })
  t.match(rest, { data: [{ id: data[2]?.id }], has_more: true })
  t.match(await sdk.conversations.update(id, { metadata: { a: 'b' } }), { id, metadata: { a: 'b' } })
  t.match(await sdk.responses.retrieve(turn.id), { id: turn.id, output_text: 'Hello', conversation: { id } })
  const types = []
  for await (const { type } of await sdk.responses.retrieve(turn.id, { stream: true })) types.push(type)
  t.equal(types.at(-1), 'response.completed')
  t.match(await catchError(() => sdk.conversations.items.list(id, { after: 'msg_unknown' })), { status: 400 })
  await sdk.conversations.delete(id)
  t.match(await catchError(() => sdk.conversations.retrieve(id)), { status: 404 })
})

t.test('memory 8: another key gets the same answer as for what does not exist', async t => {
  const { id } = await client.conversations.create({ items: texts(0, 1) })
  const { data } = await client.conversations.items.list(id)
  const itemId = data[0]?.id ?? ''
  const unknown = createConversationId()
  for (const [index, call] of callsOf(other, id, itemId).entries()) {
    const error = await catchError(call)
    t.ok(error instanceof OpenAI.NotFoundError)
    t.match(error, { status: 404, type: 'invalid_request_error', code: null, param: null })
    const missing = await catchError(callsOf(client, unknown, itemId)[index] ?? call)
    t.equal(String((error as Error).message).replace(id, ''), String((missing as Error).message).replace(unknown, ''))
  }
  t.equal((await client.conversations.items.list(id)).data.length, 1, 'nothing of it changed')
  const own = await other.conversations.create({})
  const place = { conversation_id: own.id }
  t.match(await catchError(() => other.conversations.items.retrieve(itemId, place)), { status: 404 })
})

t.test('memory 8: an id of another form does not exist', async t => {
  for (const id of ['conv_1', 'thread_1', createConversationId().slice(1)]) {
    for (const call of callsOf(client, id, 'msg_1')) {
      t.match(await catchError(call), { status: 404, message: /Conversation with id '.*' not found/ })
    }
  }
})

/** Every operation on a conversation. */
function callsOf(sdk: OpenAI, id: string, itemId: string): Array<() => Promise<unknown>> {
  const place = { conversation_id: id }
  return [
    async () => sdk.conversations.retrieve(id),
    async () => sdk.conversations.update(id, { metadata: {} }),
    async () => sdk.conversations.items.list(id),
    async () => sdk.conversations.items.create(id, { items: texts(0, 1) }),
    async () => sdk.conversations.items.retrieve(itemId, place),
    async () => sdk.conversations.items.delete(itemId, place),
    async () => sdk.conversations.delete(id)
  ]
}

function textOf(item: object): unknown {
  const { content } = item as { content: Array<{ text: string }> }
  return content[0]?.text
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
async function send(method: string, path: string, body?: string): Promise<{ status: number; json: any }> {
  const init = { method, headers: { 'x-api-key': keys.first }, ...(body === undefined ? {} : { body }) }
  const answer = await fetch(url + path, init)
  return { status: answer.status, json: await answer.json() }
}
