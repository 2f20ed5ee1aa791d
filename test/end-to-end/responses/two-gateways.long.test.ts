// Two gateways on two addresses with one Postgres (memory.md 7, case 15): turns alternate between them, one is killed, the database goes away.
import t, { type Test } from 'tap'
import { get, post, postUntilCut } from '../../support/client.ts'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { createReader, type Loose } from './memory-support.ts'

const MODEL = 'GigaChat-2-Max'
const HOSTS = ['127.0.0.1', '127.0.0.2'] as const

interface Host extends StartedGateway {
  readonly reader: ReturnType<typeof createReader>
}

const server = await startPostgres(t)
const emulator = await startEmulator(t)

async function startHost(
  t: Test,
  host: string,
  changes: Readonly<Record<string, string | undefined>> = {}
): Promise<Host> {
  const env = {
    ...emulatorVariables(emulator),
    GATEWAY_HOST: host,
    GATEWAY_STARTUP_TIMEOUT_SECONDS: '55',
    GATEWAY_RESPONSES_STORE_DSN: server.dsn,
    GATEWAY_RESPONSES_STORE_AUTO_MIGRATE: 'true',
    ...changes
  }
  const gateway = await startGateway(t, { env })
  const url = gateway.url.replace('127.0.0.1', host)
  return { ...gateway, url, reader: createReader({ url }) }
}

/** Ends a gateway as a host does that loses its power: all its processes at once. */
function kill({ process: { pid } }: Host): void {
  if (pid === undefined) return
  for (const child of [pid, ...readChildPids(pid)]) process.kill(child, 'SIGKILL')
}

/** One turn; undefined where it was not acknowledged: the terminal event or the whole body did not arrive. */
async function takeTurn(
  { url }: Host,
  body: { readonly stream: boolean; readonly [member: string]: unknown }
): Promise<Loose | undefined> {
  try {
    const { status, text, json, isCut } = await postUntilCut(`${url}/v1/responses`, { model: MODEL, ...body })
    if (!body.stream) return status === 200 ? json : undefined
    const [, terminal] = /^event: response\.completed\ndata: (.*)$/m.exec(text) ?? []
    return isCut || terminal === undefined ? undefined : JSON.parse(terminal).response
  } catch {
    return undefined
  }
}

t.test('no gateway makes tables that it was not told to make', async t => {
  await t.rejects(startHost(t, HOSTS[0], { GATEWAY_RESPONSES_STORE_AUTO_MIGRATE: undefined }), {
    message: /GATEWAY_RESPONSES_STORE_AUTO_MIGRATE=True/
  })
  const wrong = server.dsn.replace(server.password, 'wrong')
  const refused = await startHost(t, HOSTS[0], { GATEWAY_RESPONSES_STORE_DSN: wrong }).catch((error: Error) => error)
  t.match(refused, { message: /refuses the user, the password or the database/ })
  t.notMatch(refused, { message: /postgres-password|:wrong@/ }, 'no password is shown')
})

