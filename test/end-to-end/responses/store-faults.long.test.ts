// The store process of a started gateway, killed, stopped, locked out and without disk space: requests that need the store are refused,
// others are served, and nothing that was acknowledged is lost (memory.md 6).
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { readResponsesStrictly } from '../../properties/responses-events.ts'
import { get, type HttpResponse, post } from '../../support/client.ts'
import { readLog } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { scrape } from '../../support/scrape.ts'
import { whyWithoutDisk, withSmallDisk } from '../../support/small-disk.ts'
import {
  killStore,
  readStorePid,
  readStorePids,
  respond,
  STORE_MODEL,
  type StoreGateway,
  startStoreGateway
} from '../../support/store-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import type { Loose } from './memory-support.ts'

const read = (gateway: StoreGateway, id: string) => get(`${gateway.url}/v1/responses/${id}`)

/** The response of a request, whole or at the end of its stream. */
const responseOf = ({ json, text }: HttpResponse): Loose => json ?? readResponsesStrictly(text).response

async function chat(gateway: StoreGateway): Promise<number> {
  const body = { model: STORE_MODEL, messages: [{ role: 'user', content: 'hi' }] }
  return (await post(`${gateway.url}/v1/chat/completions`, body)).status
}

function checkRefusal(t: Test, { status, headers, json }: HttpResponse, what: string): void {
  t.equal(status, 503, what)
  t.equal(headers.get('retry-after'), '1', what)
  t.match(json, { error: { code: 'store_unavailable' } }, what)
}

/** A store that gives no answers: what needs it is refused, and everything else is served. */
async function checkAbsence(t: Test, gateway: StoreGateway, stored: string): Promise<Loose> {
  const [alone, stream, continued, referenced, found, conversation, status] = await Promise.all([
    respond(gateway, { input: 'nothing of before' }),
    respond(gateway, { input: 'nothing of before', stream: true }),
    respond(gateway, { input: 'go on', previous_response_id: stored }),
    respond(gateway, { input: [{ type: 'item_reference', id: 'msg_of_before' }] }),
    read(gateway, stored),
    post(`${gateway.url}/v1/conversations`, {}),
    chat(gateway)
  ])
  for (const response of [alone, stream]) {
    t.equal(response.status, 200)
    t.match(responseOf(response), { status: 'completed', store: false })
  }
  checkRefusal(t, continued, 'previous_response_id')
  checkRefusal(t, referenced, 'item_reference')
  checkRefusal(t, found, 'retrieval')
  checkRefusal(t, conversation, 'a conversation')
  t.equal(status, 200, 'another operation')
  return responseOf(alone)
}

/** The store answers again, and has what it had. */
async function checkReturn(t: Test, gateway: StoreGateway, stored: string): Promise<void> {
  await waitUntil(async () => (await read(gateway, stored)).status === 200, 'the store answers')
  // Another worker may know it half a second later.
  let continued: HttpResponse | undefined
  await waitUntil(async () => {
    continued = await respond(gateway, { input: 'go on', previous_response_id: stored })
    return continued.status === 200
  }, 'it answers this worker as well')
  t.match(continued?.json, { store: true, previous_response_id: stored })
}

async function storeOne(gateway: StoreGateway): Promise<string> {
  const { json } = await respond(gateway, { input: 'the first turn' })
  if (json.store !== true) throw new Error('The first response was not stored.')
  return json.id
}

t.test('a store process that is killed under load loses nothing that was acknowledged', async t => {
  const gateway = await startStoreGateway(t)
  const stored: Array<{ id: string; turn: number }> = []
  const refused: HttpResponse[] = []
  let unstored = 0
  let isLoading = true

  async function client(number: number): Promise<void> {
    let turn = 0
    let previous: string | undefined
    while (isLoading) {
      const body = { input: `client ${number}, turn ${turn}`, stream: number % 2 === 0, previous_response_id: previous }
      const response = await respond(gateway, body)
      if (response.status !== 200) {
        refused.push(response)
        continue
      }
      const { id, store } = responseOf(response)
      if (store !== true) {
        unstored += 1
        continue
      }
      stored.push({ id, turn })
      // A new chain now and then keeps the bodies small.
      turn = turn === 9 ? 0 : turn + 1
      previous = turn === 0 ? undefined : id
    }
  }

  const clients = Array.from({ length: 8 }, (_, number) => client(number))
  for (let kill = 0; kill < 4; kill += 1) {
    const { length } = stored
    await waitUntil(() => stored.length > length + 20, 'some responses are stored')
    await killStore(gateway)
  }
  const { length } = stored
  await waitUntil(() => stored.length > length + 20, 'some responses are stored')
  isLoading = false
  await Promise.all(clients)
  for (const refusal of refused) checkRefusal(t, refusal, 'a request that needs the store')
  t.ok(stored.length > 100)
  t.comment(`${stored.length} stored, ${unstored} served without being stored, ${refused.length} refused`)
  for (const { id } of stored) {
    const { status, json } = await read(gateway, id)
    if (status !== 200 || json.status !== 'completed' || json.output.length === 0) t.fail(`${id}: ${status}`)
  }
  // The store of a worker that waits for a process that starts is no reason to give a response up.
  t.same([unstored, refused.length], [0, 0])
  t.equal(await gateway.stop(), 0)
  const database = new Database(gateway.file, { readonly: true })
  t.equal(database.pragma('integrity_check', { simple: true }), 'ok')
  database.close()
})

