import { pino } from 'pino'
import t from 'tap'
import { createAuthenticationFailures } from '../../../worker/http/authentication-failures.ts'
import type { RequestContext } from '../../../worker/http/request-context.ts'

function start() {
  const logged: Array<Record<string, unknown>> = []
  const log = pino({}, { write: line => logged.push(JSON.parse(line)) })
  const clock = { nowMs: 0 }
  const failures = createAuthenticationFailures({ log, fingerprint: value => `#${value}`, nowMs: () => clock.nowMs })
  let observed = 0
  function fail(remoteAddress: string): void {
    const context = {
      requestId: 'r',
      route: '/x',
      incoming: { socket: { remoteAddress } },
      authenticationFailed: () => {
        observed += 1
      }
    }
    failures.report(context as unknown as RequestContext, 'wrong')
  }
  const lines = () => logged.map(line => [line.client_ip_hash, line.unlogged])
  return { clock, fail, lines, observed: () => observed }
}

t.test(
  'decisions.md 41: an address is logged at most once a second, with the number of failures in between',
  async t => {
    const { clock, fail, lines, observed } = start()
    fail('a')
    clock.nowMs = 999
    fail('a')
    fail('a')
    fail('b')
    clock.nowMs = 1000
    fail('a')
    t.same(lines(), [
      ['#a', 0],
      ['#b', 0],
      ['#a', 2]
    ])
    t.equal(observed(), 5, 'every failure is observed')
  }
)

t.test('decisions.md 41: the number of addresses in memory is bounded', async t => {
  const { fail, lines } = start()
  fail('first')
  for (let index = 0; index < 1024; index += 1) fail(`other-${index}`)
  fail('first')
  t.equal(lines().filter(([address]) => address === '#first').length, 2, 'the oldest address was dropped')
  fail('other-1023')
  t.equal(lines().filter(([address]) => address === '#other-1023').length, 1, 'the newest ones were kept')
})
