import t from 'tap'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { accumulate, ask, stream, textOf } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

function sent() {
  return lastUpstreamChat(emulator).body
}

/** Starts a stored conversation and gives the id of its thread. */
async function startThread(): Promise<string> {
  const answer = await ask(gateway, 'v2', '[[text:one]]', { store: true })
  return answer.json.id.replace('resp_', '')
}

t.test('responses 25: store starts a stored conversation whose thread is the id of the response', async t => {
  const answer = await ask(gateway, 'v2', 'x', { store: true })
  t.equal(answer.status, 200)
  t.strictSame(sent().storage, {})
  t.equal(answer.json.store, true)
  t.equal(answer.json.id, `resp_${answer.json.metadata.upstream_thread_id}`)
  t.not(answer.json.id, `resp_${answer.headers.get('x-request-id')}`)
})

t.test('responses 26, 27: store false, null or absent stores nothing', async t => {
  for (const more of [{ store: false }, { store: null }, {}]) {
    const answer = await ask(gateway, 'v2', 'x', more)
    t.notOk('storage' in sent())
    t.equal(answer.json.store, false)
    t.equal(answer.json.id, `resp_${answer.headers.get('x-request-id')}`)
  }
})

t.test('responses 28: a conversation is continued by its thread, which brings its model', async t => {
  const thread = await startThread()
  for (const id of [`resp_${thread}`, thread]) {
    const answer = await ask(gateway, 'v2', '[[recall]]', { previous_response_id: id })
    t.equal(answer.status, 200)
    t.strictSame(sent().storage, { thread_id: thread })
    t.notOk('model' in sent())
    t.match(answer.json, { id: `resp_${thread}`, previous_response_id: id, store: true })
    t.match(textOf(answer.json), /Before this you wrote/)
  }
})

t.test('responses 29: further members of storage stay beside the thread', async t => {
  const thread = await startThread()
  const more = { previous_response_id: `resp_${thread}`, extra_body: { storage: { limit: 5 } } }
  t.equal((await ask(gateway, 'v2', 'x', more)).status, 200)
  t.strictSame(sent().storage, { limit: 5, thread_id: thread })
  t.equal((await ask(gateway, 'v2', 'x', { ...more, store: true })).status, 200)
  t.strictSame(sent().storage, { limit: 5, thread_id: thread })
})

t.test('responses 30, 31: v1 stores nothing and says so, naming the field', async t => {
  const before = upstreamChats(emulator).length
  for (const [more, param] of [
    [{ previous_response_id: 'resp_th' }, 'previous_response_id'],
    [{ store: true }, 'store']
  ] as const) {
    for (const isStream of [false, true]) {
      const answer = await ask(gateway, 'v1', 'x', { ...more, stream: isStream })
      t.equal(answer.status, 400)
      t.strictSame(Object.keys(answer.json), ['error'])
      t.match(answer.json.error, { code: 'unsupported_semantic', param, type: 'invalid_request_error' })
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('responses 32: on v1 a null id and store false are no wish to store', async t => {
  const answer = await ask(gateway, 'v1', 'x', { previous_response_id: null, store: false })
  t.equal(answer.status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v1/chat/completions')
  t.match(answer.json, { store: false, previous_response_id: null })
})

t.test('responses 33: a conversation that the upstream does not know is named as the parameter (F5)', async t => {
  for (const isStream of [false, true]) {
    const before = upstreamChats(emulator).length
    const answer = await ask(gateway, 'v2', 'x', { previous_response_id: 'resp_unknown', stream: isStream })
    t.equal(answer.status, 404)
    t.match(answer.json.error, {
      type: 'not_found_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id'
    })
    t.equal(upstreamChats(emulator).length, before + 1)
  }
  for (const id of ['', 'resp_', 'resp_a b', `resp_${'x'.repeat(257)}`]) {
    const answer = await ask(gateway, 'v2', 'x', { previous_response_id: id })
    t.equal(answer.status, 400, id)
    t.match(answer.json.error, { code: 'invalid_request', param: 'previous_response_id' })
  }
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

t.test('responses 62: a thread that is known at first is in the id from the first event on', async t => {
  emulator.respondNext({ chunks: [delta('Hel', { thread_id: 'th7' }), delta('lo'), done({ thread_id: 'th7' })] })
  const { events, response } = await stream(gateway, 'v2', 'x', { store: true })
  for (const event of events) if (event.response !== undefined) t.equal(event.response.id, 'resp_th7', event.type)
  t.equal(textOf(response), 'Hello')
})

t.test('responses 63: a thread that is named last is in the id of the last event; the ids of items stay', async t => {
  emulator.respondNext({ chunks: [delta('Hel'), delta('lo'), done({ thread_id: 'th8' })] })
  const { events, response } = await stream(gateway, 'v2', 'x', { store: true })
  t.equal(response.id, 'resp_th8')
  const itemIds = new Set(events.flatMap(event => event.item_id ?? event.item?.id ?? []))
  t.equal(itemIds.size, 1)
  t.equal(response.output[0].id, [...itemIds][0])

  t.comment('and so does the embedded upstream: the SDK can continue by what it accumulated')
  const first = await accumulate(gateway, 'v2', '[[text:one]]', { store: true })
  t.equal(first.id, `resp_${first.metadata?.upstream_thread_id}`)
  const second = await accumulate(gateway, 'v2', '[[text:two]]', { previous_response_id: first.id })
  t.equal(second.id, first.id)
  t.strictSame(sent().storage, { thread_id: first.id.replace('resp_', '') })
})

t.test('a result that comes back alone finds its name and state (C3)', async t => {
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