t.test(
  'a store process that hangs: 503 with retry-after, others are served, and nothing is stored behind their back',
  async t => {
    const gateway = await startStoreGateway(t)
    const stored = await storeOne(gateway)
    const pid = readStorePid(gateway)
    process.kill(pid, 'SIGSTOP')
    try {
      const alone = await checkAbsence(t, gateway, stored)
      // Now each worker may know that it need not wait.
      await checkAbsence(t, gateway, stored)
      process.kill(pid, 'SIGCONT')
      await checkReturn(t, gateway, stored)
      t.equal((await read(gateway, alone.id)).status, 404)
      t.same(readStorePids(gateway), [pid], 'it is the same process')
      t.ok((await scrape(gateway)).sum('gateway_responses_store_failed_total') >= 12)
      const listWarnings = () => readLog(gateway).filter(({ event }) => event === 'responses_store_failed')
      // A worker gathers its lines for a moment before it writes them.
      await waitUntil(() => listWarnings().length > 0, 'there is a warning')
      t.ok(listWarnings().length <= 2, 'one warning a minute and worker')
      t.match(listWarnings()[0], { level: 'WARNING', reason: /^(timeout|disconnected)$/ })
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  }
)

t.test('a database that another process has locked for writing: it is read, and nothing is stored', async t => {
  const gateway = await startStoreGateway(t)
  const stored = await storeOne(gateway)
  const other = new Database(gateway.file)
  t.teardown(() => other.close())
  other.exec('BEGIN EXCLUSIVE')
  const [alone, continued, found, conversation, status] = await Promise.all([
    respond(gateway, { input: 'nothing of before' }),
    respond(gateway, { input: 'go on', previous_response_id: stored }),
    read(gateway, stored),
    post(`${gateway.url}/v1/conversations`, {}),
    chat(gateway)
  ])
  t.match(alone, { status: 200, json: { store: false, status: 'completed' } })
  t.match(continued, { status: 200, json: { store: false, previous_response_id: stored } })
  t.equal(found.status, 200)
  checkRefusal(t, conversation, 'a conversation')
  t.equal(status, 200)
  other.exec('ROLLBACK')
  await checkReturn(t, gateway, stored)
  t.equal((await read(gateway, alone.json.id)).status, 404)
  t.match(
    readLog(gateway).find(({ event }) => event === 'store_operation_failed'),
    { level: 'WARNING' }
  )
})

t.test('a gateway whose database is locked at its start serves, and stores when the lock is gone', async t => {
  const file = join(createTemporaryFolder(t), 'responses.sqlite')
  const env = { GATEWAY_RESPONSES_STORE_DSN: `sqlite:${file}` }
  const first = await startStoreGateway(t, { env })
  const stored = await storeOne(first)
  t.equal(await first.stop(), 0)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.pragma('locking_mode = EXCLUSIVE')
  other.exec('BEGIN EXCLUSIVE')
  const gateway = await startStoreGateway(t, { env })
  await checkAbsence(t, gateway, stored)
  other.exec('ROLLBACK')
  other.close()
  await checkReturn(t, gateway, stored)
})

t.test('a store process that cannot be kept running', async t => {
  const gateway = await startStoreGateway(t)
  const stored = await storeOne(gateway)
  const hasGivenUp = () => readLog(gateway).some(({ event }) => event === 'store_given_up')
  let killed = 0
  await waitUntil(
    () => {
      const pid = readStorePid(gateway)
      if (pid !== killed) process.kill(pid, 'SIGKILL')
      killed = pid
      return hasGivenUp()
    },
    'the supervisor waits before it starts a further one',
    60_000
  )
  await checkAbsence(t, gateway, stored)
  // Each would outlast the pause of a minute if it waited five seconds for the store.
  for (let count = 0; count < 20; count += 1) {
    t.match(await respond(gateway, { input: 'hi' }), { status: 200, json: { store: false } })
  }
  t.equal((await get(`${gateway.url}/health`)).status, 200)
  await checkReturnLater(t, gateway, stored)
})

/** After the pause of a minute it is started again. */
async function checkReturnLater(t: Test, gateway: StoreGateway, stored: string): Promise<void> {
  const { length } = readStorePids(gateway)
  await waitUntil(() => readStorePids(gateway).length > length, 'a new store process is ready', 90_000)
  await checkReturn(t, gateway, stored)
}

const skip = whyWithoutDisk()

t.test('a disk without space: nothing half is stored, and what is there can be read', { skip }, async t => {
  const disk = join(createTemporaryFolder(t), 'disk')
  mkdirSync(disk)
  const gateway = await startStoreGateway(t, {
    launcher: withSmallDisk(disk),
    env: { GATEWAY_RESPONSES_STORE_DSN: `sqlite:${disk}/responses.sqlite` }
  })
  const stored: string[] = []
  let last: HttpResponse | undefined
  for (let count = 0; count < 40; count += 1) {
    last = await respond(gateway, { input: `${count} ${Math.random().toString(36).repeat(12_000)}` })
    t.equal(last.status, 200)
    if (last.json.store !== true) break
    stored.push(last.json.id)
  }
  t.ok(stored.length > 2)
  t.equal(last?.json.store, false, 'the disk is full')
  t.equal((await read(gateway, last?.json.id)).status, 404)
  for (const id of stored) t.match(await read(gateway, id), { status: 200, json: { status: 'completed' } })
  t.equal(await chat(gateway), 200)
  // The folder of the gateway's own mount.
  rmSync(join('/proc', String(readStorePid(gateway)), 'root', disk, 'ballast'))
  const [first = ''] = stored
  await checkReturn(t, gateway, first)
})
