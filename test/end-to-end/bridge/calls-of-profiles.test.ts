// The members of a profile file about calls (providers.md 1), through the whole gateway: what the client gets, and what stands in the
// metrics and the record.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { responseMemory } from '../../../worker/providers/http/response-memory.ts'
import { type HttpResponse, post } from '../../support/client.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { scrapeUntil } from '../../support/metrics.ts'
import { waitUntil } from '../../support/processes.ts'
import { startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { createTrafficFiles, readRecords, trafficVariables } from '../../support/recorded-gateway.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const BODY = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'served' }, finish_reason: 'stop' }]
}

const answer: Handler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(BODY))
}

function frame(delta: object): string {
  const choices = [{ index: 0, delta, finish_reason: null }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`
}

/** A provider that answers as the list says, one after the other, and as `rest` says behind its end. */
async function start(t: Test, more: object, handlers: Handler[], rest = answer) {
  let received = 0
  const server = createServer((request, response) => {
    const handler = handlers[received++] ?? rest
    request.resume().on('end', () => handler(request, response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const files = createTrafficFiles(t)
  const gateway = await startProfileGateway(t, {
    env: { ...trafficVariables(files), GATEWAY_METRICS_ENABLED: 'True' },
    profiles: [writeChatProfile({ id: 'p', baseUrl, aliases: [{ alias: 'calls/a' }], more })]
  })
  const ask = (stream = false) =>
    post(`${gateway.url}/v1/chat/completions`, {
      model: 'calls/a',
      messages: [{ role: 'user', content: 'hi' }],
      stream
    })
  const recordOf = async ({ headers }: HttpResponse) => {
    const find = () => readRecords(files.jsonl).find(record => record.request_id === headers.get('x-request-id'))
    await waitUntil(() => find() !== undefined, 'the record is there')
    return find()
  }
  return { gateway, ask, recordOf, received: () => received }
}

const refuse: Handler = (_request, response) => void response.writeHead(503).end()

t.test('retries: a repeated call is served, counted, and shown in its record', async t => {
  const { gateway, ask, recordOf } = await start(t, { retries: 2 }, [refuse, refuse])
  const repeated = await ask()
  t.equal(repeated.status, 200)
  t.match(await recordOf(repeated), { metadata: { upstream_attempts: 3 } })
  t.notHas((await recordOf(await ask()))?.metadata, { upstream_attempts: 1 })
  const name = 'gateway_upstream_retries_total'
  await scrapeUntil(gateway, metrics => metrics.sum(name) === 2, 'the retries are counted')
})

t.test('retries: a call that fails all the same names its attempts in the log', async t => {
  const { gateway, ask, received } = await start(t, { retries: 1 }, [], refuse)
  t.equal((await ask()).status, 503)
  t.equal(received(), 2)
  const failures = () => readLog(gateway).filter(line => line.event === 'upstream_call_failed')
  await waitUntil(() => failures().length > 0, 'the line is there')
  t.match(failures(), [{ attempts: 2, status: 503 }])
})

t.test('a stale connection is hidden from the client, and counted', async t => {
  const { gateway, ask, received } = await start(t, {}, [answer, request => void request.socket.destroy()])
  t.equal((await ask()).status, 200)
  t.equal((await ask()).status, 200)
  t.equal(received(), 3)
  const name = 'gateway_upstream_stale_connections_total'
  await scrapeUntil(gateway, metrics => metrics.sum(name) === 1, 'it is counted')
})

t.test('languages-connections: with 100 connections the other streams are refused within a second', async t => {
  const open: ServerResponse[] = []
  const begin: Handler = (_request, response) => {
    open.push(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frame({ role: 'assistant', content: 'one' }))
  }
  const { gateway, ask, received } = await start(t, { connections: 100 }, Array(100).fill(begin))
  const { url } = gateway
  const body = JSON.stringify({ model: 'calls/a', messages: [{ role: 'user', content: 'hi' }], stream: true })
  const headers = { 'content-type': 'application/json' }
  const streams = await Promise.all(
    Array.from({ length: 250 }, () => fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body }))
  )
  const refused = streams.filter(({ status }) => status === 503)
  t.equal(refused.length, 150)
  t.equal(streams.filter(({ status }) => status === 200).length, 100)
  t.ok(refused.every(response => response.headers.get('retry-after') === '1'))
  t.match(await refused[0]?.json(), { error: { code: 'provider_connections_exhausted' } })
  const plain = await ask()
  t.equal(plain.status, 503, 'a plain request meanwhile')
  t.match(plain.json, { error: { code: 'provider_connections_exhausted' } })
  t.equal(received(), 100, 'the provider was not asked')
  await scrapeUntil(
    gateway,
    metrics => metrics.sum('gateway_upstream_errors_total', { status: 'connections_exhausted' }) === 151,
    'they are counted'
  )
  const failures = () => readLog(gateway).filter(line => line.reason_id === 'connections_exhausted')
  await waitUntil(() => failures().length === 151, 'the log has a line of each')
  for (const response of open) response.end('data: [DONE]\n\n')
  await Promise.all(streams.map(response => response.text().catch(() => undefined)))
})

t.test('an event that has not ended counts among the large responses, until it ends or breaks off', async t => {
  let finish = () => undefined as unknown
  const begin: Handler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frame({ role: 'assistant', content: 'one' }))
    response.write(`: ${'x'.repeat(4_000_000)}`)
    finish = () => response.end(`\n\n${frame({ content: 'two' })}data: [DONE]\n\n`)
  }
  const { gateway, ask } = await start(t, {}, [begin, begin])
  t.ok(gateway.url)
  const stream = ask(true)
  await waitUntil(() => responseMemory.heldBytes > 2_000_000, 'the event is counted')
  finish()
  t.match((await stream).text, /two/)
  t.equal(responseMemory.heldBytes, 0)
})
