// Processes that are killed, stopped, or run out of memory.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findFreePort } from '../../ops/net/free-port.ts'
import { startGateway } from '../support/gateway.ts'
import { waitUntil } from '../support/processes.ts'
import { createTemporaryFolder } from '../support/temporary.ts'
import { compareRecords, readJsonl } from '../support/traffic.ts'
import { startLoad } from './load.ts'
import {
  describeTarget,
  isAlive,
  isReady,
  type KilledConnections,
  killWithConnections,
  type ProcessKind,
  providerVariables,
  startTarget,
  type Target,
  wasKilled
} from './target.ts'
import type { FaultEntry } from './types.ts'

const CLIENTS = 12

/** Kills the worker that has run longest and waits until another one is ready. */
async function replaceWorker(target: Target): Promise<KilledConnections> {
  const ready = target.countEvents('worker_ready')
  const [pid = 0] = target.pidsOf('worker')
  const kill = await killWithConnections(pid, target.url)
  await waitUntil(() => target.countEvents('worker_ready') > ready, 'a new worker is ready')
  return kill
}

const workerKilled: FaultEntry = {
  name: 'worker-killed',
  done: 'kill -9 of a worker under load, three times; streams of 100 ms are running',
  expected: 'only questions on connections of the killed worker are lost; another worker is started',
  async run({ owner, sized }) {
    const target = await startTarget(owner)
    const load = startLoad({ url: target.url, clients: CLIENTS, words: '[pace 12]' })
    const kills: KilledConnections[] = []
    for (let kill = 0; kill < sized(3); kill += 1) {
      await load.more(60)
      kills.push(await replaceWorker(target))
    }
    await load.more(60)
    const outcomes = await load.stop()
    return { outcomes, mayBeLost: wasKilled(kills), seen: `${kills.length} workers were replaced`, problems: [] }
  }
}

const saturation: FaultEntry = {
  name: 'saturation-with-killed-workers',
  done: '60 s at saturation, every 5 s a worker is killed',
  expected: 'every failed question was on a connection of a killed worker',
  async run({ owner, sized }) {
    const target = await startTarget(owner, { env: { GATEWAY_WORKERS: '3' } })
    const load = startLoad({ url: target.url, clients: 32 })
    const kills: KilledConnections[] = []
    const endMs = performance.now() + sized(60) * 1000
    while (performance.now() < endMs) {
      const nextMs = performance.now() + 5_000
      kills.push(await replaceWorker(target))
      await wait(Math.max(0, Math.min(nextMs, endMs) - performance.now()))
    }
    const outcomes = await load.stop()
    const seconds = sized(60)
    const refused = outcomes.filter(({ kind }) => kind === 'refused').length
    return {
      outcomes,
      mayBeLost: wasKilled(kills),
      seen: `${kills.length} workers killed in ${seconds} s, ${Math.round(outcomes.length / seconds)} questions a second`,
      problems: refused === 0 ? [] : [`${refused} questions were refused`]
    }
  }
}

const workerStopped: FaultEntry = {
  name: 'worker-stuck',
  done: 'a worker is stopped (SIGSTOP) under load and never goes on',
  expected:
    'the supervisor kills it after 30 s without an answer; only its questions are lost or late, and the other worker serves',
  async run({ owner }) {
    const target = await startTarget(owner)
    const load = startLoad({ url: target.url, clients: CLIENTS, isUnkept: true })
    await load.more(60)
    const [pid = 0] = target.pidsOf('worker')
    process.kill(pid, 'SIGSTOP')
    const atMs = performance.now()
    // A process that ends loses its command line before its sockets.
    await waitUntil(() => !isAlive(pid), 'the supervisor kills it', 60_000)
    const afterMs = performance.now() - atMs
    await waitUntil(() => target.pidsOf('worker').length === 2, 'a new worker was started')
    await load.more(60)
    const outcomes = await load.stop()
    return {
      outcomes,
      // What the stopped worker had, and what the system had queued for it until its end.
      mayBeLost: ({ startedAtMs, endedAtMs }) => startedAtMs < atMs + afterMs && endedAtMs > atMs,
      seen: `killed after ${Math.round(afterMs / 1000)} s and replaced`,
      problems: []
    }
  }
}

interface ServiceFault extends Pick<FaultEntry, 'done' | 'expected'> {
  readonly env: (folder: string) => Record<string, string>
  /** Of the clients. */
  readonly key?: string
}

/** A service process is killed twice under load; no question needs to notice. */
function serviceKilled(
  kind: Exclude<ProcessKind, 'worker'>,
  { done, expected, env, key }: ServiceFault,
  check: (target: Target, folder: string, askedCount: number) => Promise<string[]> = async () => []
): FaultEntry {
  return {
    name: `${kind}-killed`,
    done,
    expected,
    async run({ owner, sized }) {
      const folder = createTemporaryFolder(owner)
      const target = await startTarget(owner, { env: env(folder) })
      const load = startLoad({ url: target.url, clients: CLIENTS, words: '[pace 5]', key })
      const kills = sized(2)
      for (let kill = 0; kill < kills; kill += 1) {
        await load.more(60)
        const [pid] = target.pidsOf(kind)
        if (pid === undefined) throw new Error(`There is no process ${kind}.`)
        process.kill(pid, 'SIGKILL')
        await waitUntil(() => target.pidsOf(kind).some(one => one !== pid), 'the process was started again')
      }
      await load.more(60)
      const outcomes = await load.stop()
      const problems = await check(target, folder, outcomes.length)
      return { outcomes, seen: `the ${kind} was killed ${kills} times and started again`, problems }
    }
  }
}

