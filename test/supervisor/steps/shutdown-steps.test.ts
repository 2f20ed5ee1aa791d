import { mock } from 'node:test'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createShutdown } from '../../../supervisor/steps/shutdown-steps.ts'

function setUp(t: Test, graceSeconds = 0) {
  const notes: string[] = []
  const note = (what: string) => () => notes.push(what)
  const shutdown = createShutdown(
    {
      log: pino({ base: null, timestamp: false }, { write: line => notes.push(JSON.parse(line).event) }),
      fleet: {
        activeRequests: () => 3,
        broadcast: ({ kind }) => notes.push(kind),
        drain: note('drain'),
        close: note('close workers'),
        kill: note('kill workers')
      },
      kept: { giveUpStart: note('give up start'), close: note('close services'), kill: note('kill services') },
      slots: { counts: () => ({ held: 0, waiting: 0 }) },
      limits: { close: note('close limits') },
      serviceManager: { showStatus: status => notes.push(status), stopping: note('stopping') }
    },
    { graceSeconds, drainTimeoutMs: 60_000 }
  )
  t.teardown(shutdown.close)
  return { shutdown, take: () => notes.splice(0) }
}

t.test('decisions.md 97: readiness is withdrawn, and a grace is announced where there is one', async t => {
  const none = setUp(t)
  none.shutdown.steps['withdraw-readiness']()
  t.same(none.take(), ['readiness-withdrawn'])
  const some = setUp(t, 15)
  some.shutdown.steps['withdraw-readiness']()
  t.same(some.take(), ['readiness-withdrawn', 'shutdown_grace', 'not ready; serves for 15 s more'])
})

t.test(
  'services that still start are given up before workers close, and limits settle before services close',
  async t => {
    const { shutdown, take } = setUp(t)
    shutdown.steps['close-workers']()
    t.same(take(), ['give up start', 'close workers'])
    shutdown.steps['close-services']()
    t.same(take(), ['close limits', 'close services'])
    shutdown.steps['kill-processes']()
    t.same(take(), ['cleanup_exceeded', 'kill workers', 'kill services'])
  }
)

t.test('each other step tells the workers, the log and the service manager', async t => {
  const { shutdown, take } = setUp(t)
  shutdown.steps['announce-shutdown']()
  t.same(take(), ['shutdown_initiated', 'stopping'])
  shutdown.steps['drain-workers']()
  t.same(take(), ['drain_started', 'drain'])
  shutdown.steps['close-listeners']()
  t.same(take(), ['close-listener'])
  shutdown.steps['cancel-requests']()
  t.same(take(), ['requests_cancelled', 'cancel'])
})

t.test('a drain is reported every second until the workers close', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { shutdown, take } = setUp(t)
  shutdown.steps['drain-workers']()
  take()
  mock.timers.tick(2_000)
  const report = ['drain_progress', 'draining 3 active']
  t.same(take(), [...report, ...report])
  shutdown.steps['close-workers']()
  take()
  mock.timers.tick(5_000)
  t.same(take(), [])
})
