// How responses with memory end: failed, left, too long, too large, and with a store that gives no answer (memory.md 2, 3 and 6).

import t, { type Test } from 'tap'
import { type ResponseStore, StoreUnavailable } from '../../../shared/memory/store.ts'
import { post, postUntilCut } from '../../support/client.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { writeChatProfile } from '../../support/profile-gateway.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { chat, NATIVE_ALIAS, startBridge } from '../bridge/providers/index.ts'
import { createReader, findRecord, type Loose, replaceOperations } from './memory-support.ts'

const owner = { name: '' }

async function start(t: Test, memory: ResponseStore, env: Record<string, string> = {}) {
  const bridge = await startBridge(t, {
    memory,
    env,
    profiles: emulator => [
      writeChatProfile({
        id: 'narrow',
        baseUrl: chat.baseUrl(emulator, 'keyless', 'chat-keyless'),
        aliases: [{ alias: 'chat/narrow', limits: { context_window: 1500, max_output_tokens: 100 } }]
      })
    ]
  })
  return { ...bridge, ...createReader(bridge.gateway), url: `${bridge.gateway.url}/v1/responses` }
}

const idOf = (text: string) => /"id":"(resp_[\w-]{32})"/.exec(text)?.[1] ?? ''

t.test('memory 12: a failed stream is stored as failed, and can be continued', async t => {
  const store = await openTemporaryStore(t)
  const { url, ask, textOf } = await start(t, store)
  for (const model of [NATIVE_ALIAS, chat.aliases.keyed]) {
    const { text, isCut } = await postUntilCut(url, {
      model,
      input: 'my name is Ada[[chunks:["a ","b ","c ","d "]]][[die]]',
      stream: true
    })
    t.ok(isCut)
    t.match(text, /event: response\.failed/)
    const record = await findRecord(store, idOf(text))
    t.match(record, { status: 'failed', body: { status: 'failed', error: { code: 'server_error' } } })
    const input = [
      { role: 'assistant', content: 'Once more?' },
      { role: 'user', content: '[[recall]]' }
    ]
    const next = await ask('v1', { model, input, previous_response_id: record.id })
    t.match(textOf(next), /my name is Ada/)
  }
  const { responses: count } = await store.totals()
  t.equal((await post(url, { model: NATIVE_ALIAS, input: '[[error:500]]', stream: true })).status, 500)
  t.equal((await post(url, { model: NATIVE_ALIAS, input: '[[error:500]]' })).status, 500)
  t.equal((await store.totals()).responses, count, 'what is an error of HTTP is not stored')
})

t.test('an incomplete response is stored as such', async t => {
  const store = await openTemporaryStore(t)
  const { ask } = await start(t, store)
  for (const stream of [false, true]) {
    const { id, status } = await ask('v1', { model: chat.aliases.keyed, input: '[[finish:length]]', stream })
    t.equal(status, 'incomplete')
    t.match(await findRecord(store, id), {
      status: 'incomplete',
      body: { incomplete_details: { reason: 'max_output_tokens' } }
    })
  }
})

t.test('memory 12: a stream that its client leaves is stored as incomplete, with what was generated', async t => {
  const store = await openTemporaryStore(t)
  const saved = Promise.withResolvers<void>()
  const watched = replaceOperations(store, {
    async saveResponse(save) {
      const result = await store.saveResponse(save)
      saved.resolve()
      return result
    }
  })
  const { url, ask, textOf } = await start(t, watched)
  for (const model of [NATIVE_ALIAS, chat.aliases.keyed]) {
    const abort = new AbortController()
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({
        model,
        input: 'my name is Ada[[chunks:["one ","two ","three ","four ","five "]]][[tick:200]]',
        stream: true
      }),
      signal: abort.signal
    })
    let text = ''
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString()
      if (text.includes('output_text.delta')) break
    }
    abort.abort()
    let record: Loose
    while (record === undefined) {
      record = await findRecord(store, idOf(text))
      if (record === undefined) await new Promise(resolve => setTimeout(resolve, 20))
    }
    t.match(record, { status: 'incomplete', body: { status: 'incomplete', output: [] } })
    t.match(record.output, [{ type: 'message', status: 'incomplete', content: [{ text: /^one/ }] }])
    const next = await ask('v1', { model, input: '[[recall]]', previous_response_id: record.id })
    t.match(textOf(next), /my name is Ada/)
  }
})

