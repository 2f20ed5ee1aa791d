// Responses in the background with the official SDK and two workers: what one of them runs, the other one reads, follows and cancels; and
// what becomes of it where its worker is killed and where the gateway drains (memory.md 4, case 13).

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import t, { type Test } from 'tap'
import { Agent, fetch as fetchWith } from 'undici'
import { emulatorVariables, readLog, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const MODEL = 'GigaChat-2'
const emulator = await startEmulator(t)

interface Started {
  gateway: StartedGateway
  client: OpenAI
}

async function start(t: Test, database: string, env: Record<string, string> = {}): Promise<Started> {
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_WORKERS: '2',
      GATEWAY_ACCESS_LOG: 'true',
      GATEWAY_RESPONSES_STORE_DSN: `sqlite:${database}`,
      ...env
    }
  })
  return { gateway, client: connect(gateway.url) }
}

/** Each request has a connection of its own, so that any worker may get it. */
function connect(url: string): OpenAI {
  return new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: 'none',
    maxRetries: 0,
    fetch: async (address, init) => {
      const dispatcher = new Agent({ pipelining: 0, keepAliveTimeout: 1 })
      return (await fetchWith(address as string, { ...(init as object), dispatcher })) as unknown as Response
    }
  })
}

function newDatabase(t: Test): string {
  return join(createTemporaryFolder(t, 'responses-'), 'responses.sqlite')
}

async function whenEnded(client: OpenAI, id: string): Promise<OpenAI.Responses.Response> {
  for (;;) {
    const response = await client.responses.retrieve(id)
    if (response.status !== 'queued' && response.status !== 'in_progress') return response
    await sleep(50)
  }
}

/** Which workers have served requests whose path matches. */
function listWorkers(gateway: StartedGateway, path: RegExp): Set<unknown> {
  const lines = readLog(gateway).filter(line => line.event === 'http_access' && path.test(String(line.path)))
  return new Set(lines.map(({ worker }) => worker))
}

t.test('memory 7, 13: two workers', async t => {
  const { gateway, client } = await start(t, newDatabase(t))

  t.test('every worker shows how a response grows, and its end', async t => {
    const { id, status } = await client.responses.create({
      model: MODEL,
      input: '[[tick:40]][[len:40]]',
      background: true
    })
    t.equal(status, 'queued')
    const seen = new Set<unknown>()
    let length = 0
    for (;;) {
      const response = await client.responses.retrieve(id)
      seen.add(response.status)
      t.ok(response.output_text.length >= length, 'what was generated stays')
      length = response.output_text.length
      if (response.status === 'in_progress' && length > 0) seen.add('grows')
      if (response.status === 'completed') break
      await sleep(50)
    }
    t.ok(seen.has('in_progress') && seen.has('grows'), [...seen].join())
    await waitUntil(async () => {
      // The kernel spreads connections at random, and a loaded machine makes few of them until the end.
      t.equal((await client.responses.retrieve(id)).output_text.length, length)
      return listWorkers(gateway, new RegExp(id)).size === 2
    }, 'both workers have served it')
  })

  t.test('followers that come and go have every event exactly once', async t => {
    const live: ResponseStreamEvent[] = []
    const stream = await client.responses.create({
      model: MODEL,
      input: '[[reason:because]][[tick:20]][[len:100]]',
      background: true,
      stream: true
    })
    let id = ''
    const followers: Promise<ResponseStreamEvent[]>[] = []
    for await (const event of stream) {
      live.push(event)
      if (event.type !== 'response.created') continue
      id = event.response.id
      for (let step = 3; step < 9; step++) followers.push(follow(client, id, step))
    }
    t.equal(live.at(-1)?.type, 'response.completed')
    t.same(
      live.map(({ sequence_number: number }) => number),
      live.map((_event, index) => index)
    )
    for (const followed of await Promise.all(followers)) t.strictSame(followed, live)
    await waitUntil(() => listWorkers(gateway, new RegExp(id)).size === 2, 'both workers have served it')
    const response = await client.responses.retrieve(id)
    t.match(live.at(-1), { response: { output: response.output, usage: response.usage } })
    const rebuilt = await client.responses.stream({ response_id: id }).finalResponse()
    t.equal(rebuilt.output_text, response.output_text)
    t.equal(response.background, true)
  })

  t.test('a response is cancelled from any worker, any number of times', async t => {
    const { id } = await client.responses.create({ model: MODEL, input: '[[len:9]][[hang:5]]', background: true })
    await waitUntil(async () => (await client.responses.retrieve(id)).output_text !== '', 'there is a text')
    const cancelled = await Promise.all(Array.from({ length: 6 }, () => client.responses.cancel(id)))
    for (const { status } of cancelled) t.equal(status, 'cancelled')
    // The SDK adds `output_text` to what it retrieves alone.
    const { output_text: text, ...response } = await client.responses.retrieve(id)
    t.not(text, '')
    t.same(await client.responses.cancel(id), response)
    const events = await follow(client, id, 1000)
    t.match(events.at(-1), { type: 'response.incomplete', response: { status: 'cancelled' } })
    const last = await client.responses.stream({ response_id: id }).finalResponse()
    t.equal(last.status, 'cancelled')
  })

  t.test('what cannot be cancelled is refused', async t => {
    const whole = await client.responses.create({ model: MODEL, input: 'x' })
    t.equal(await statusOf(client.responses.cancel(whole.id)), 400)
    const { id } = await client.responses.create({ model: MODEL, input: 'x', background: true })
    await whenEnded(client, id)
    t.equal(await statusOf(client.responses.cancel(id)), 400)
    t.equal(await statusOf(client.responses.cancel(`resp_${'a'.repeat(32)}`)), 404)
  })

  t.test('a response that is deleted while it runs is gone, and its call ends', async t => {
    const { id } = await client.responses.create({ model: MODEL, input: '[[len:9]][[hang:5]]', background: true })
    await client.responses.delete(id)
    await waitUntil(
      () => readLog(gateway).some(line => line.event === 'http_access' && line.status === 499),
      'its run has ended'
    )
    t.equal(await statusOf(client.responses.retrieve(id)), 404)
  })

  t.test('where its worker is killed, a response fails and its stream ends', async t => {
    const { id } = await client.responses.create({ model: MODEL, input: '[[len:9]][[hang:5]]', background: true })
    await waitUntil(async () => (await client.responses.retrieve(id)).output_text !== '', 'there is a text')
    const children = readChildPids(Number(gateway.process.pid))
    for (const pid of children) if (isWorker(pid)) process.kill(pid, 'SIGKILL')
    await waitUntil(
      async () => (await fetch(`${gateway.url}/ready`).catch(() => undefined))?.status === 200,
      'it is back'
    )
    const events = await follow(client, id, 1000)
    t.match(events.at(-1), { type: 'response.failed', response: { id, error: { code: 'server_error' } } })
    t.same(
      events.map(({ sequence_number: number }) => number),
      events.map((_event, index) => index)
    )
    const response = await client.responses.retrieve(id)
    t.match(response, { status: 'failed', error: { code: 'server_error' } })
    t.not(response.output_text, '', 'what was generated')
  })
})

