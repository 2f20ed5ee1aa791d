import { mock } from 'node:test'
import t from 'tap'
import type { ProviderHealth } from '../../../shared/provider-health.ts'
import { createHealthReporter } from '../../../worker/control/health-channel.ts'

t.test('what a worker sees is reported together, a moment after the first of it', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const reported: ProviderHealth[][] = []
  const certificates = { provider: { expiresAtMs: 9, seenAtMs: 1, more: 'text' }, client: null }
  const reporter = createHealthReporter({
    report: reports => reported.push(reports),
    readCertificates: profileId => (profileId === 'b' ? certificates : undefined),
    now: () => 5
  })
  mock.timers.tick(10_000)
  t.same(reported, [], 'nothing was seen')
  for (let count = 0; count < 100; count += 1) {
    reporter.record({ profileId: 'a', failure: 'http_503', isOfClient: false })
  }
  reporter.record({ profileId: 'b', failure: undefined, isOfClient: false })
  t.same(reported, [])
  mock.timers.tick(250)
  t.strictSame(reported.splice(0), [
    [
      {
        profileId: 'a',
        lastSuccessAtMs: null,
        consecutiveFailures: 100,
        lastFailures: [{ failure: 'http_503', atMs: 5 }],
        certificates: { provider: null, client: null }
      },
      {
        profileId: 'b',
        lastSuccessAtMs: 5,
        consecutiveFailures: 0,
        lastFailures: [],
        certificates: { provider: { expiresAtMs: 9, seenAtMs: 1 }, client: null }
      }
    ]
  ])
  mock.timers.tick(10_000)
  t.same(reported, [], 'each outcome is reported once')

  reporter.record({ profileId: 'a', failure: undefined, isOfClient: false })
  reporter.close()
  t.match(reported, [[{ profileId: 'a', lastSuccessAtMs: 5, consecutiveFailures: 0 }]], 'the last report')
  mock.timers.tick(10_000)
  t.equal(reported.length, 1)
})
