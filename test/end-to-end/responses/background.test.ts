// Responses in the background on every route, in a SQLite file: polled, streamed, left by their clients, refused (memory.md 4).

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { isEnded, type ResponseRecord } from '../../../shared/memory/store.ts'
import { readResponsesStrictly } from '../../properties/responses-events.ts'
import { post } from '../../support/client.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { writeChatProfile } from '../../support/profile-gateway.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { chat, NATIVE_ALIAS, providers, responses, startBridge } from '../bridge/providers/index.ts'
import type { Loose } from './memory-support.ts'

/** A service of this wire whose state the gateway keeps. */
const OWN_STATE = 'own-state/gpt'
const NARROW = 'chat/narrow'
const OWNER = { name: '' }

const store = await openTemporaryStore(t)
const { gateway } = await startBridge(t, {
  memory: store,
  env: { GATEWAY_ACCESS_LOG: 'true' },
  profiles: emulator => [
    writeChatProfile({
      id: 'own-state',
      kind: responses.kind as never,
      baseUrl: responses.baseUrl(emulator, 'keyless', 'responses-keyless'),
      aliases: [{ alias: OWN_STATE, model: responses.models.keyless, more: {} }],
      more: { ...responses.more, state: 'gateway' }
    }),
    writeChatProfile({
      id: 'narrow',
      baseUrl: chat.baseUrl(emulator, 'keyless', 'chat-keyless'),
      aliases: [{ alias: NARROW, limits: { context_window: 1500, max_output_tokens: 100 } }]
    })
  ]
})

const routes = [
  { name: 'native v1', version: 'v1', model: NATIVE_ALIAS },
  { name: 'native v2', version: 'v2', model: NATIVE_ALIAS },
  { name: 'its own wire', version: 'v1', model: OWN_STATE },
  ...providers
    .filter(provider => provider !== responses)
    .map(({ name, aliases }) => ({ name, version: 'v1', model: aliases.keyed }))
] as const

const create = (version: string, body: object) =>
  post(`${gateway.url}/${version}/responses`, { background: true, ...body })

async function read(id: string): Promise<{ record: ResponseRecord; body: Loose }> {
  const record = await store.readResponse({ owner: OWNER, id })
  if (record === undefined) throw new Error(`There is no ${id}.`)
  const body = JSON.parse(Buffer.from(record.body).toString())
  return {
    record,
    body: { ...body, output: record.output.map(({ json }) => JSON.parse(Buffer.from(json).toString())) }
  }
}

/** Of a stream whose frames are those of a provider. */
function lastResponse(text: string): Loose {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '')).at(-1).response
}

async function whenEnded(id: string): Promise<{ record: ResponseRecord; body: Loose }> {
  for (;;) {
    const found = await read(id)
    if (isEnded(found.record.status)) return found
    await sleep(20)
  }
}

for (const { name, version, model } of routes) {
  t.test(`memory 13: a response of ${name} is queued, runs and is stored`, async t => {
    const { status, json } = await create(version, { model, input: '[[text:Hello there.]]' })
    t.equal(status, 200)
    t.match(json, { object: 'response', status: 'queued', background: true, store: true, output: [], usage: null })
    const { record, body } = await whenEnded(json.id)
    t.match(body, { id: json.id, status: 'completed', background: true, store: true, created_at: json.created_at })
    t.match(body.output.at(-1), { type: 'message', content: [{ text: 'Hello there.' }] })
    t.ok(body.usage.total_tokens > 0)
    t.equal(record.isBackground, true)
    const page = await store.readEvents({ owner: OWNER, id: json.id, after: -1 })
    const events = page?.events.map(({ json: event }) => JSON.parse(Buffer.from(event).toString()))
    t.equal(events?.at(-1).sequence_number, record.lastSequenceNumber)
    t.same(events?.at(-1).response, body)
  })

  t.test(`memory 13: a stream of ${name} has the events that are stored, and is a stream of this protocol`, async t => {
    const { status, text } = await create(version, { model, input: '[[text:Hello there.]]', stream: true })
    t.equal(status, 200)
    const response = model === OWN_STATE ? lastResponse(text) : readResponsesStrictly(text).response
    t.match(response, { status: 'completed', background: true })
    const page = await store.readEvents({ owner: OWNER, id: String(response.id), after: -1 })
    const stored = page?.events.map(({ json }) => JSON.parse(Buffer.from(json).toString()))
    t.same(
      [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '')),
      stored
    )
    t.same(
      stored?.slice(0, 3).map(({ type, response: { status: now } }) => [type, now]),
      [
        ['response.created', 'queued'],
        ['response.queued', 'queued'],
        ['response.in_progress', 'in_progress']
      ]
    )
  })

  t.test(`a response of ${name} that its client leaves runs on, and one that fails is stored as failed`, async t => {
    const leave = new AbortController()
    const stream = await fetch(`${gateway.url}/${version}/responses`, {
      method: 'POST',
      body: JSON.stringify({ background: true, stream: true, model, input: '[[tick:20]][[len:20]]' }),
      signal: leave.signal
    })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    const first = (await reader?.read())?.value ?? ''
    const id = /"id":"(resp_[^"]+)"/.exec(first)?.[1] ?? ''
    leave.abort()
    const { body } = await whenEnded(id)
    t.equal(body.status, 'completed')
    t.ok(body.output.at(-1).content[0].text.length > 20)
    const failed = await create(version, { model, input: '[[error:500]]' })
    t.equal(failed.json.status, 'queued')
    t.match((await whenEnded(failed.json.id)).body, { status: 'failed', error: { code: 'server_error' } })
    const broken = await create(version, { model, input: '[[text:one two three]][[len:6]][[die:4]]' })
    const end = await whenEnded(broken.json.id)
    t.match(end.body, { status: 'failed', error: { code: 'server_error' } })
    t.ok(end.body.output.length > 0, 'what was generated')
  })

  t.test(`memory 13: a cancelled response of ${name} keeps what was generated`, async t => {
    const { json } = await create(version, { model, input: '[[text:one two three]][[len:6]][[hang:6]]' })
    const owned = { owner: OWNER, id: json.id }
    while ((await store.readEvents({ ...owned, after: 4 }))?.events.length === 0) await sleep(20)
    t.equal(await store.cancelResponse(owned), 'marked')
    const { body } = await whenEnded(json.id)
    t.match(body, { id: json.id, status: 'cancelled', error: null, incomplete_details: null })
    t.match(body.output.at(-1), { type: 'message', status: 'incomplete', content: [{ text: /^on/ }] })
  })
}