t.test('memory 12: a stream that the drain cuts is stored before the gateway ends', async t => {
  const store = await openTemporaryStore(t)
  const { url, gateway } = await start(t, store, { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '1' })
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({
      model: NATIVE_ALIAS,
      input: '[[chunks:["one ","two ","three ","four ","five "]]][[tick:700]]',
      stream: true
    })
  })
  const reader = response.body?.getReader()
  const { value } = (await reader?.read()) ?? {}
  const id = idOf(Buffer.from(value ?? []).toString())
  await gateway.stop()
  t.match(await findRecord(store, id), { status: 'incomplete' })
})

t.test('memory 11: a response that is too large is served and not stored, with a warning', async t => {
  const store = await openTemporaryStore(t, { maxBytes: 2000 })
  const { ask, url, gateway } = await start(t, store)
  for (const stream of [false, true]) {
    const body = { model: NATIVE_ALIAS, input: 'x'.repeat(3000), stream }
    const response = await ask('v1', body)
    t.match(response, { status: 'completed', store: false })
    t.equal((await post(url, { ...body, input: 'x', previous_response_id: response.id })).status, 404)
  }
  await gateway.stop()
  t.match(
    readLog(gateway).filter(({ event }) => event === 'response_not_stored'),
    [{ reason: 'too_large' }, { reason: 'too_large' }]
  )
})

t.test('memory 14: without an answer of the store a request that needs it is 503, and others are served', async t => {
  const store = await openTemporaryStore(t)
  let isDown = false
  const fail = async () => {
    throw new StoreUnavailable('timeout')
  }
  const failing = replaceOperations(store, {
    saveResponse: save => (isDown ? fail() : store.saveResponse(save)),
    readHistory: question => (isDown ? fail() : store.readHistory(question)),
    acquireConversation: acquire => (isDown ? fail() : store.acquireConversation(acquire))
  })
  const { ask, url } = await start(t, failing)
  const first = await ask('v1', { model: NATIVE_ALIAS, input: 'x' })
  isDown = true
  for (const more of [
    { previous_response_id: first.id },
    { conversation: 'conv_1' },
    { input: [{ type: 'item_reference', id: 'msg_1' }] }
  ]) {
    const { status, json, headers } = await post(url, { model: NATIVE_ALIAS, input: 'x', ...more })
    t.equal(status, 503)
    t.equal(json.error.code, 'store_unavailable')
    t.equal(headers.get('retry-after'), '1')
  }
  for (const stream of [false, true]) {
    t.match(await ask('v1', { model: NATIVE_ALIAS, input: 'x', stream }), { status: 'completed', store: false })
  }
  t.equal((await post(url, { model: NATIVE_ALIAS, input: 'x', store: false })).status, 200)
  isDown = false
  t.equal((await ask('v1', { model: NATIVE_ALIAS, input: 'x', previous_response_id: first.id })).store, true)
  t.same(await store.readResponse({ owner, id: 'none' }), undefined)
})

t.test('the record of a stream is acknowledged before its terminal event is sent', async t => {
  const store = await openTemporaryStore(t)
  let hasSaved = false
  const hasContent = Promise.withResolvers<void>()
  const slow = replaceOperations(store, {
    async saveResponse(save) {
      await hasContent.promise
      hasSaved = true
      return store.saveResponse(save)
    }
  })
  const { url } = await start(t, slow)
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ model: NATIVE_ALIAS, input: 'x', stream: true })
  })
  let text = ''
  let sentBefore = ''
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString()
    if (text.includes('response.completed')) t.ok(hasSaved)
    else sentBefore = text
    if (text.includes('response.output_text.delta')) hasContent.resolve()
  }
  t.match(text, /response\.completed/)
  t.match(sentBefore, /response\.output_text\.delta/, 'what comes before the end does not wait for the store')
})

t.test('truncation auto leaves the oldest turns out once, disabled passes the error', async t => {
  const store = await openTemporaryStore(t)
  const { ask, url, textOf } = await start(t, store)
  const model = 'chat/narrow'
  let previous: string | undefined
  for (const word of ['first-word', 'second-word', 'third-word']) {
    const input = `${word} ${'word '.repeat(300)}`
    previous = (await ask('v1', { model, input, store: true, previous_response_id: previous })).id
  }
  const body = { model, input: `[[recall]] ${'word '.repeat(300)}`, previous_response_id: previous }
  const refused = await post(url, body)
  t.equal(refused.status, 400)
  t.match(refused.json.error, { code: 'context_length_exceeded', param: 'input' })
  for (const stream of [false, true]) {
    const { json, text, headers } = await post(url, { ...body, stream, truncation: 'auto' })
    t.match(json === undefined ? text : textOf(json), /third-word/)
    t.notMatch(json === undefined ? text : textOf(json), /first-word/)
    t.notMatch(headers.get('x-gateway-ignored') ?? '', /truncation/)
  }
})
