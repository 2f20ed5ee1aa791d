// Histories of Responses with memory: references, tool loops, conversations, and what is not found (memory.md 3).

import OpenAI from 'openai'
import t from 'tap'
import { post } from '../../support/client.ts'
import { waitUntil } from '../../support/processes.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { chat, messages, NATIVE_ALIAS, startBridge } from '../bridge/providers/index.ts'
import { createReader, findRecord, type Loose } from './memory-support.ts'

const store = await openTemporaryStore(t)
const bridge = await startBridge(t, { memory: store })
const { gateway } = bridge
const { ask, textOf } = createReader(gateway)
const url = `${gateway.url}/v1/responses`
const owner = { name: '' }
const aliases = [NATIVE_ALIAS, chat.aliases.keyed, messages.aliases.keyed]
const weather = {
  type: 'function',
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } }
}

async function createConversation(id: string, items: object[] = []): Promise<void> {
  const conversation = { id, createdAt: 1, metadata: Buffer.from('{}') }
  const stored = items.map((json, index) => ({ id: `${id}-${index}`, json: Buffer.from(JSON.stringify(json)) }))
  await store.createConversation({ owner, conversation, items: stored })
}

for (const model of aliases) {
  t.test(
    `memory 5: a tool loop sends its results alone, and items by reference as the AI SDK does, on ${model}`,
    async t => {
      for (const stream of [false, true]) {
        const more = { model, stream, tools: [weather] }
        const input = '[[tool:weather {"city":"Oslo"}]][[step]][[text:It is sunny.]]'
        const first = await ask('v1', { ...more, input })
        const call = first.output.find(({ type }: Loose) => type === 'function_call')
        const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
        const continued = await ask('v1', { ...more, input: [result], previous_response_id: first.id })
        t.match(textOf(continued), /It is sunny/)
        const { ids } = await findRecord(store, first.id)
        for (const references of [
          first.output.map(({ id }: Loose) => ({ type: 'item_reference', id })),
          first.output.map(({ id }: Loose) => ({ id }))
        ]) {
          const own = [{ type: 'item_reference', id: ids[0] }, ...references, result]
          const referred = await ask('v1', { ...more, input: own })
          t.match(textOf(referred), /It is sunny/)
          const record = await findRecord(store, referred.id)
          t.match(record.input.at(-2), { type: 'function_call', call_id: call.call_id }, 'the items are in the record')
        }
        const both = [...first.output.map(({ id }: Loose) => ({ id })), result]
        const twice = await ask('v1', { ...more, input: both, previous_response_id: first.id })
        t.match(textOf(twice), /It is sunny/, 'an item of the history is not sent twice')
      }
    }
  )
}

t.test('what is not stored is 404 with the name of the field', async t => {
  const model = NATIVE_ALIAS
  const refuse = async (body: object) => (await post(url, { model, ...body })).json.error
  const unknown = `resp_${'a'.repeat(32)}`
  const { error } = (await post(url, { model, input: 'x', previous_response_id: unknown })).json
  t.match(error, { type: 'not_found_error', code: 'previous_response_not_found', param: 'previous_response_id' })
  t.match(error.message, unknown)
  t.match(await refuse({ input: 'x', previous_response_id: 'resp_1' }), { code: 'previous_response_not_found' })
  t.match(
    await refuse({
      input: [
        { role: 'user', content: 'x' },
        { type: 'item_reference', id: 'msg_none' }
      ]
    }),
    {
      param: 'input[1].id',
      message: /msg_none/
    }
  )
  t.match(await refuse({ input: 'x', conversation: 'conv_none' }), { param: 'conversation', message: /conv_none/ })
  t.match(await refuse({ input: 'x', conversation: { id: 'c' }, previous_response_id: unknown }), {
    code: 'invalid_request',
    param: 'conversation'
  })
  t.match(
    await refuse({ model: chat.aliases.disabled, input: 'x', previous_response_id: unknown }),
    { code: 'unknown_model_alias', param: 'model' },
    'the model is the first fault'
  )
  const deleted = await ask('v1', { model, input: 'x' })
  await store.deleteResponse({ owner, id: deleted.id })
  t.match(await refuse({ input: 'x', previous_response_id: deleted.id }), { code: 'previous_response_not_found' })
})

t.test('a response that still runs cannot be continued', async t => {
  const id = `resp_${'r'.repeat(32)}`
  const record = {
    id,
    createdAt: 1,
    status: 'in_progress' as const,
    model: 'm',
    isBackground: true,
    input: [],
    output: [],
    body: Buffer.from('{}'),
    lastSequenceNumber: 0
  }
  await store.saveResponse({ owner, record, leaseMs: 60_000 })
  const { status, json } = await post(url, { model: NATIVE_ALIAS, input: 'x', previous_response_id: id })
  t.equal(status, 400)
  t.match(json.error, { param: 'previous_response_id', message: /still running/ })
})

