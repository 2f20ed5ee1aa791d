import t from 'tap'
import { EXIT_CODES } from '../../../supervisor/lifecycle/exit-codes.ts'
import {
  advanceLifecycle,
  exitCodeBeforeStart,
  initialLifecycleState,
  type LifecycleEffect,
  type LifecycleEvent,
  type LifecycleState
} from '../../../supervisor/lifecycle/lifecycle.ts'
import * as fc from '../../support/properties.ts'

type EventKind = LifecycleEvent['kind']

const starting: LifecycleState = { phase: 'starting' }
const live: LifecycleState = { phase: 'live', isReady: true }

function eventOf(kind: EventKind): LifecycleEvent {
  return kind === 'startup-failed' ? { kind, exitCode: EXIT_CODES.startupFailed } : { kind }
}

/** Runs events through the machine; returns the last state, and the effects of each event. */
function run(state: LifecycleState, ...kinds: EventKind[]) {
  const effects: LifecycleEffect[][] = []
  let current = state
  for (const kind of kinds) {
    const transition = advanceLifecycle(current, eventOf(kind))
    current = transition.state
    effects.push([...transition.effects])
  }
  return { state: current, effects, last: effects.at(-1)?.map(writeEffect) ?? [] }
}

function writeEffect(effect: LifecycleEffect): string {
  if (effect.kind === 'start-timer') return `start-timer ${effect.timer}`
  return effect.kind === 'exit' ? `exit ${effect.exitCode}` : effect.kind
}

t.test('row 1: a valid preflight prints one inspect document and exits 0, with nothing started', async t => {
  t.same(run(initialLifecycleState, 'preflight-passed').last, ['print-inspect-document', 'exit 0'])
})

t.test('row 2: an invalid preflight prints one error document and exits 2', async t => {
  t.same(run(initialLifecycleState, 'preflight-failed').last, ['print-error-document', 'exit 2'])
})

t.test('row 3: a start whose configuration is refused exposes no server and exits 2', async t => {
  t.same(run(initialLifecycleState, 'start-refused').last, ['exit 2'])
})

t.test('row 3: a start that fails later closes every worker and exits 1', async t => {
  const failed = run(starting, 'startup-failed')
  t.same(failed.last, ['close-workers', 'start-timer cleanup'])
  t.same(run(failed.state, 'workers-exited').last, ['close-services'])
  t.same(run(failed.state, 'workers-exited', 'services-closed').last, ['exit 1'])
})

t.test('row 4: a start that completes is live, and ready once the catalog is filled', async t => {
  const accepted = run(initialLifecycleState, 'start-accepted')
  t.same(accepted.last, ['start-workers'])
  const completed = run(accepted.state, 'startup-completed')
  t.same(completed.last, ['announce-startup'])
  t.same(completed.state, { phase: 'live', isReady: false })
  const ready = run(completed.state, 'catalog-filled')
  t.same(ready.last, ['announce-readiness'])
  t.same(ready.state, { phase: 'live', isReady: true })
})

t.test('row 5: a gateway that is live but not ready drains too', async t => {
  const notReady = run(starting, 'startup-completed').state
  t.equal(run(notReady, 'stop-signal', 'grace-over').state.phase, 'draining')
})

t.test('decisions.md 97: a stop signal makes readiness false, and the drain begins when the grace ends', async t => {
  const stopped = run(live, 'stop-signal')
  t.same(stopped.last, ['announce-shutdown', 'withdraw-readiness', 'start-timer grace'])
  t.same(stopped.state, { phase: 'leaving' })
  const draining = run(stopped.state, 'grace-over')
  t.same(draining.last, ['drain-workers', 'start-timer drain'])
  t.same(run(draining.state, 'drain-acknowledged').last, ['close-listeners'])
})

t.test('a catalog that arrives within the grace makes nothing ready', async t => {
  const leaving = run(starting, 'startup-completed', 'stop-signal')
  t.same(run(leaving.state, 'catalog-filled').last, [])
})

