import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createThreadPool, type Lane } from '../../../worker/translation/thread-pool.ts'

const dynamic = { profileId: 'p', providerKind: 'native', passModel: true, defaultEmbeddingsModel: 'e' }
const settings = { routes: { aliases: new Map(), dynamic }, providerOptions: {} }

t.test(
  'with every thread busy, a response goes before requests that waited longer, and each wait is reported',
  async t => {
    const waits: number[] = []
    const pool = createThreadPool({ settings, threads: 1, onWaited: ms => waits.push(ms) })
    t.teardown(() => pool.close())
    const ended: string[] = []
    const run = async (lane: Lane, name: string) => {
      const bytes = Buffer.from(JSON.stringify({ input: 'word '.repeat(10_000) }))
      const job = { protocol: 'completions', apiMode: 'v1', bytes, context: { requestId: 'r' } } as const
      await pool
        .run('translate-chat', { job, weight: 1, bytes: bytes.length, lane }, new AbortController().signal)
        .catch(() => undefined)
      ended.push(name)
    }
    const all = [
      run('requests', 'running'),
      run('records', 'record'),
      run('requests', 'request'),
      run('responses', 'response')
    ]
    t.equal(pool.tasks, 4)
    await Promise.all(all)
    t.same(ended, ['running', 'response', 'request', 'record'])
    t.equal(pool.tasks, 0)
    const [running = 0, ...others] = waits
    t.ok(
      others.every(ms => ms > running),
      'those that waited for the thread say so'
    )
  }
)

const MEGABYTE = 1_000_000

t.test('an idle thread gives back the memory of its tasks long before it ends', async t => {
  const pool = createThreadPool({ settings, threads: 1 })
  t.teardown(() => pool.close())
  const messages = Array.from({ length: 100_000 }, (_, index) => ({ role: 'user', content: `message ${index}` }))
  const body = JSON.stringify({ model: 'm', messages })
  for (let round = 0; round < 3; round++) {
    const bytes = Buffer.from(body)
    const job = { protocol: 'completions', apiMode: 'v1', bytes, context: { requestId: 'r' } } as const
    await pool
      .run('translate-chat', { job, weight: 1, bytes: bytes.length, lane: 'requests' }, new AbortController().signal)
      .catch(() => undefined)
  }
  const { rss } = process.memoryUsage()
  // A thread without a task ends after 30 s.
  const deadlineMs = performance.now() + 20_000
  while (process.memoryUsage().rss > rss - 30 * MEGABYTE && performance.now() < deadlineMs) await pause(100)
  const released = (rss - process.memoryUsage().rss) / MEGABYTE
  t.ok(released >= 30, `${released} MB of ${rss / MEGABYTE}`)
})