t.test('two gateways that start together on an empty database', async t => {
  const [one, two] = (await Promise.all(HOSTS.map(host => startHost(t, host)))) as [Host, Host]

  t.test('memory 15: turns alternate between them, whole and streamed', async t => {
    for (const stream of [false, true]) {
      const words = Array.from({ length: 8 }, (_, turn) => `word-${stream}-${turn}`)
      let previous: string | undefined
      for (const [turn, input] of words.entries()) {
        const { reader } = turn % 2 === 0 ? one : two
        const response = await reader.ask('v1', { model: MODEL, input, stream, previous_response_id: previous })
        t.equal(response.store, true)
        previous = response.id
      }
      for (const { reader } of [one, two]) {
        const recall = { model: MODEL, input: '[[recall]]', stream, previous_response_id: previous }
        const text = reader.textOf(await reader.ask('v1', recall))
        for (const word of words) t.match(text, word)
      }
    }
  })

  t.test('what one stores is read, listed and deleted on the other at once', async t => {
    for (let round = 0; round < 25; round++) {
      const [writer, reader] = round % 2 === 0 ? [one, two] : [two, one]
      const { id } = await writer.reader.ask('v1', { model: MODEL, input: `round ${round}`, stream: round % 3 === 0 })
      t.equal((await get(`${reader.url}/v1/responses/${id}`)).status, 200)
      t.match((await get(`${reader.url}/v1/responses/${id}/input_items`)).json, {
        data: [{ content: [{ text: `round ${round}` }] }]
      })
      const deleted = await fetch(`${reader.url}/v1/responses/${id}`, { method: 'DELETE' })
      t.equal(deleted.status, 200)
      t.equal((await get(`${writer.url}/v1/responses/${id}`)).status, 404)
    }
  })

  t.test('a conversation takes turns on both', async t => {
    const { json: conversation } = await post(`${one.url}/v1/conversations`, {})
    for (const [turn, { reader }] of [two, one, two, one].entries()) {
      await reader.ask('v1', { model: MODEL, input: `turn ${turn}`, conversation: conversation.id })
    }
    const { json } = await get(`${two.url}/v1/conversations/${conversation.id}/items?order=asc&limit=100`)
    t.equal(json.data.length, 8)
    const asked = json.data.filter(({ role }: Loose) => role === 'user')
    t.same(
      asked.map(({ content }: Loose) => content[0].text),
      ['turn 0', 'turn 1', 'turn 2', 'turn 3']
    )
  })

  t.test('a response in the background on one is followed and cancelled on the other', async t => {
    const running = { model: MODEL, input: '[[text:one two three]][[len:6]][[hang:6]]', background: true }
    const { json: queued } = await post(`${one.url}/v1/responses`, running)
    t.equal(queued.status, 'queued')
    const address = `${two.url}/v1/responses/${queued.id}`
    const stream = await fetch(`${address}?stream=true`)
    t.equal(stream.status, 200)
    let text = ''
    let isAsked = false
    for await (const chunk of (stream.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (isAsked || !text.includes('output_text.delta')) continue
      isAsked = true
      t.equal((await post(`${address}/cancel`, {})).status, 200)
    }
    t.ok(isAsked)
    const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number))
    t.same(
      numbers,
      numbers.map((_, index) => index)
    )
    for (const { url } of [one, two]) {
      t.equal((await get(`${url}/v1/responses/${queued.id}`)).json.status, 'cancelled')
    }
  })

  t.test('memory 15: one is killed in the middle: no acknowledged turn is lost', async t => {
    const running = { model: MODEL, input: '[[text:one two three]][[len:6]][[hang:6]]', background: true }
    const { json: lost } = await post(`${one.url}/v1/responses`, running)
    const readLost = async () => (await get(`${two.url}/v1/responses/${lost.id}`)).json
    await waitUntil(async () => (await readLost()).status === 'in_progress', 'the response runs')
    const CHAINS = 6
    const TURNS = 12
    const acknowledged: Array<Array<{ id: string; word: string }>> = Array.from({ length: CHAINS }, () => [])
    let isKilled = false
    const countAll = () => acknowledged.reduce((sum, turns) => sum + turns.length, 0)
    await Promise.all(
      acknowledged.map(async (turns, chain) => {
        for (let attempt = 0; turns.length < TURNS; attempt++) {
          const host = !isKilled && (attempt + chain) % 2 === 0 ? one : two
          const word = `word-${chain}-${turns.length}-${attempt}`
          const previous = turns.at(-1)?.id
          const response = await takeTurn(host, {
            input: word,
            stream: attempt % 3 !== 0,
            ...(previous !== undefined && { previous_response_id: previous })
          })
          if (response !== undefined) turns.push({ id: response.id, word })
          if (!isKilled && countAll() >= (CHAINS * TURNS) / 2) {
            isKilled = true
            kill(one)
          }
          if (attempt > 10 * TURNS) throw new Error('the other gateway does not answer')
        }
      })
    )
    t.ok(isKilled)
    for (const turns of acknowledged) {
      for (const { id } of turns) t.equal((await get(`${two.url}/v1/responses/${id}`)).status, 200)
      const recall = { model: MODEL, input: '[[recall]]', previous_response_id: turns.at(-1)?.id }
      const text = two.reader.textOf(await two.reader.ask('v1', recall))
      for (const { word } of turns) t.match(text, word)
    }
    await waitUntil(async () => (await readLost()).status === 'failed', 'the runner is known to have exited')
    t.match(await readLost(), { error: { code: 'server_error' } })
  })

  t.test('the database goes away and comes back: what needs it waits, the rest is served', async t => {
    const first = await two.reader.ask('v1', { model: MODEL, input: 'before' })
    await server.stop()
    const need = [
      () => post(`${two.url}/v1/responses`, { model: MODEL, input: 'x', previous_response_id: first.id }),
      () => post(`${two.url}/v1/responses`, { model: MODEL, input: 'x', previous_response_id: first.id, stream: true }),
      () => get(`${two.url}/v1/responses/${first.id}`),
      () => get(`${two.url}/v1/responses/${first.id}/input_items`),
      () => post(`${two.url}/v1/conversations`, {})
    ]
    for (const request of need) {
      const { status, headers, json } = await request()
      t.equal(status, 503)
      t.equal(headers.get('retry-after'), '1')
      t.equal(json.error.code, 'store_unavailable')
    }
    for (const stream of [false, true]) {
      const served = await two.reader.ask('v1', { model: MODEL, input: 'meanwhile', stream })
      t.match(served, { status: 'completed', store: false })
      t.match(await two.reader.ask('v1', { model: MODEL, input: 'unstored', stream, store: false }), { store: false })
    }
    t.equal((await get(`${two.url}/v1/models`)).status, 200)
    await server.start()
    const again = { model: MODEL, input: '[[recall]]', previous_response_id: first.id }
    await waitUntil(
      async () => (await post(`${two.url}/v1/responses`, again)).status === 200,
      'the store answers again'
    )
    t.match(two.reader.textOf(await two.reader.ask('v1', again)), 'before')
    t.equal((await two.reader.ask('v1', { model: MODEL, input: 'after' })).store, true)
  })
})

t.test('a gateway that starts before its database serves, and has a memory when that is there', async t => {
  await server.stop()
  const host = await startHost(t, HOSTS[1], { GATEWAY_RESPONSES_STORE_AUTO_MIGRATE: undefined })
  t.match(await host.reader.ask('v1', { model: MODEL, input: 'x' }), { status: 'completed', store: false })
  await server.start()
  await waitUntil(
    async () => (await host.reader.ask('v1', { model: MODEL, input: 'x' })).store === true,
    'responses are stored'
  )
})
