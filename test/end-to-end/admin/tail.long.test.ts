// The tail as server-sent events, with requests that are made while it is open (operations.md 9.3).
import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { killWriter, sendPings } from '../../support/traffic.ts'
import {
  ADMIN_KEY,
  type AdminGateway,
  readEvents,
  recording,
  type StreamEvent,
  startAdminGateway,
  until
} from './support.ts'

const chat = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'hi' }] }

function openTail({ gateway }: AdminGateway, query = '', headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.url}/_admin/logs/tail${query}`, {
    headers: { 'x-admin-api-key': ADMIN_KEY, accept: 'text/event-stream', ...headers }
  })
}

/** Makes a chat and returns the id of its request. */
async function send({ gateway }: AdminGateway): Promise<string> {
  const response = await post(`${gateway.url}/v1/chat/completions`, chat)
  return response.headers.get('x-request-id') ?? ''
}

const requestIdOf = ({ data }: StreamEvent): string => JSON.parse(data ?? '{}').request_id

async function start(t: Test): Promise<AdminGateway> {
  return startAdminGateway(t, { env: recording })
}

t.test('operations 87: every new record is an event, once, and a client that comes back misses none', async t => {
  const started = await start(t)
  const first = await send(started)
  const second = await send(started)
  const response = await openTail(started)
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(response.headers.get('cache-control'), 'no-store')
  const sending: Array<Promise<string>> = []
  const seen: string[] = []
  const events = await readEvents(response, {
    count: 5,
    onEvent(event) {
      seen.push(requestIdOf(event))
      // Each new request is made when the one before it was shown.
      if (seen.length >= 2 && seen.length < 5) sending.push(send(started))
    }
  })
  const sent = await Promise.all(sending)
  t.ok(events.every(({ event }) => event === 'log'))
  t.same(seen.slice(0, 2), [first, second], 'what was recorded a moment before is in the first page, oldest first')
  t.same(seen.slice(2), sent)
  t.equal(new Set(events.map(({ id }) => id)).size, 5)
  t.same(
    events.map(({ id, data }) => id === JSON.parse(data ?? '').id),
    [true, true, true, true, true]
  )

  const missed = await send(started)
  const again = await openTail(started, '', { 'last-event-id': events[2]?.id ?? '' })
  const resumed = await readEvents(again, { count: 3 })
  t.same(resumed.map(requestIdOf), [...sent.slice(1), missed])

  const strange = await openTail(started, '?limit=1', { 'last-event-id': 'no such id' })
  t.same((await readEvents(strange, { count: 1 })).map(requestIdOf), [missed])

  // Records that are stored together: a client may leave after any of them and wants those behind it.
  const crowded = await openTail(started, '?limit=1')
  const pings = sendPings(started.gateway.url, 50)
  const ids = (await readEvents(crowded, { count: 51 })).map(({ id }) => id)
  await pings
  t.same(ids, ids.toSorted())
})

t.test('a tail has the records that other workers stored while the writer was started again', async t => {
  const started = await startAdminGateway(t, { env: { ...recording, GATEWAY_WORKERS: '2' } })
  await send(started)
  const response = await openTail(started)
  const sending = sendPings(started.gateway.url, 400)
  await killWriter(started.gateway)
  const sent = new Set(await sending)
  await readEvents(response, { count: 401, onEvent: event => sent.delete(requestIdOf(event)) })
  t.same([...sent], [])
})

t.test('a tail ends when the gateway stops, and takes no part in the wait for running requests', async t => {
  const started = await start(t)
  await send(started)
  const response = await openTail(started)
  let stopped: Promise<number | null> | undefined
  const events = await readEvents(response, {
    onEvent() {
      stopped ??= started.gateway.stop()
    }
  })
  t.equal(events.length, 1)
  t.equal(await stopped, 0)
})

t.test('tails are bounded, and one that was closed makes room', async t => {
  const started = await start(t)
  await send(started)
  const open = await Promise.all(Array.from({ length: 16 }, () => openTail(started)))
  t.ok(open.every(({ status }) => status === 200))
  const refused = await openTail(started)
  t.equal(refused.status, 429)
  t.match(await refused.json(), { error: { code: 'too_many_streams' } })
  t.equal((await started.logs('/tail')).status, 200, 'the JSON form is no stream')
  await open[0]?.body?.cancel()
  const again = await until(
    () => openTail(started),
    ({ status }) => status === 200
  )
  for (const response of [...open.slice(1), again]) await response.body?.cancel()
})