const writerKilled = serviceKilled(
  'writer',
  {
    done: 'kill -9 of the writer of traffic records under load, twice',
    expected: 'no question notices, and every question has its record, once',
    env: folder => ({
      GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
      GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl',
      GATEWAY_TRAFFIC_LOG_JSONL_PATH: join(folder, 'traffic.jsonl')
    })
  },
  async (target, folder, askedCount) => {
    const code = await target.gateway.stop()
    const records = readJsonl(join(folder, 'traffic.jsonl'))
    const { repeated } = compareRecords(records, [])
    return [
      ...(code === 0 ? [] : [`the exit code is ${code}`]),
      ...(repeated === 0 ? [] : [`${repeated} records were stored twice`]),
      ...(records.length >= askedCount ? [] : [`only ${records.length} records of ${askedCount} questions were stored`])
    ]
  }
)

const storeKilled = serviceKilled('store', {
  done: 'kill -9 of the process that stores responses under load, twice',
  expected: 'answers are right; a response that cannot be stored is marked so or refused, none is lost',
  env: folder => ({ GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(folder, 'responses.sqlite')}` })
})

const KEY = 'faults-key-0123456789'
const KEYS = `schema_version: gateway.keys.v1
keys:
  - name: faults
    secrets: [{sha256: ${createHash('sha256').update(KEY).digest('hex')}}]
    limits: {requests_per_minute: 1000000}
`

const limitsKilled = serviceKilled('limits', {
  done: 'kill -9 of the process of shared limits under load, twice; its Redis cannot be reached either',
  expected: 'limits are counted on this host meanwhile, and no question notices',
  key: KEY,
  env(folder) {
    const file = join(folder, 'keys.yaml')
    writeFileSync(file, KEYS)
    return {
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_KEYS_FILE: file,
      GATEWAY_LIMITS_REDIS_URL: 'redis://127.0.0.1:1'
    }
  }
})

const supervisorKilled: FaultEntry = {
  name: 'supervisor-killed',
  done: 'kill -9 of the supervisor under load; another gateway is started on the same port',
  expected: 'every process of the gateway ends within seconds, its questions end, and the next start serves',
  async run({ owner }) {
    const port = String(await findFreePort())
    const target = await startTarget(owner, { env: { GATEWAY_PORT: port } })
    const workers = target.pidsOf('worker')
    const load = startLoad({ url: target.url, clients: CLIENTS, words: '[pace 12]' })
    await load.more(60)
    const atMs = performance.now()
    target.gateway.process.kill('SIGKILL')
    await once(target.gateway.process, 'exit')
    await waitUntil(() => workers.every(pid => !isAlive(pid)), 'the workers end', 10_000)
    const endedMs = Math.round(performance.now() - atMs)
    const env = { ...providerVariables(target.provider), GATEWAY_PORT: port }
    const next = describeTarget(await startGateway(owner, { env }), target.provider)
    await waitUntil(() => isReady(next.url), 'the next gateway is ready')
    const nextAtMs = performance.now()
    await load.more(60)
    const outcomes = await load.stop()
    return {
      outcomes,
      mayBeLost: outcome => outcome.endedAtMs > atMs && outcome.startedAtMs < nextAtMs,
      seen: `its workers ended after ${endedMs} ms, and the next gateway serves`,
      problems: []
    }
  }
}

const outOfMemory: FaultEntry = {
  name: 'out-of-memory',
  done: 'a worker with a heap of 96 MB fills it under load until the engine ends the process',
  expected: 'only questions on connections of that worker are lost; another worker is started',
  async run({ owner }) {
    const file = join(createTemporaryFolder(owner), 'leak')
    writeFileSync(file, '')
    const preload = new URL('fixtures/leaking-heap.ts', import.meta.url).href
    const target = await startTarget(owner, {
      env: { NODE_OPTIONS: `--import=${preload} --max-old-space-size=96`, NODE_FAULTS_LEAK: file }
    })
    const load = startLoad({ url: target.url, clients: CLIENTS, words: '[pace 5]' })
    await load.more(60)
    const [pid = 0] = target.pidsOf('worker')
    const ready = target.countEvents('worker_ready')
    const fromMs = performance.now()
    writeFileSync(file, String(pid))
    await waitUntil(() => !isAlive(pid), 'its heap is full', 60_000)
    const untilMs = performance.now() + 100
    await waitUntil(() => target.countEvents('worker_ready') > ready, 'a new worker is ready')
    await load.more(60)
    const outcomes = await load.stop()
    return {
      outcomes,
      // Its connections break at its end; the other worker's do not.
      mayBeLost: ({ startedAtMs, endedAtMs }) =>
        startedAtMs < untilMs && endedAtMs > fromMs && endedAtMs < untilMs + 1_000,
      seen: 'the worker was replaced',
      problems: target.pidsOf('worker').includes(pid) ? ['the worker is still there'] : []
    }
  }
}

export const processFaults: readonly FaultEntry[] = [
  workerKilled,
  saturation,
  workerStopped,
  writerKilled,
  storeKilled,
  limitsKilled,
  supervisorKilled,
  outOfMemory
]
