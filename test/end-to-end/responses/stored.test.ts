// The operations on stored responses, with the official SDK and a store in a file.

import OpenAI from 'openai'
import t from 'tap'
import { type ResponseStore, StoreUnavailable } from '../../../shared/memory/store.ts'
import { createConversationId, createResponseId } from '../../../worker/memory/new-ids.ts'
import { createDescribedResponses } from '../../support/described-response.ts'
import { catchError } from '../../support/errors.ts'
import { createRecord, first, item, keys, message, save, startStoringGateway } from './stored-support.ts'

const gateway = await startStoringGateway(t)
const { store, url } = gateway
const client = gateway.client('first', '/v1')
const other = gateway.client('second', '/v1')

t.test('memory 7: a stored response is read whole, under every prefix', async t => {
  const call = {
    type: 'function_call',
    id: 'fc_1',
    status: 'completed',
    call_id: 'c',
    name: 'f',
    arguments: '{"n": 1}'
  }
  const { id } = await save(store, { output: [item(message('Hello')), item(call)] })
  for (const prefix of ['', '/v1', '/v2']) {
    const response = await gateway
      .client('first', prefix)
      .responses.retrieve(id, { include: ['reasoning.encrypted_content'] })
    t.match(response, { id, object: 'response', status: 'completed', output_text: 'Hello' }, prefix)
    t.strictSame(response.output[1], call)
  }
  const head = await fetch(`${url}/responses/${id}`, { method: 'HEAD', headers: { 'x-api-key': keys.first } })
  t.equal(head.status, 200)
})

t.test('memory 7: a created response is read as it was sent, and its stream gives the same', async t => {
  const tools = [{ type: 'function', name: 'lookup', parameters: { type: 'object' }, strict: null }] as const
  for (const version of ['/v1', '/v2']) {
    const sdk = gateway.client('first', version)
    for (const input of ['[[text:Hello]]', '[[reason:because]][[text:so]]', '[[text:x]][[tool:lookup {"q":1}]]']) {
      const created = await sdk.responses.create({ model: 'GigaChat-2', input, tools: [...tools] })
      t.strictSame(await sdk.responses.retrieve(created.id), created, input)
      const stream = await sdk.responses.create({ model: 'GigaChat-2', input, tools: [...tools], stream: true })
      const live = []
      for await (const event of stream) live.push(event)
      const last = live.at(-1)
      if (last?.type !== 'response.completed') throw new Error(`unexpected end ${last?.type}`)
      const { id } = last.response
      const replayed = []
      for await (const event of await sdk.responses.retrieve(id, { stream: true })) replayed.push(event)
      t.strictSame(replayed.at(-1), last, input)
      t.strictSame(new Set(replayed.map(({ type }) => type)), new Set(live.map(({ type }) => type)), input)
      const { output } = await sdk.responses.stream({ response_id: id }).finalResponse()
      t.strictSame(
        output.map(({ id: itemId, type }) => [itemId, type]),
        last.response.output.map(({ id: itemId, type }) => [itemId, type])
      )
      const items = await sdk.responses.inputItems.list(id)
      t.match(items.data, [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }])
    }
  }
})

t.test('memory 7: a finished response is read as a stream, and from any event on', async t => {
  const { id } = await save(store)
  const whole = await client.responses.retrieve(id)
  const events = []
  for await (const event of await client.responses.retrieve(id, { stream: true })) events.push(event)
  t.strictSame(events.map(({ type }) => type).slice(0, 3), [
    'response.created',
    'response.in_progress',
    'response.output_item.added'
  ])
  t.match(events.at(-1), { type: 'response.completed', sequence_number: 9, response: { id, output: whole.output } })
  const rest = []
  for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 8 })) rest.push(event)
  t.strictSame(rest, events.slice(-1))
  const accumulated = await client.responses.stream({ response_id: id }).finalResponse()
  t.equal(accumulated.output_text, whole.output_text)
})

