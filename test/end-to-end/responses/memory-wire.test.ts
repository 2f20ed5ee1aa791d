// Memory where the provider could keep the state itself: the Responses wire, and threads of the native upstream (memory.md 3).

import t from 'tap'
import { post } from '../../support/client.ts'
import { responsesBaseUrl, writeChatProfile } from '../../support/profile-gateway.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { chat, NATIVE_ALIAS, responses, startBridge } from '../bridge/providers/index.ts'
import { createReader, findRecord, type Loose } from './memory-support.ts'

const store = await openTemporaryStore(t)
const bridge = await startBridge(t, {
  memory: store,
  profiles: emulator => [
    writeChatProfile({
      id: 'kept-here',
      baseUrl: responsesBaseUrl(emulator, 'responses-keyless'),
      aliases: [{ alias: 'wire/own' }, { alias: 'wire/plain', model: 'plain-model', features: ['chat'] }],
      more: { wire: 'responses', state: 'gateway' }
    })
  ]
})
const { gateway, emulator } = bridge
const { ask, textOf } = createReader(gateway)
const url = `${gateway.url}/v1/responses`
const STORED_ID = /^resp_[A-Za-z0-9_-]{32}$/
const lastBody = (): Loose => bridge.received(responses, 'keyless').at(-1)?.body

for (const stream of [false, true]) {
  const way = stream ? 'streamed' : 'whole'
  t.test(`with state gateway the provider of the Responses wire stores nothing, ${way}`, async t => {
    const model = 'wire/own'
    const first = await ask('v1', { model, input: 'my name is Ada', stream })
    t.match(first, { id: STORED_ID, store: true, previous_response_id: null, model })
    t.equal(lastBody().store, false)
    const next = await ask('v1', { model, input: '[[recall]]', previous_response_id: first.id, stream })
    t.match(textOf(next), /my name is Ada/)
    t.match(next, { id: STORED_ID, previous_response_id: first.id })
    t.notOk('previous_response_id' in lastBody())
    t.equal(lastBody().input.length, 3)
    const elsewhere = await ask('v1', { model: chat.aliases.keyed, input: '[[recall]]', previous_response_id: next.id })
    t.match(textOf(elsewhere), /my name is Ada/)
    const back = await ask('v1', { model, input: '[[recall]]', previous_response_id: elsewhere.id, stream })
    t.match(textOf(back), /my name is Ada/)
  })

  t.test(`items of the provider come back byte for byte, and its reasoning with them, ${way}`, async t => {
    const model = 'wire/own'
    const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} }, strict: false }]
    const input = '[[reason:why]][[tool:weather {"city":"Oslo"}]][[step]][[text:It is sunny.]]'
    const first = await ask('v1', { model, input, tools, stream, reasoning: { effort: 'low' } })
    const call = first.output.find(({ type }: Loose) => type === 'function_call')
    const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
    const next = await ask('v1', { model, input: [result], tools, stream, previous_response_id: first.id })
    t.match(textOf(next), /It is sunny/)
    const sent = lastBody().input
    t.strictSame(sent.slice(1, -1), first.output)
    t.match(sent[1], { type: 'reasoning', encrypted_content: String })
  })
}

t.test('a model without reasoning is not asked for it', async t => {
  await ask('v1', { model: 'wire/plain', input: 'x' })
  t.notOk('include' in lastBody())
})

t.test('state provider, the default, leaves all of it to the provider', async t => {
  const { responses: count } = await store.totals()
  const model = responses.aliases.keyed
  const first = await ask('v1', { model, input: 'my name is Ada' })
  const next = await ask('v1', { model, input: '[[recall]]', previous_response_id: first.id })
  t.match(textOf(next), /my name is Ada/)
  const { body } = bridge.received(responses, 'keyed').at(-1) ?? {}
  t.match(body, { previous_response_id: first.id })
  t.equal(await findRecord(store, first.id), undefined)
  t.equal((await store.totals()).responses, count)
})

