// Starts the real gateway many times and ends each start at another moment.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startScript } from './fixtures/run.ts'

const main = join(import.meta.dirname, '../../..', 'supervisor/main.ts')

t.test('a signal at any moment of a start ends it with exit code 0 (I6)', async t => {
  let cleanEnds = 0
  // The moments are spread over the start: module loading, the embedded upstream, the port, the workers.
  for (let waitMs = 100; waitMs <= 1300; waitMs += 150) {
    const started = startScript(t, main, ['--demo', '--port', '0'], { GATEWAY_WORKERS: '1' })
    await new Promise(resolve => setTimeout(resolve, waitMs))
    started.child.kill('SIGTERM')
    const outcome = await started.exited
    // Before the first line of the gateway runs, the signal ends Node by its default; nothing has been started by then.
    if (outcome.signal === 'SIGTERM' && !existsSync(started.logFile)) continue
    t.same(outcome, { code: 0, signal: null }, `after ${waitMs} ms`)
    t.equal(started.errors(), '')
    const events = existsSync(started.logFile) ? started.readLog().map(({ event }) => event) : []
    const stopAt = events.indexOf('shutdown_initiated')
    const announced = events.filter(
      (event, index) => index > stopAt && /^(startup_complete|worker_ready|listening)$/.test(String(event))
    )
    if (stopAt >= 0) t.same(announced, [], 'nothing of the start is announced after the stop')
    cleanEnds++
  }
  t.ok(cleanEnds > 0)
})