t.test('memory 7: a running background response is followed to its end', async t => {
  const owned = { owner: first, id: createResponseId() }
  const running = createRecord({
    id: owned.id,
    status: 'in_progress',
    isBackground: true,
    output: [],
    lastSequenceNumber: 0
  })
  await store.saveResponse({ owner: first, record: running, leaseMs: 60_000 })
  const event = (sequenceNumber: number, type: string, members = {}) => ({
    sequenceNumber,
    json: Buffer.from(JSON.stringify({ type, sequence_number: sequenceNumber, ...members }))
  })
  await store.appendEvents({
    ...owned,
    leaseMs: 60_000,
    events: [event(0, 'response.created'), event(1, 'response.in_progress')]
  })
  const stream = await client.responses.retrieve(owned.id, { stream: true, starting_after: 0 })
  const seen: unknown[] = []
  for await (const read of stream) {
    seen.push(read.type)
    if (read.type !== 'response.in_progress') continue
    const ended = createRecord({ id: owned.id, isBackground: true, lastSequenceNumber: 2 })
    const events = [event(2, 'response.completed', { response: { id: owned.id, output: [] } })]
    await store.saveResponse({ owner: first, record: ended, events, isUpdate: true })
  }
  t.strictSame(seen, ['response.in_progress', 'response.completed'])
})

t.test('memory 7: a deleted response is gone, and no response continues it', async t => {
  const { id } = await save(store)
  const answer = await fetch(`${url}/v1/responses/${id}`, { method: 'DELETE', headers: { 'x-api-key': keys.first } })
  t.strictSame(await answer.json(), { id, object: 'response', deleted: true })
  for (const call of callsOf(client, id)) t.match(await catchError(call), { status: 404 })
})

t.test('memory 7: input items are listed in pages, in both orders', async t => {
  const ids = Array.from({ length: 45 }, (_, index) => `msg_${index}`)
  const input = ids.map((id, index) => item({ id, role: 'user', content: `text ${index}` }))
  const { id } = await save(store, { input })
  for (const [order, expected] of [
    ['asc', ids],
    ['desc', ids.toReversed()]
  ] as const) {
    const seen: string[] = []
    for await (const { id: itemId } of client.responses.inputItems.list(id, { order, limit: 10 }))
      seen.push(itemId ?? '')
    t.strictSame(seen, expected, order)
  }
  const page = await client.responses.inputItems.list(id)
  t.strictSame(
    page.data.map(({ id: itemId }) => itemId),
    ids.toReversed().slice(0, 20),
    'the newest 20 without a wish'
  )
  const raw = await getJson(`/responses/${id}/input_items?limit=2&after=msg_44`)
  t.match(raw.json, {
    object: 'list',
    data: [{ id: 'msg_43', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'text 43' }] }, {}],
    first_id: 'msg_43',
    last_id: 'msg_42',
    has_more: true
  })
  const last = await getJson(`/responses/${id}/input_items?limit=2&order=desc&after=msg_1`)
  t.match(last.json, { data: [{ id: 'msg_0' }], has_more: false })
  const none = await getJson(`/responses/${id}/input_items?after=msg_0`)
  t.strictSame(none.json, { object: 'list', data: [], first_id: '', last_id: '', has_more: false })
})

t.test('memory 7: only a running background response is cancelled', async t => {
  const { id } = await save(store)
  await t.rejects(client.responses.cancel(id), { status: 400, message: /synchronous/ })
  const ended = await save(store, { isBackground: true })
  await t.rejects(client.responses.cancel(ended.id), { status: 400, message: /completed/ })
  const cancelled = await save(store, { isBackground: true, status: 'cancelled' })
  t.match(await client.responses.cancel(cancelled.id), { id: cancelled.id, status: 'cancelled' }, 'a repeated call')
  const running = createRecord({ status: 'in_progress', isBackground: true, output: [] })
  await store.saveResponse({ owner: first, record: running, leaseMs: 60_000 })
  const answer = client.responses.cancel(running.id)
  const owned = { owner: first, id: running.id }
  while (!(await store.appendEvents({ ...owned, events: [], leaseMs: 60_000 })).isCancelled);
  const end = createRecord({ id: running.id, status: 'cancelled', isBackground: true })
  await store.saveResponse({ owner: first, record: end, isUpdate: true })
  t.match(await answer, { id: running.id, status: 'cancelled' })
})