t.test('workers that keep dying within the grace end the gateway with exit code 5', async t => {
  const dying = run(live, 'stop-signal', 'workers-keep-dying')
  t.same(dying.last, ['close-workers', 'start-timer cleanup'])
  t.same(run(dying.state, 'grace-over', 'workers-exited', 'services-closed').last, ['exit 5'])
})

t.test('row 7: requests that end in time are followed by closing, without a cancel', async t => {
  const drained = run(live, 'stop-signal', 'grace-over', 'drain-acknowledged', 'requests-done')
  t.same(drained.last, ['close-workers', 'start-timer cleanup'])
  t.same(run(drained.state, 'workers-exited').last, ['close-services'])
  t.same(run(drained.state, 'workers-exited', 'services-closed').last, ['exit 0'])
})

t.test('row 7: an idle gateway closes its listeners and workers together, after every acknowledgement', async t => {
  const idle = run(live, 'stop-signal', 'grace-over', 'requests-done')
  t.same(idle.last, [])
  t.same(run(idle.state, 'drain-acknowledged').last, ['close-listeners', 'close-workers', 'start-timer cleanup'])
})

t.test('row 7: at the deadline what remains is cancelled, given time for a last response, and closed', async t => {
  const cancelled = run(live, 'stop-signal', 'grace-over', 'drain-acknowledged', 'drain-deadline')
  t.same(cancelled.last, ['cancel-requests', 'start-timer settle', 'start-timer cleanup'])
  t.same(run(cancelled.state, 'settle-over').last, ['close-workers'])
  t.same(run(cancelled.state, 'requests-done').last, ['close-workers'])
  t.same(run(cancelled.state, 'requests-done', 'settle-over').last, [], 'workers are closed once')
})

t.test('row 7: a deadline before the last acknowledgement closes the listeners too', async t => {
  const cancelled = run(live, 'stop-signal', 'grace-over', 'drain-deadline')
  t.same(cancelled.last, ['close-listeners', 'cancel-requests', 'start-timer settle', 'start-timer cleanup'])
})

t.test('a second stop signal cancels at once, a third changes nothing', async t => {
  const second = run(live, 'stop-signal', 'grace-over', 'stop-signal')
  t.same(second.last, ['close-listeners', 'cancel-requests', 'start-timer settle', 'start-timer cleanup'])
  t.same(run(second.state, 'stop-signal').last, [])
})

t.test('decisions.md 97: a second stop signal ends the grace and cancels at once', async t => {
  const second = run(live, 'stop-signal', 'stop-signal')
  const cancelled = ['cancel-requests', 'start-timer settle', 'start-timer cleanup']
  t.same(second.last, ['drain-workers', 'close-listeners', ...cancelled])
  t.same(run(second.state, 'grace-over', 'drain-acknowledged').last, [])
  t.same(run(second.state, 'requests-done').last, ['close-workers'])
})

t.test('a second stop signal and the deadline close at once where no request runs', async t => {
  for (const event of ['stop-signal', 'drain-deadline'] as const) {
    const within = run(live, 'stop-signal', 'grace-over', 'requests-done', event)
    t.same(within.last, ['close-listeners', 'close-workers', 'start-timer cleanup'])
    t.same(run(within.state, 'settle-over', 'requests-done').last, [])
    t.same(run(within.state, 'workers-exited', 'services-closed').last, ['exit 0'])
  }
})

t.test('row 8: cleanup within its bound exits 0, beyond it kills and exits 4', async t => {
  const closing = run(live, 'stop-signal', 'grace-over', 'drain-acknowledged', 'requests-done').state
  t.same(run(closing, 'workers-exited', 'services-closed').last, ['exit 0'])
  t.same(run(closing, 'cleanup-deadline').last, ['kill-processes', 'exit 4'])
  const cancelling = run(live, 'stop-signal', 'grace-over', 'drain-deadline').state
  t.same(run(cancelling, 'cleanup-deadline').last, ['kill-processes', 'exit 4'])
})

t.test('a failed start that cannot clean up keeps its own exit code', async t => {
  t.same(run(starting, 'startup-failed', 'cleanup-deadline').last, ['kill-processes', 'exit 1'])
})

