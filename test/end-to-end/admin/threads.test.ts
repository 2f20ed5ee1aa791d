// The stored responses for operators: threads and their turns (operations.md 9.8).

import t from 'tap'
import { type ResponseStore, StoreUnavailable } from '../../../shared/memory/store.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { providerKinds } from '../../../worker/providers/registry.ts'
import { emulatorVariables, startEmulator } from '../../support/in-process-gateway.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'
import { createRecord, first, item, keys, message } from '../responses/stored-support.ts'
import { ADMIN_KEY, createCalls } from './support.ts'

const emulator = await startEmulator(t)
const settings = parseSettings({
  ...emulatorVariables(emulator),
  GATEWAY_ENABLE_API_KEY_AUTH: 'true',
  GATEWAY_API_KEYS: JSON.stringify(keys),
  GATEWAY_ADMIN_API_ENABLED: 'true',
  GATEWAY_ADMIN_API_KEY: ADMIN_KEY
})
const lines: Array<Record<string, unknown>> = []

async function start(memory?: ResponseStore) {
  const { pino } = await import('pino')
  const log = pino({ level: 'info' }, { write: line => lines.push(JSON.parse(line)) })
  const parts = { faces: providerFaces, kinds: providerKinds, ...(memory && { memory }) }
  const { url } = await startWorker(t, { ...workerOptions(settings), log }, parts)
  return { url, ...createCalls({ url }) }
}

const store = await openTemporaryStore(t)
const gateway = await start(store)

async function create(body: object, key: string = keys.first) {
  const answer = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: JSON.stringify({ model: 'GigaChat-2', ...body })
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
  return (await answer.json()) as any
}

t.test('memory 20: threads of all keys are listed, the one that was used last first, in pages', async t => {
  const one = await create({ input: 'one' })
  const two = await create({ input: 'two' }, keys.second)
  const three = await create({ input: 'three' })
  await create({ input: 'more', previous_response_id: one.id })
  const { status, json, headers } = await gateway.call('/_admin/threads')
  t.equal(status, 200)
  t.equal(headers.get('cache-control'), 'no-store')
  t.match(json, {
    data: [
      { id: one.id, kind: 'responses', owner: 'first', turns: 2, model: 'GigaChat-2', bytes: Number },
      { id: three.id, owner: 'first', turns: 1 },
      { id: two.id, owner: 'second', turns: 1, created_at: /\+00:00$/, updated_at: /\+00:00$/ }
    ],
    limit: 100,
    cursor: null,
    next_cursor: null
  })
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await gateway.call(`/_admin/threads?limit=1&cursor=${encodeURIComponent(cursor)}`)
    seen.push(...page.json.data.map(({ id }: { id: string }) => id))
    cursor = page.json.next_cursor
  }
  t.strictSame(seen, [one.id, three.id, two.id])
})

t.test('memory 20: the turns of a thread are read with their content, and that is audited', async t => {
  const one = await create({ input: 'my name is Ada' })
  const two = await create({ input: [{ role: 'user', content: '[[text:Hello Ada]]' }], previous_response_id: one.id })
  lines.length = 0
  const { status, json } = await gateway.call(`/_admin/threads/${one.id}`)
  t.equal(status, 200)
  t.match(json, { limit: 100, has_more: false })
  t.match(json.data, [
    { id: one.id, status: 'completed', previous_response_id: null, input: [{ content: [{ text: 'my name is Ada' }] }] },
    {
      id: two.id,
      previous_response_id: one.id,
      model: 'GigaChat-2',
      output: [{ type: 'message', content: [{ text: 'Hello Ada' }] }]
    }
  ])
  const part = await gateway.call(`/_admin/threads/${one.id}?limit=1`)
  t.match(part.json, { data: [{ id: one.id }], limit: 1, has_more: true })
  t.match(
    lines.filter(({ event }) => event === 'admin_audit'),
    [{ action: 'thread_read', target: one.id, outcome: 'ok', row_count: 2 }]
  )
})

t.test('memory 20: a large item is named without its content', async t => {
  const record = createRecord({ output: [item(message('x'.repeat(70_000), 'msg_large'))] })
  await store.saveResponse({ owner: first, record })
  const { json } = await gateway.call(`/_admin/threads/${record.id}`)
  t.match(json.data[0].output, [{ id: 'msg_large', omitted_bytes: Number }])
})

t.test('memory 20: what is no thread, and a wrong query, are refused', async t => {
  for (const id of ['resp_1', `resp_${'a'.repeat(32)}`]) {
    t.match(await gateway.call(`/_admin/threads/${id}`), { status: 404, json: { error: { code: 'thread_not_found' } } })
  }
  const empty = await gateway.call(`/_admin/threads/conv_${'a'.repeat(32)}`)
  t.match(empty, { status: 200, json: { data: [] } }, 'a conversation may have no turn')
  t.match(await gateway.call('/_admin/threads?limit=501'), { status: 422 })
  t.match(await gateway.call('/_admin/threads?cursor=%20'), {
    status: 400,
    json: { error: { code: 'invalid_cursor' } }
  })
})

t.test('memory 20: they need the admin key and a store that gives answers', async t => {
  for (const path of ['/_admin/threads', `/_admin/threads/resp_${'a'.repeat(32)}`]) {
    t.equal((await gateway.call(path, { headers: { 'x-api-key': keys.first } })).status, 403)
  }
  const broken = new Proxy({} as ResponseStore, { get: () => () => Promise.reject(new StoreUnavailable('timeout')) })
  const down = await start(broken)
  t.match(await down.call('/_admin/threads'), { status: 503, json: { error: { code: 'store_unavailable' } } })
})

t.test('memory 17: without a store they do not exist', async t => {
  const stateless = await start()
  t.match(await stateless.call('/_admin/threads'), { status: 404, json: { error: { code: 'not_found' } } })
  const document = await stateless.call('/openapi.json', { headers: { 'x-api-key': keys.first } })
  t.notMatch(Object.keys(document.json.paths).join(), /_admin.threads|conversation|response_id/)
  const stored = await gateway.call('/openapi.json', { headers: { 'x-api-key': keys.first } })
  t.match(Object.keys(stored.json.paths).join(), /_admin.threads.\{id\}/)
})
