import t from 'tap'
import { lastUpstreamChat, post, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { accumulate, ask, model, stream, textOf } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

function sent() {
  return lastUpstreamChat(emulator).body
}

/** Starts a stored conversation and returns the id of its thread. */
async function startThread(): Promise<string> {
  const httpResponse = await ask(gateway, 'v2', '[[text:one]]', { store: true })
  return httpResponse.json.id.replace('resp_', '')
}

t.test('responses 25: store starts a stored conversation whose thread is the id of the response', async t => {
  const httpResponse = await ask(gateway, 'v2', 'x', { store: true })
  t.equal(httpResponse.status, 200)
  t.strictSame(sent().storage, {})
  t.equal(httpResponse.json.store, true)
  t.equal(httpResponse.json.id, `resp_${httpResponse.json.metadata.upstream_thread_id}`)
  t.not(httpResponse.json.id, `resp_${httpResponse.headers.get('x-request-id')}`)
})

t.test('responses 26, 27: store false, null or absent stores nothing', async t => {
  for (const more of [{ store: false }, { store: null }, {}]) {
    const httpResponse = await ask(gateway, 'v2', 'x', more)
    t.notOk('storage' in sent())
    t.equal(httpResponse.json.store, false)
    t.equal(httpResponse.json.id, `resp_${httpResponse.headers.get('x-request-id')}`)
  }
})

t.test('responses 28: a conversation is continued by its thread, which implies the model', async t => {
  const thread = await startThread()
  for (const id of [`resp_${thread}`, thread]) {
    const httpResponse = await ask(gateway, 'v2', '[[recall]]', { previous_response_id: id })
    t.equal(httpResponse.status, 200)
    t.strictSame(sent().storage, { thread_id: thread })
    t.notOk('model' in sent())
    t.match(httpResponse.json, { id: `resp_${thread}`, previous_response_id: id, store: true })
    t.match(textOf(httpResponse.json), /Before this you wrote/)
  }
})

t.test('responses 29: further members of storage are sent with the thread', async t => {
  const thread = await startThread()
  const more = { previous_response_id: `resp_${thread}`, extra_body: { storage: { limit: 5 } } }
  t.equal((await ask(gateway, 'v2', 'x', more)).status, 200)
  t.strictSame(sent().storage, { limit: 5, thread_id: thread })
  t.equal((await ask(gateway, 'v2', 'x', { ...more, store: true })).status, 200)
  t.strictSame(sent().storage, { limit: 5, thread_id: thread })
})

t.test('responses 30, 31: a request to store is refused on v1 with its field', async t => {
  const before = upstreamChats(emulator).length
  for (const [more, param] of [
    [{ previous_response_id: 'resp_th' }, 'previous_response_id'],
    [{ store: true }, 'store']
  ] as const) {
    for (const isStream of [false, true]) {
      const httpResponse = await ask(gateway, 'v1', 'x', { ...more, stream: isStream })
      t.equal(httpResponse.status, 400)
      t.strictSame(Object.keys(httpResponse.json), ['error'])
      t.match(httpResponse.json.error, { code: 'unsupported_semantic', param, type: 'invalid_request_error' })
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('responses 32: on v1 a null id and store false are accepted', async t => {
  const httpResponse = await ask(gateway, 'v1', 'x', { previous_response_id: null, store: false })
  t.equal(httpResponse.status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v1/chat/completions')
  t.match(httpResponse.json, { store: false, previous_response_id: null })
})

t.test('responses 33: an unknown conversation is refused with its parameter (F5)', async t => {
  for (const isStream of [false, true]) {
    const before = upstreamChats(emulator).length
    const httpResponse = await ask(gateway, 'v2', 'x', { previous_response_id: 'resp_unknown', stream: isStream })
    t.equal(httpResponse.status, 404)
    t.match(httpResponse.json.error, {
      type: 'not_found_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id'
    })
    t.equal(upstreamChats(emulator).length, before + 1)
  }
  for (const id of ['', 'resp_', 'resp_a b', `resp_${'x'.repeat(257)}`]) {
    const httpResponse = await ask(gateway, 'v2', 'x', { previous_response_id: id })
    t.equal(httpResponse.status, 400, id)
    t.match(httpResponse.json.error, { code: 'invalid_request', param: 'previous_response_id' })
  }
})

t.test('decisions.md 90: conversation has no effect and a notice, and previous_response_id is the thread', async t => {
  const thread = await startThread()
  for (const version of ['v1', 'v2'] as const) {
    for (const conversation of [thread, `resp_${thread}`, 'a b', '', { id: thread }]) {
      for (const isStream of [false, true]) {
        const httpResponse = await ask(gateway, version, 'x', { conversation, ...(isStream ? { stream: true } : {}) })
        t.equal(httpResponse.status, 200)
        t.equal(httpResponse.headers.get('x-gateway-ignored'), 'conversation')
        t.match(sent(), { model })
        t.notOk('storage' in sent())
        if (isStream) continue
        t.match(httpResponse.json, { store: false, id: `resp_${httpResponse.headers.get('x-request-id')}` })
        t.notOk('conversation' in httpResponse.json)
      }
    }
  }
  const continued = await ask(gateway, 'v2', '[[recall]]', {
    conversation: 'c',
    previous_response_id: `resp_${thread}`
  })
  t.strictSame(sent().storage, { thread_id: thread })
  t.match(continued.json, { id: `resp_${thread}`, previous_response_id: `resp_${thread}`, store: true })
  t.match(textOf(continued.json), /Before this you wrote/)
  t.equal(continued.headers.get('x-gateway-ignored'), 'conversation')
})

t.test('decisions.md 90: a malformed conversation is refused, and so is one where exactness is asked for', async t => {
  const before = upstreamChats(emulator).length
  for (const [conversation, param] of [
    [3, 'conversation'],
    [{}, 'conversation.id']
  ] as const) {
    const httpResponse = await ask(gateway, 'v2', 'x', { conversation })
    t.equal(httpResponse.status, 400)
    t.match(httpResponse.json.error, { code: 'invalid_request', param })
  }
  const exact = await post(
    `${gateway.url}/v2/responses`,
    { model, input: 'x', conversation: 'c' },
    { 'x-gateway-unsupported': 'refuse' }
  )
  t.equal(exact.status, 400)
  t.match(exact.json.error, { code: 'unsupported_semantic', param: 'conversation' })
  t.equal(upstreamChats(emulator).length, before)
})

const frame = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
const delta = (text: string, more: object = {}) =>
  frame('response.message.delta', {
    model: 'GigaChat-2:2.0.28.2',
    created_at: 1,
    messages: [{ role: 'assistant', content: [{ text }] }],
    ...more
  })
const done = (more: object = {}) =>
  frame('response.message.done', {
    model: 'GigaChat-2:2.0.28.2',
    created_at: 1,
    finish_reason: 'stop',
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    ...more
  })

t.test('responses 62: a thread that the first upstream event names is in the id from the first event on', async t => {
  emulator.respondNext({ chunks: [delta('Hel', { thread_id: 'th7' }), delta('lo'), done({ thread_id: 'th7' })] })
  const { events, response } = await stream(gateway, 'v2', 'x', { store: true })
  for (const event of events) if (event.response !== undefined) t.equal(event.response.id, 'resp_th7', event.type)
  t.equal(textOf(response), 'Hello')
})

t.test(
  'responses 63: a thread that the last upstream event names is in the id of the last event; the ids of items stay',
  async t => {
    emulator.respondNext({ chunks: [delta('Hel'), delta('lo'), done({ thread_id: 'th8' })] })
    const { events, response } = await stream(gateway, 'v2', 'x', { store: true })
    t.equal(response.id, 'resp_th8')
    const itemIds = new Set(events.flatMap(event => event.item_id ?? event.item?.id ?? []))
    t.equal(itemIds.size, 1)
    t.equal(response.output[0].id, [...itemIds][0])

    t.comment('the emulator does the same: the SDK can continue with the response that it accumulated')
    const first = await accumulate(gateway, 'v2', '[[text:one]]', { store: true })
    t.equal(first.id, `resp_${first.metadata?.upstream_thread_id}`)
    const second = await accumulate(gateway, 'v2', '[[text:two]]', { previous_response_id: first.id })
    t.equal(second.id, first.id)
    t.strictSame(sent().storage, { thread_id: first.id.replace('resp_', '') })
  }
)

t.test('a result without its call is sent with the name and state of the call (C3)', async t => {
  const unknownBefore = emulator.stats.unknownStateIds
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }]
  const first = await ask(gateway, 'v2', '[[tool:weather {"city":"Omsk"}]]', { store: true, tools })
  const [call] = first.json.output
  const input = [{ type: 'function_call_output', call_id: call.call_id, output: 'cold' }]
  const next = await ask(gateway, 'v2', input, { previous_response_id: first.json.id, tools })
  t.equal(next.status, 200)
  t.match(sent().messages, [
    {
      role: 'tool',
      tools_state_id: String,
      content: [{ function_result: { name: 'weather', result: { result: 'cold' } } }]
    }
  ])
  t.equal(emulator.stats.unknownStateIds, unknownBefore)
  t.match(textOf(next.json), /weather returned.*cold/)
})