t.test('a stop signal while starting closes what was started and exits 0 (I6)', async t => {
  t.equal(exitCodeBeforeStart({ kind: 'stop-signal' }), 0)
  const stopped = run(starting, 'stop-signal')
  t.same(stopped.last, ['announce-shutdown', 'close-workers', 'start-timer cleanup'])
  t.same(run(stopped.state, 'startup-completed', 'workers-exited', 'services-closed').last, ['exit 0'])
})

t.test('workers that keep dying end the gateway with exit code 5, starting or live (I8)', async t => {
  for (const state of [starting, live]) {
    const dying = run(state, 'workers-keep-dying')
    t.same(dying.last, ['close-workers', 'start-timer cleanup'])
    t.same(run(dying.state, 'workers-exited', 'services-closed').last, ['exit 5'])
  }
})

t.test('workers that all exit while draining are followed by the writer, within the bound of the cleanup', async t => {
  const exited = run(live, 'stop-signal', 'grace-over', 'workers-exited')
  t.same(exited.last, ['start-timer cleanup', 'close-services'])
  t.same(run(exited.state, 'services-closed').last, ['exit 0'])
})

t.test('workers that all exit after the cancel are followed by the writer; the cleanup timer runs already', async t => {
  const exited = run(live, 'stop-signal', 'grace-over', 'drain-deadline', 'workers-exited')
  t.same(exited.last, ['close-services'])
  t.same(run(exited.state, 'settle-over').last, [], 'there is no worker to close')
  t.same(run(exited.state, 'services-closed').last, ['exit 0'])
})

t.test('the writer is closed after the last worker has exited, and never before', async t => {
  const closing = run(live, 'stop-signal', 'grace-over', 'drain-acknowledged', 'requests-done')
  t.same(closing.last, ['close-workers', 'start-timer cleanup'])
  t.same(run(closing.state, 'services-closed').last, [], 'a writer that exits early does not end the gateway')
  t.equal(run(closing.state, 'services-closed').state.phase, 'closing')
})

t.test('a writer that does not close within the bound is killed, and the exit code says so', async t => {
  const closingWriter = run(live, 'stop-signal', 'grace-over', 'workers-exited').state
  t.same(run(closingWriter, 'stop-signal').last, [])
  t.same(run(closingWriter, 'cleanup-deadline').last, ['kill-processes', 'exit 4'])
  const failed = run(starting, 'startup-failed', 'workers-exited', 'cleanup-deadline')
  t.same(failed.last, ['kill-processes', 'exit 1'], 'a failed start keeps its own exit code')
})

const kinds: EventKind[] = [
  'startup-completed',
  'startup-failed',
  'catalog-filled',
  'stop-signal',
  'drain-acknowledged',
  'grace-over',
  'requests-done',
  'drain-deadline',
  'settle-over',
  'workers-exited',
  'services-closed',
  'cleanup-deadline',
  'workers-keep-dying'
]

t.test('any sequence of events exits at most once and has no effect after the exit', async t => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...kinds), { maxLength: 40 }), sequence => {
      const { effects } = run(starting, ...sequence)
      const flat = effects.flat().map(effect => effect.kind)
      t.ok(flat.filter(kind => kind === 'exit').length <= 1)
      t.ok(flat.filter(kind => kind === 'close-workers').length <= 1)
      t.ok(flat.filter(kind => kind === 'close-listeners').length <= 1)
      t.ok(flat.filter(kind => kind === 'close-services').length <= 1)
      const exitAt = flat.indexOf('exit')
      t.ok(exitAt === -1 || exitAt === flat.length - 1)
    })
  )
})

t.test('from every reachable state a stop signal and the timers alone lead to an exit', async t => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...kinds), { maxLength: 20 }), sequence => {
      const before = run(starting, ...sequence).state
      const { state } = run(before, 'stop-signal', 'grace-over', 'drain-deadline', 'settle-over', 'cleanup-deadline')
      t.equal(state.phase, 'stopped')
    })
  )
})
