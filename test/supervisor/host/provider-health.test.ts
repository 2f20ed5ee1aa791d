import { mock } from 'node:test'
import t from 'tap'
import { handleMessage } from '../../../shared/ipc/handlers.ts'
import { createMessage, type SupervisorMessageContent } from '../../../shared/ipc/messages.ts'
import { addOutcome, createHealth, type ProviderHealth } from '../../../shared/provider-health.ts'
import { createHealthOfRecord } from '../../../supervisor/host/provider-health.ts'

function failed(atMs: number): ProviderHealth {
  return addOutcome(createHealth('p'), { profileId: 'p', failure: 'timeout', isOfClient: false }, atMs)
}

t.test('the sum of all workers goes to all of them, once a second at most', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const sent: SupervisorMessageContent[] = []
  const health = createHealthOfRecord({ broadcast: message => sent.push(message) }, ['p'])
  t.teardown(health.close)
  const report = (owner: number, atMs: number) =>
    handleMessage(health.handlers, createMessage({ kind: 'provider-health-report', reports: [failed(atMs)] }), {
      owner
    })
  const counts = () =>
    sent.map(message => message.kind === 'provider-health-published' && message.providers[0]?.consecutiveFailures)
  report(1, 10)
  t.same(counts(), [1], 'the first one at once')
  for (let atMs = 11; atMs < 30; atMs += 1) report((atMs % 2) + 1, atMs)
  t.same(counts(), [1])
  mock.timers.tick(1_000)
  t.same(counts(), [1, 20], 'what came since then together')
  mock.timers.tick(10_000)
  t.same(counts(), [1, 20], 'nothing where nothing changed')
  report(3, 40)
  t.same(counts(), [1, 20, 21])
  t.match(health.current(), [{ profileId: 'p', lastFailures: [{ failure: 'timeout', atMs: 40 }] }])
})