t.test("an error names an item by its place in the client's input, not in the history", async t => {
  const model = chat.aliases.keyed
  const first = await ask('v1', { model, input: 'x' })
  const { json } = await post(url, {
    model,
    previous_response_id: first.id,
    input: [{ role: 'user', content: 'x' }, { type: 'function_call_output', call_id: 'nowhere', output: 'x' }, 7]
  })
  t.match(json.error, { param: 'input[2]' })
  const invalid = await post(url, `{"model":"${model}","previous_response_id":"${first.id}","input":[tru]}`)
  t.match(invalid.json.error, { code: 'invalid_json' })
  t.notMatch(invalid.json.error.message, /input_text/, 'no item of the history is shown')
})

t.test('instructions are those of the turn alone', async t => {
  const model = chat.aliases.keyed
  const first = await ask('v1', { model, input: 'x', instructions: 'be brief' })
  const next = await ask('v1', { model, input: 'y', previous_response_id: first.id })
  t.equal(next.instructions, null)
  t.notMatch(JSON.stringify(bridge.received(chat, 'keyed').at(-1)?.body), /be brief/)
})

t.test('memory 6: turns of a conversation come after its items, and are appended', async t => {
  await createConversation('conv_1', [
    { role: 'user', content: 'my name is Ada' },
    { role: 'assistant', content: 'Hello Ada.' }
  ])
  for (const [index, model] of aliases.entries()) {
    for (const conversation of ['conv_1', { id: 'conv_1' }]) {
      const response = await ask('v1', { model, input: `[[recall]] word-${index}`, conversation, stream: index === 1 })
      t.match(textOf(response), /my name is Ada/)
      t.match(response, { conversation: { id: 'conv_1' }, previous_response_id: null, store: true })
    }
  }
  const page = await store.listConversationItems({ owner, id: 'conv_1', page: { limit: 100, order: 'asc' } })
  if (page === undefined || page === 'unknown_cursor') throw new Error('The conversation has no items.')
  t.equal(page.items.length, 14)
  const unstored = await ask('v1', { model: NATIVE_ALIAS, input: '[[recall]]', conversation: 'conv_1', store: false })
  t.match(textOf(unstored), /word-2/)
  const after = await store.listConversationItems({ owner, id: 'conv_1', page: { limit: 100, order: 'asc' } })
  t.equal(after !== undefined && after !== 'unknown_cursor' && after.items.length, 14)
})

t.test('memory 6: a turn waits for the one before it in its conversation', async t => {
  await createConversation('conv_2')
  const body = { model: NATIVE_ALIAS, conversation: 'conv_2' }
  const first = ask('v1', { ...body, input: 'my name is Ada[[slow:300]]' })
  await waitUntil(async () => {
    const probe = { owner, id: 'conv_2', holder: 'test' }
    const lease = await store.acquireConversation({ ...probe, leaseMs: 1 })
    if (lease === 'acquired') await store.releaseConversation(probe)
    return lease === 'busy'
  }, 'the first turn holds the conversation')
  const second = await ask('v1', { ...body, input: '[[recall]]' })
  await first
  t.match(textOf(second), /my name is Ada/)
})

t.test('the lease of a conversation is free after every end', async t => {
  await createConversation('conv_3')
  const acquire = () => store.acquireConversation({ owner, id: 'conv_3', holder: 'test', leaseMs: 1000 })
  const release = () => store.releaseConversation({ owner, id: 'conv_3', holder: 'test' })
  const body = { model: NATIVE_ALIAS, conversation: 'conv_3' }
  await post(url, { ...body, input: [7] })
  t.equal(await acquire(), 'acquired', 'after a refusal')
  await release()
  await post(url, { ...body, input: '[[error:500]]' })
  t.equal(await acquire(), 'acquired', 'after a failure')
  await release()
  const abort = new AbortController()
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ ...body, input: '[[text:one two three four five]][[tick:300]]', stream: true }),
    signal: abort.signal
  })
  await response.body?.getReader().read()
  abort.abort()
  for (let tries = 0; (await acquire()) === 'busy'; tries++) {
    if (tries > 100) throw new Error('The lease is never free.')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  await release()
})

t.test('the official SDK continues with its own methods', async t => {
  const client = new OpenAI({ apiKey: 'unused', baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const model = NATIVE_ALIAS
  const first = await client.responses.stream({ model, input: 'my name is Ada' }).finalResponse()
  const next = await client.responses
    .stream({ model, input: '[[recall]]', previous_response_id: first.id })
    .finalResponse()
  t.match(next.output_text, /my name is Ada/)
  await t.rejects(client.responses.create({ model, input: 'x', previous_response_id: 'resp_no' }), {
    status: 404,
    code: 'previous_response_not_found'
  })
})