t.test('what was generated of a stream that is left is stored, as far as it came', async t => {
  const abort = new AbortController()
  const input = '[[chunks:["one ","two ","three ","four ","five "]]][[tick:200]]'
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ model: 'wire/own', input, stream: true }),
    signal: abort.signal
  })
  let text = ''
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString()
    if (text.includes('output_text.delta')) break
  }
  abort.abort()
  const id = /"id":"(resp_[\w-]{32})"/.exec(text)?.[1]
  let record: Loose
  while (record === undefined) {
    await new Promise(resolve => setTimeout(resolve, 20))
    record = await findRecord(store, id)
  }
  t.match(record, { status: 'incomplete', body: { id, status: 'incomplete' } })
  t.match(record.output, [{ type: 'message', content: [{ type: 'output_text', text: /^one/ }] }])
})

t.test('a thread of the native upstream stays one, under ids of the store', async t => {
  const model = NATIVE_ALIAS
  const begun = await ask('v2', { model, input: 'my name is Ada', extra_body: { storage: {} }, store: false })
  const thread = begun.id.slice('resp_'.length)
  t.notMatch(begun.id, STORED_ID)
  const first = await ask('v2', { model, input: '[[recall]]', previous_response_id: begun.id })
  t.match(textOf(first), /my name is Ada/)
  t.match(first, { id: STORED_ID, store: true, previous_response_id: begun.id })
  t.equal((await findRecord(store, first.id)).threadId, thread)
  for (const stream of [false, true]) {
    const next = await ask('v2', { model, input: '[[recall]]', previous_response_id: first.id, stream })
    t.match(textOf(next), /my name is Ada/)
    t.match(next, { id: STORED_ID, previous_response_id: first.id })
    const { body } = bridge.receivedNatively().findLast(({ path }) => path.includes('chat')) ?? {}
    t.match(body, { storage: { thread_id: thread } })
    t.equal((body as Loose).messages.length, 1, 'the upstream has the history')
  }
  const refused = await post(url, { model: chat.aliases.keyed, input: 'x', previous_response_id: first.id })
  t.equal(refused.status, 400)
  t.match(refused.json.error, { code: 'unsupported_semantic', param: 'previous_response_id' })
  const unknown = await post(`${gateway.url}/v2/responses`, { model, input: 'x', previous_response_id: 'resp_nothere' })
  t.match(unknown.json.error, { code: 'previous_response_not_found', param: 'previous_response_id' })
  t.ok(emulator)
})

t.test('bodies that a thread translates are stored and continued alike', async t => {
  const memory = await openTemporaryStore(t)
  const pooled = await startBridge(t, { memory, env: { GATEWAY_POOL_THRESHOLD_BYTES: '1' } })
  const reader = createReader(pooled.gateway)
  for (const model of [NATIVE_ALIAS, chat.aliases.keyed]) {
    for (const stream of [false, true]) {
      const first = await reader.ask('v1', { model, input: `my name is Ada ${'x'.repeat(300_000)}`, stream })
      t.match(first, { id: STORED_ID, store: true })
      const next = await reader.ask('v1', { model, input: '[[recall]]', previous_response_id: first.id, stream })
      t.match(reader.textOf(next), /my name is Ada/)
      t.match(next, { previous_response_id: first.id })
    }
  }
})

t.test('a history beyond the bound of an expanded body is refused, or shortened', async t => {
  const memory = await openTemporaryStore(t)
  const small = await startBridge(t, { memory, env: { GATEWAY_MAX_REQUEST_BODY_BYTES: '2000' } })
  const reader = createReader(small.gateway)
  const model = NATIVE_ALIAS
  let previous: string | undefined
  for (let turn = 0; turn < 5; turn++) {
    const input = `word-${turn} ${'x'.repeat(1600)}[[text:ok]]`
    previous = (
      await reader.ask('v1', {
        model,
        input,
        previous_response_id: previous,
        truncation: turn > 3 ? 'auto' : 'disabled'
      })
    ).id
  }
  const body = { model, input: '[[recall]]', previous_response_id: previous }
  const refused = await post(`${small.gateway.url}/v1/responses`, body)
  t.equal(refused.status, 400)
  t.match(refused.json.error, { code: 'context_length_exceeded', param: 'input' })
  const shortened = await reader.ask('v1', { ...body, truncation: 'auto' })
  t.match(reader.textOf(shortened), /word-4/)
  t.notMatch(reader.textOf(shortened), /word-0/)
})
