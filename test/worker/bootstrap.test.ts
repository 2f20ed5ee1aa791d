// How a worker process handles its configuration and other messages; the test forks it in place of the supervisor.
import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readCatalogModels } from '../../shared/catalog/catalog.ts'
import { createMessage, readWorkerMessage, type SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import { createNativeProfileSet } from '../../shared/profile/native-profile.ts'
import { computeConfigRevision } from '../../shared/profile/profile-revision.ts'
import { writeTransferredSettings } from '../../shared/settings/transfer.ts'
import { parseSettings } from '../../shared/settings.ts'
import { snapshotOf } from '../support/catalog-snapshots.ts'

const entry = join(import.meta.dirname, '../end-to-end/process/fixtures/fixture-worker.ts')
type Configure = Extract<SupervisorMessageContent, { kind: 'configure' }>

const settings = parseSettings({ GATEWAY_LOG_LEVEL: 'INFO', GATEWAY_API_KEY: 'hunter2-key', UPSTREAM_MODEL: 'one' })
const profiles = createNativeProfileSet(settings)
const configure: Configure = {
  kind: 'configure',
  workerId: 1,
  version: '0.0.0',
  settings: writeTransferredSettings(settings),
  profiles,
  credentials: {},
  keys: null,
  fingerprintKey: 'AAAA',
  compactionKey: { key: 'AAAA', isLasting: false },
  listen: { host: '127.0.0.1', port: 0, reusePort: false },
  isQuiet: true,
  catalog: null,
  providerHealth: [],
  isHostStarted: false,
  isLeaving: false,
  rests: [],
  prices: null,
  writerSocket: null,
  storeSocket: null
}

/** A forked worker; `next` resolves with its next message of a kind. */
async function startWorker(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-worker-'))
  const env = { PATH: process.env.PATH, UPSTREAM_MODEL: 'of the environment', GATEWAY_PORT: 'no number' }
  const child = fork(entry, [], {
    cwd: folder,
    env,
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc']
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (output += String(chunk)))
  const exited = new Promise<number | null>(resolve => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true })
  })
  const next = (kind: string) =>
    new Promise<ReturnType<typeof readWorkerMessage>>(resolve => {
      const onMessage = (value: unknown) => {
        const message = readWorkerMessage(value)
        if (message?.kind !== kind) return
        child.off('message', onMessage)
        resolve(message)
      }
      child.on('message', onMessage)
    })
  await next('worker-online')
  return {
    child,
    next,
    exited,
    send: (content: SupervisorMessageContent) => child.send(createMessage(content)),
    output: () => output,
    readLog: () => readFileSync(join(folder, 'gateway.log'), 'utf8')
  }
}

t.test(
  'a worker uses the settings of its configure message, not its environment, and reports their revision',
  async t => {
    const worker = await startWorker(t)
    const ready = worker.next('worker-ready')
    worker.send(configure)
    t.match(await ready, { revisions: { config: computeConfigRevision(profiles) } })
    const closed = worker.next('closed')
    worker.send({ kind: 'close' })
    await closed
    t.equal(await worker.exited, 0)
    t.equal(worker.output(), '')
  }
)

t.test('what the supervisor publishes while a worker is loading is not lost', async t => {
  const worker = await startWorker(t)
  const ready = worker.next('worker-ready')
  const snapshot = snapshotOf(readCatalogModels([{ id: 'one' }]), {
    providerProfileId: 'native-upstream',
    providerKind: 'native',
    nowMs: 0
  })
  worker.send(configure)
  worker.send({ kind: 'catalog-published', snapshot })
  const message = await ready
  if (message?.kind !== 'worker-ready') throw new Error('The worker is ready.')
  const state = await (await fetch(`http://127.0.0.1:${message.address.port}/state`)).json()
  t.match(state, { catalog: snapshot.inventoryRevision })
})

t.test('another profile set has another revision', async t => {
  const worker = await startWorker(t)
  const ready = worker.next('worker-ready')
  const others = createNativeProfileSet(parseSettings({ UPSTREAM_MODEL: 'two' }))
  worker.send({ ...configure, profiles: others })
  t.match(await ready, { revisions: { config: computeConfigRevision(others) } })
})

t.test('malformed messages are counted and dropped, and no log line repeats their content (J7)', async t => {
  const worker = await startWorker(t)
  const ready = worker.next('worker-ready')
  worker.send(configure)
  await ready
  worker.child.send({ v: 1, kind: 'nonsense', text: 'hunter2' })
  worker.child.send({ v: 1, kind: 'ping', nonce: 'hunter2' })
  worker.child.send({ ...createMessage(configure), workerId: 'hunter2' })
  const pong = worker.next('pong')
  worker.send({ kind: 'ping', nonce: 5 })
  t.match(await pong, { nonce: 5 })
  const closed = worker.next('closed')
  worker.send({ kind: 'close' })
  await closed
  const log = worker.readLog()
  const dropped = log.split('\n').filter(line => line.includes('ipc_message_dropped'))
  t.same(
    dropped.map(line => JSON.parse(line).count),
    [1, 2, 3]
  )
  t.notMatch(log + worker.output(), /hunter2/)
})

t.test('incomplete settings fail the start with the names of the settings and no values', async t => {
  const worker = await startWorker(t)
  const failed = worker.next('worker-failed')
  const { GATEWAY_PORT: _, ...incomplete } = configure.settings
  worker.send({ ...configure, settings: incomplete })
  t.match(await failed, { reason: 'configuration', detail: 'GATEWAY_PORT' })
  t.equal(await worker.exited, 1)
  t.notMatch(worker.output(), /hunter2/)
})