t.test('a turn in the background continues a chain and is continued', async t => {
  const first = await post(`${gateway.url}/v1/responses`, { model: NATIVE_ALIAS, input: 'my name is Ada' })
  const body = { model: NATIVE_ALIAS, input: '[[recall]]', previous_response_id: first.json.id }
  const { json } = await create('v1', body)
  t.equal(json.previous_response_id, first.json.id)
  const second = await whenEnded(json.id)
  t.match(second.body.output.at(-1).content[0].text, /Ada/)
  const third = await post(`${gateway.url}/v2/responses`, { ...body, previous_response_id: json.id })
  t.match(JSON.stringify(third.json.output), /Ada/)
})

t.test('a response that runs cannot be continued yet', async t => {
  const { json } = await create('v1', { model: NATIVE_ALIAS, input: '[[hang]]' })
  const next = await post(`${gateway.url}/v1/responses`, {
    model: NATIVE_ALIAS,
    input: 'x',
    previous_response_id: json.id
  })
  t.equal(next.status, 400)
  t.equal(next.json.error.param, 'previous_response_id')
  await store.cancelResponse({ owner: OWNER, id: json.id })
  t.equal((await whenEnded(json.id)).body.status, 'cancelled')
})

t.test('what is wrong with a request is an error, and nothing runs', async t => {
  const model = NATIVE_ALIAS
  const unstored = await create('v1', { model, input: 'x', store: false })
  t.equal(unstored.status, 400)
  t.equal(unstored.json.error.param, 'store')
  t.equal((await create('v1', { model: providers[0]?.aliases.disabled, input: 'x' })).status, 404)
  t.match((await create('v1', { model, input: [1] })).json.error, { param: 'input[0]' })
  const unknown = await create('v1', { model, input: 'x', previous_response_id: `resp_${'a'.repeat(32)}` })
  t.equal(unknown.json.error.code, 'previous_response_not_found')
})

t.test('a response that is deleted while it runs ends and stays deleted', async t => {
  const { json } = await create('v1', { model: NATIVE_ALIAS, input: '[[len:9]][[hang:5]]' })
  const owned = { owner: OWNER, id: json.id }
  const countEnded = () => readLog(gateway).filter(({ status }) => status === 499).length
  const ended = countEnded()
  t.equal(await store.deleteResponse(owned), true)
  while (countEnded() === ended) await sleep(20)
  t.equal(await store.readResponse(owned), undefined)
})

t.test('a turn in the background is the only one of its conversation until it ends', async t => {
  const conversation = (await post(`${gateway.url}/v1/conversations`, {})).json.id
  const { json } = await create('v1', {
    model: NATIVE_ALIAS,
    input: 'my name is Ada[[tick:40]][[len:20]]',
    conversation
  })
  t.match(json, { status: 'queued', conversation: { id: conversation } })
  const next = await post(`${gateway.url}/v1/responses`, { model: NATIVE_ALIAS, input: '[[recall]]', conversation })
  t.equal((await read(json.id)).record.status, 'completed', 'the next one has waited')
  t.match(JSON.stringify(next.json.output), /my name is Ada/)
})

t.test('truncation auto leaves the oldest turns out in the background too', async t => {
  let previous: string | undefined
  for (const word of ['first-word', 'second-word', 'third-word']) {
    const input = `${word} ${'word '.repeat(300)}`
    const turn = { model: NARROW, input, previous_response_id: previous }
    previous = (await post(`${gateway.url}/v1/responses`, turn)).json.id
  }
  const body = { model: NARROW, input: `[[recall]] ${'word '.repeat(300)}`, previous_response_id: previous }
  const refused = await create('v1', body)
  t.equal(refused.status, 400, 'what is wrong before the call is an error at once')
  const { json } = await create('v1', { ...body, truncation: 'auto' })
  const { body: response } = await whenEnded(json.id)
  t.equal(response.status, 'completed')
  t.match(JSON.stringify(response.output), /third-word/)
  t.notMatch(JSON.stringify(response.output), /first-word/)
})

t.test('a large request runs in the background like a small one', async t => {
  const instructions = 'x'.repeat(600_000)
  const { json } = await create('v2', {
    model: NATIVE_ALIAS,
    input: `[[text:Hello]]${'y'.repeat(900_000)}`,
    instructions
  })
  t.match(json, { status: 'queued', instructions })
  const { record, body } = await whenEnded(json.id)
  t.match(body, { status: 'completed', instructions })
  t.ok((record.input[0]?.json.byteLength ?? 0) > 900_000)
})