t.test('memory 13: a drain waits for a response in the background', async t => {
  const database = newDatabase(t)
  const first = await start(t, database)
  const input = '[[tick:30]][[len:60]]'
  const { id } = await first.client.responses.create({ model: MODEL, input, background: true })
  first.gateway.process.kill('SIGTERM')
  await once(first.gateway.process, 'exit')
  t.equal(first.gateway.process.exitCode, 0)
  const second = await start(t, database)
  t.equal((await second.client.responses.retrieve(id)).status, 'completed')
})

t.test('memory 13: at the deadline of a drain a response is stored as failed, with what was generated', async t => {
  const database = newDatabase(t)
  const first = await start(t, database, { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '1' })
  const input = '[[len:9]][[hang:5]]'
  const { id } = await first.client.responses.create({ model: MODEL, input, background: true })
  await waitUntil(async () => (await first.client.responses.retrieve(id)).output_text !== '', 'there is a text')
  first.gateway.process.kill('SIGTERM')
  await once(first.gateway.process, 'exit')
  const second = await start(t, database)
  const response = await second.client.responses.retrieve(id)
  t.match(response, { status: 'failed', error: { code: 'server_error' } })
  t.not(response.output_text, '')
})

/** Follows a response over several connections, each for so many events. */
async function follow(client: OpenAI, id: string, step: number): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = []
  for (;;) {
    const after = events.at(-1)?.sequence_number
    const query = after === undefined ? {} : { starting_after: after }
    const stream = await client.responses.retrieve(id, { stream: true, ...query })
    let taken = 0
    for await (const event of stream) {
      events.push(event)
      taken += 1
      if (/^response\.(completed|failed|incomplete)$/.test(event.type)) return events
      if (taken === step) break
    }
  }
}

async function statusOf(refused: Promise<unknown>): Promise<unknown> {
  const error = await refused.then(
    () => undefined,
    (thrown: unknown) => thrown
  )
  return error instanceof OpenAI.APIError ? error.status : error
}

/** Node numbers the processes of a cluster. */
function isWorker(pid: number): boolean {
  return readFileSync(`/proc/${pid}/environ`, 'utf8').includes('NODE_UNIQUE_ID=')
}