t.test('memory 8: another key gets the same answer as for what does not exist', async t => {
  const { id } = await save(store)
  const foreign = await Promise.all(callsOf(other, id).map(call => catchError(call)))
  const unknown = createResponseId()
  const missing = await Promise.all(callsOf(client, unknown).map(call => catchError(call)))
  for (const [index, error] of foreign.entries()) {
    t.ok(error instanceof OpenAI.NotFoundError)
    t.match(error, { status: 404, type: 'invalid_request_error', code: null, param: null })
    t.equal(
      String((error as Error).message).replace(id, ''),
      String((missing[index] as Error).message).replace(unknown, '')
    )
  }
  t.match(await client.responses.retrieve(id), { id }, 'it is still there')
})

t.test('memory 8: an id of another form is not stored, without a question to the store', async t => {
  const asked: string[] = []
  const watching = new Proxy(store, {
    get(target, name, receiver) {
      asked.push(String(name))
      return Reflect.get(target, name, receiver)
    }
  })
  const watched = (await startStoringGateway(t, { store: watching })).client('first', '/v1')
  asked.length = 0
  for (const id of ['resp_1', 'resp_00000000-0000-4000-8000-000000000000', `${createResponseId()}x`, 'x'.repeat(200)]) {
    for (const call of callsOf(watched, id)) await t.rejects(call, { status: 404, message: /not found/ })
  }
  t.strictSame(asked, [])
})

t.test('a wrong query is refused with the name of its parameter', async t => {
  const { id } = await save(store)
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['order=up', 'order'],
    ['after=msg_unknown', 'after'],
    ['before=msg_1', 'before']
  ] as const) {
    const { status, json } = await getJson(`/v1/responses/${id}/input_items?${query}`)
    t.equal(status, 400, query)
    t.match(json, { error: { type: 'invalid_request_error', param } }, query)
  }
  for (const [query, param] of [
    ['stream=1', 'stream'],
    ['starting_after=x', 'starting_after'],
    ['expand=a', 'expand']
  ] as const) {
    t.match((await getJson(`/v1/responses/${id}?${query}`)).json, { error: { param } }, query)
  }
})

t.test('memory 14: a store that gives no answer is 503 with retry-after for each operation', async t => {
  const broken = new Proxy({} as ResponseStore, {
    get: () => () => Promise.reject(new StoreUnavailable('timeout'))
  })
  const down = (await startStoringGateway(t, { store: broken })).client('first')
  const conversationId = createConversationId()
  for (const call of [
    ...callsOf(down, createResponseId()),
    () => down.conversations.create({}),
    () => down.conversations.retrieve(conversationId),
    () => down.conversations.update(conversationId, { metadata: {} }),
    () => down.conversations.delete(conversationId),
    () => down.conversations.items.list(conversationId),
    () => down.conversations.items.create(conversationId, { items: [{ role: 'user', content: 'a' }] }),
    () => down.conversations.items.retrieve('msg_1', { conversation_id: conversationId }),
    () => down.conversations.items.delete('msg_1', { conversation_id: conversationId })
  ]) {
    const error = await catchError(call)
    t.ok(error instanceof OpenAI.InternalServerError)
    t.match(error, { status: 503, code: 'store_unavailable', type: 'server_error' })
    t.equal((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after'), '1')
  }
})

t.test('they need the key, and are no model requests', async t => {
  const anonymous = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'wrong', maxRetries: 0 })
  for (const call of callsOf(anonymous, createResponseId())) t.match(await catchError(call), { status: 401 })
  const { status, headers } = await fetch(`${url}/responses/${createResponseId()}`, {
    method: 'PUT',
    headers: { 'x-api-key': keys.first }
  })
  t.strictSame([status, headers.get('allow')], [405, 'DELETE, GET'])
})

