import t, { type Test } from 'tap'
import type { LifecycleEvent } from '../../../supervisor/lifecycle/lifecycle.ts'
import { createLifecycleRunner, type LifecycleStep } from '../../../supervisor/lifecycle/lifecycle-runner.ts'
import { stepTimers } from '../../support/stepped-timers.ts'

const stepNames = [
  'start-workers',
  'announce-startup',
  'announce-readiness',
  'announce-shutdown',
  'withdraw-readiness',
  'drain-workers',
  'close-listeners',
  'cancel-requests',
  'close-workers',
  'close-services',
  'kill-processes'
] as const satisfies LifecycleStep[]

/** `causes`: the event that a step causes at once. */
function setUp(t: Test, causes: Partial<Record<LifecycleStep, LifecycleEvent>> = {}) {
  const pass = stepTimers(t)
  const notes: string[] = []
  const note = (name: LifecycleStep) => () => {
    notes.push(name)
    const event = causes[name]
    if (event !== undefined) runner.dispatch(event)
  }
  const runner = createLifecycleRunner({
    steps: Object.fromEntries(stepNames.map(name => [name, note(name)])) as Record<LifecycleStep, () => void>,
    timersMs: { grace: 100, drain: 1_000, settle: 10, cleanup: 50 },
    onExit: code => notes.push(`exit ${code}`)
  })
  const dispatch = (...kinds: Array<Exclude<LifecycleEvent['kind'], 'startup-failed'>>) => {
    for (const kind of kinds) runner.dispatch({ kind })
  }
  return { runner, dispatch, pass, take: () => notes.splice(0) }
}

t.test('each timer of a stop leads to its next step, and none runs after the exit', async t => {
  const { runner, dispatch, pass, take } = setUp(t)
  dispatch('start-accepted', 'startup-completed', 'catalog-filled')
  t.same(take(), ['start-workers', 'announce-startup', 'announce-readiness'])
  t.same(runner.state, { phase: 'live', isReady: true })
  dispatch('stop-signal')
  t.same(take(), ['announce-shutdown', 'withdraw-readiness'])
  pass(100)
  t.same(take(), ['drain-workers'])
  pass(1_000)
  t.same(take(), ['close-listeners', 'cancel-requests'])
  pass(10)
  t.same(take(), ['close-workers'])
  pass(40)
  t.same(take(), ['kill-processes', 'exit 4'])
  pass(10_000)
  t.same(take(), [])
})

t.test('an event that a step causes waits until all steps of its own event are done', async t => {
  const { dispatch, take } = setUp(t, {
    // Workers that have nothing to finish acknowledge within the call.
    'drain-workers': { kind: 'drain-acknowledged' },
    'close-listeners': { kind: 'requests-done' },
    'close-workers': { kind: 'workers-exited' },
    'close-services': { kind: 'services-closed' }
  })
  dispatch('start-accepted', 'startup-completed', 'stop-signal')
  take()
  dispatch('stop-signal')
  t.same(
    take(),
    ['drain-workers', 'close-listeners', 'cancel-requests', 'close-workers', 'close-services', 'exit 0'],
    'the second signal cancels requests although a step has reported that none is left'
  )
})

t.test('a timer of a step that is over changes nothing', async t => {
  const { dispatch, pass, take } = setUp(t)
  dispatch('start-accepted', 'startup-completed', 'stop-signal')
  pass(100)
  dispatch('drain-acknowledged', 'requests-done')
  t.same(take().slice(-3), ['drain-workers', 'close-listeners', 'close-workers'])
  dispatch('workers-exited', 'services-closed')
  t.same(take(), ['close-services', 'exit 0'])
  pass(10_000)
  t.same(take(), [])
})

t.test('a running gateway refuses the events of a preflight', async t => {
  const { runner } = setUp(t)
  t.throws(() => runner.dispatch({ kind: 'preflight-passed' }), /no preflight document/)
})
