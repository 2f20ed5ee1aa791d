// Keys that rotate while several workers serve: a signal to the supervisor reaches all of them, and those that start later (keys.md 1).
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const WORKERS = 4
const CLIENTS = 12
const ROTATIONS = 5
const secretOf = (round: number) => `canary-hunter2-secret-${round}`
const path = join(createTemporaryFolder(t), 'keys.json')

/** Writes the file with the secrets of these rounds. */
function write(...rounds: number[]): void {
  const secrets = rounds.map(round => ({ sha256: createHash('sha256').update(secretOf(round)).digest('hex') }))
  writeFileSync(path, JSON.stringify({ schema_version: 'gateway.keys.v1', keys: [{ name: 'ci', secrets }] }))
}

t.test('keys 2: two secrets rotate by SIGHUP in all workers, under load and without a refused request', async t => {
  write(0)
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_KEYS_FILE: path,
      GATEWAY_WORKERS: String(WORKERS),
      GATEWAY_ACCESS_LOG: 'true'
    }
  })
  const chat = { model: 'GigaChat-2', messages: [{ role: 'user', content: 'hi' }] }
  // Without kept connections the kernel spreads the requests over all workers.
  const send = (round: number) => {
    const headers = { authorization: `Bearer ${secretOf(round)}`, connection: 'close' }
    return post(`${gateway.url}/v1/chat/completions`, chat, headers)
  }
  const ask = async (round: number) => (await send(round)).status
  let current = 0
  let isOver = false
  const statuses = new Map<number, number>()
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver) {
      const status = await ask(current)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  const served = () => statuses.get(200) ?? 0
  const askMore = async (count: number) => {
    const goal = served() + count
    await waitUntil(() => served() >= goal || statuses.size > 1, 'requests are served')
  }
  const hangUp = async () => {
    const count = () => readLog(gateway).filter(({ event }) => event === 'keys_reloaded').length
    const before = count()
    gateway.hangUp()
    await waitUntil(() => count() > before, 'the keys are read again')
  }
  /** The log says that the keys were read before every worker has them. */
  const whenTaken = async (round: number) => {
    const ids = new Set<unknown>()
    await waitUntil(async () => {
      const { status, headers } = await send(round)
      if (status === 200) ids.add(headers.get('x-request-id'))
      const taken = readLog(gateway).filter(line => line.event === 'http_access' && ids.has(line.request_id))
      return new Set(taken.map(({ worker }) => worker)).size === WORKERS
    }, 'every worker has the secret')
  }
  for (let round = 1; round <= ROTATIONS; round += 1) {
    write(round - 1, round)
    await hangUp()
    await whenTaken(round)
    await askMore(50)
    current = round
    await askMore(50)
    write(round)
    await hangUp()
    await askMore(50)
  }
  t.same([...statuses.keys()], [200])

  const before = new Set(readChildPids(gateway.process.pid ?? 0))
  for (const pid of before) process.kill(pid, 'SIGKILL')
  isOver = true
  await Promise.allSettled(clients)
  const ready = () => readLog(gateway).filter(({ event }) => event === 'worker_ready').length
  await waitUntil(() => ready() >= 2 * WORKERS, 'other workers are ready')
  for (let request = 0; request < 4 * WORKERS; request += 1) {
    t.equal(await ask(ROTATIONS), 200, 'a worker that starts later has the keys in force')
    t.equal(await ask(0), 401)
  }
  t.notOk(/canary-hunter2/.test(JSON.stringify(readLog(gateway))))
})