t.test('the API document describes them, and their answers fit', async t => {
  const { json: document } = await getJson('/openapi.json')
  t.ok(document.tags.some(({ name }: { name: string }) => name === 'OpenAI / Conversations'))
  const described = createDescribedResponses(document)
  const responsePath = '/v1/responses/{response_id}'
  const conversationPath = '/conversations/{conversation_id}'
  const created = await client.responses.create({ model: 'GigaChat-2', input: '[[reason:because]][[text:so]]' })
  const background = await client.responses.create({ model: 'GigaChat-2', input: '[[hang]]', background: true })
  const conversation = await client.conversations.create({ items: [{ role: 'user', content: 'a' }] })
  const { data } = await client.conversations.items.list(conversation.id)
  const itemId = data[0]?.id ?? ''
  const items = JSON.stringify({ items: [{ role: 'user', content: 'b' }] })
  const unknown = createResponseId()
  type Case = [method: 'get' | 'post' | 'delete', template: string, path: string, status: number, body?: string]
  const cases: Case[] = [
    ['get', responsePath, `/v1/responses/${created.id}`, 200],
    ['get', responsePath, `/v1/responses/${created.id}?stream=true`, 200],
    ['get', responsePath, `/v1/responses/${unknown}`, 404],
    ['get', responsePath, `/v1/responses/${created.id}?stream=maybe`, 400],
    ['get', responsePath, `/v1/responses/${background.id}`, 200],
    ['post', `${responsePath}/cancel`, `/v1/responses/${background.id}/cancel`, 200],
    ['get', responsePath, `/v1/responses/${background.id}?stream=true`, 200],
    ['post', `${responsePath}/cancel`, `/v1/responses/${created.id}/cancel`, 400],
    ['get', `${responsePath}/input_items`, `/v1/responses/${created.id}/input_items`, 200],
    ['delete', responsePath, `/v1/responses/${created.id}`, 200],
    ['post', '/v2/conversations', '/v2/conversations', 200, ''],
    ['get', conversationPath, `/conversations/${conversation.id}`, 200],
    ['post', conversationPath, `/conversations/${conversation.id}`, 200, '{"metadata":{"a":"b"}}'],
    ['post', conversationPath, `/conversations/${conversation.id}`, 400, '{}'],
    ['post', `${conversationPath}/items`, `/conversations/${conversation.id}/items`, 200, items],
    ['get', `${conversationPath}/items`, `/conversations/${conversation.id}/items?limit=1`, 200],
    ['get', `${conversationPath}/items/{item_id}`, `/conversations/${conversation.id}/items/${itemId}`, 200],
    ['delete', `${conversationPath}/items/{item_id}`, `/conversations/${conversation.id}/items/${itemId}`, 200],
    ['delete', conversationPath, `/conversations/${conversation.id}`, 200],
    ['get', conversationPath, `/conversations/${conversation.id}`, 404]
  ]
  for (const [method, template, path, status, body] of cases) {
    const init = {
      method: method.toUpperCase(),
      headers: { 'x-api-key': keys.first },
      ...(body !== undefined && { body })
    }
    const answer = await fetch(url + path, init)
    const received = { status: answer.status, headers: answer.headers, text: await answer.text() }
    t.strictSame(described.check({ method, path: template }, received, status), [], `${method} ${path}`)
  }
})

/** Every operation on a response. */
function callsOf(sdk: OpenAI, id: string): Array<() => Promise<unknown>> {
  return [
    async () => sdk.responses.retrieve(id),
    async () => sdk.responses.retrieve(id, { stream: true }),
    async () => sdk.responses.cancel(id),
    async () => sdk.responses.inputItems.list(id),
    async () => sdk.responses.delete(id)
  ]
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
async function getJson(path: string): Promise<{ status: number; json: any }> {
  const answer = await fetch(url + path, { headers: { 'x-api-key': keys.first } })
  return { status: answer.status, json: await answer.json() }
}
