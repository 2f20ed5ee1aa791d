// The limit of a key over eight worker processes, in real time.
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const WORKERS = 8
const CLIENTS = 40
const LIMIT = 600
/** A twentieth of the limit. */
const BATCH = 30
const MINUTE_MS = 60_000
/** The window is a little longer than a minute, because a lease may be used until it is old. */
const TEST_MS = MINUTE_MS + 8_000
const RETRY_MS = 400
const SECRET = 'eight-workers-0123456789'

t.test('keys 11: 40 clients of eight workers get what a limit has, and no minute has more', async t => {
  const path = join(createTemporaryFolder(t), 'keys.json')
  const key = { name: 'ci', secrets: [{ sha256: hash('sha256', SECRET) }], limits: { requests_per_minute: LIMIT } }
  writeFileSync(path, JSON.stringify({ schema_version: 'gateway.keys.v1', keys: [key] }))
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_KEYS_FILE: path,
      GATEWAY_WORKERS: String(WORKERS),
      GATEWAY_STARTUP_TIMEOUT_SECONDS: '120'
    }
  })
  const chat = { model: 'GigaChat-2', messages: [{ role: 'user', content: 'hi' }] }
  // Without kept connections the kernel spreads the requests over all workers.
  const headers = { authorization: `Bearer ${SECRET}`, connection: 'close' }
  const admitted: Array<{ askedAtMs: number; answeredAtMs: number }> = []
  const statuses = new Map<number, number>()
  const startMs = performance.now()
  const elapsed = () => performance.now() - startMs
  let longestMs = 0
  let wasKilled = false

  async function run(): Promise<void> {
    while (elapsed() < TEST_MS) {
      const askedAtMs = elapsed()
      const response = await post(`${gateway.url}/v1/chat/completions`, chat, headers).catch(() => undefined)
      if (response === undefined) continue
      longestMs = Math.max(longestMs, elapsed() - askedAtMs)
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      if (response.status === 200) admitted.push({ askedAtMs, answeredAtMs: elapsed() })
      // The pause of a client between its attempts is an input of the test.
      else await sleep(RETRY_MS)
    }
  }
  async function killOne(): Promise<void> {
    // The time of the exit is an input of the test: the middle of a window in which the limit is reached.
    await sleep(MINUTE_MS / 2)
    const [pid] = readChildPids(gateway.process.pid ?? 0)
    if (pid === undefined) return
    process.kill(pid, 'SIGKILL')
    wasKilled = true
  }

  await Promise.all([killOne(), ...Array.from({ length: CLIENTS }, run)])
  // Those that were certainly admitted within one minute: asked for and answered in it.
  const most = Math.max(
    ...admitted.map(
      ({ answeredAtMs: endMs }) =>
        admitted.filter(({ askedAtMs, answeredAtMs }) => askedAtMs > endMs - MINUTE_MS && answeredAtMs <= endMs).length
    )
  )
  const first = admitted.filter(({ answeredAtMs }) => answeredAtMs < MINUTE_MS).length
  t.comment(`${admitted.length} admitted, at most ${most} in a minute, ${first} in the first, longest ${longestMs} ms`)
  t.ok(wasKilled)
  t.ok(most <= LIMIT + BATCH, `${most} in a minute`)
  t.ok(first >= LIMIT * 0.95, `${first} in the first minute`)
  t.ok(admitted.length > LIMIT, 'the window moves on')
  t.same([...statuses.keys()].sort(), [200, 429])
  t.ok(longestMs < 15_000, `no request hangs: ${longestMs} ms`)
})
