import { pino } from 'pino'
import t from 'tap'
import { StartFailure } from '../../../supervisor/lifecycle/start-failure.ts'
import { createStartup } from '../../../supervisor/steps/startup-steps.ts'

const address = { host: '127.0.0.1', port: 1 }

function setUp({ hasServices = false } = {}) {
  const notes: unknown[] = []
  const kept = { areStarted: !hasServices, start: () => notes.push('services start') }
  const startup = createStartup({
    log: pino({ enabled: false }),
    fleet: { start: () => notes.push('workers start'), broadcast: ({ kind }) => notes.push(kind) },
    kept,
    catalog: { startWarmUp: () => notes.push('warm-up') },
    serviceManager: { showStatus: status => notes.push(status), ready: () => notes.push('ready') },
    dispatch: event => notes.push(event),
    writeError: line => notes.push(line),
    onServing: served => notes.push(served)
  })
  return { startup, kept, take: () => notes.splice(0) }
}

t.test('the gateway is started once its workers listen and its services have started, in either order', async t => {
  const { startup, take } = setUp()
  startup.workersListen(address)
  t.same(take(), [{ kind: 'startup-completed' }], 'no service is needed')

  const workersFirst = setUp({ hasServices: true })
  workersFirst.startup.workersListen(address)
  t.same(workersFirst.take(), [])
  workersFirst.kept.areStarted = true
  workersFirst.startup.servicesStarted()
  t.same(workersFirst.take(), [{ kind: 'startup-completed' }])

  const servicesFirst = setUp({ hasServices: true })
  servicesFirst.kept.areStarted = true
  servicesFirst.startup.servicesStarted()
  t.same(servicesFirst.take(), [])
  servicesFirst.startup.workersListen(address)
  t.same(servicesFirst.take(), [{ kind: 'startup-completed' }])
})

t.test('services start before workers; the catalog is filled after the address was told', async t => {
  const { startup, take } = setUp()
  startup.steps['start-workers']()
  t.same(take(), ['services start', 'workers start'])
  startup.workersListen(address)
  take()
  startup.steps['announce-startup']()
  t.same(take(), ['host-started', address, 'waiting for the model list', 'warm-up'])
  startup.steps['announce-readiness']()
  t.same(take(), ['ready'])
})

t.test('a failed start is one line on stderr, and its exit code says whether the configuration is wrong', async t => {
  const { startup, take } = setUp()
  startup.failed(new StartFailure('configuration', 'a worker runs another configuration'))
  t.same(take(), [
    'startup_failed: configuration: a worker runs another configuration',
    { kind: 'startup-failed', exitCode: 2 }
  ])
  startup.failed(new StartFailure('port_in_use', 'the port is already in use'))
  t.match(take()[1], { exitCode: 1 })
})
