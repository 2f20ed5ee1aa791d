// The table of destinations and policies at the preflight (providers.md 4, case 2), and every
// spelling of an address that no policy allows.

import t from 'tap'
import { canonicalDestination } from '../../../shared/net/destination.ts'
import { findUrlProblem } from '../../../supervisor/profile/destination.ts'
import { destinationRows, policyCases } from '../../support/destinations.ts'
import { forbiddenHosts } from '../../support/forbidden-hosts.ts'
import * as fc from '../../support/properties.ts'

t.test('providers 2: the preflight allows each destination under the policies of the table', async t => {
  t.ok(destinationRows.length >= 60)
  const texts = new Set<string>()
  for (const { host, preflight } of destinationRows) {
    for (const [letter, { policy, scheme }] of Object.entries(policyCases)) {
      const url = canonicalDestination(`${scheme}://${host}:8443/v1`)
      if (url === undefined) {
        t.fail(`${host} is a destination in form`)
        continue
      }
      const problem = findUrlProblem(policy, url)
      const place = `${scheme}://${host} by ${policy}`
      t.equal(problem === undefined, preflight.includes(letter), `${place}: ${problem ?? 'allowed'}`)
      if (problem !== undefined) texts.add(problem)
    }
  }
  t.same([...texts].sort(), [
    'Loopback development profiles require an HTTP loopback destination.',
    'Private network profiles require a private destination, or a public one by HTTPS; loopback, link-local, reserved and metadata hosts are refused.',
    'Provider profile destination is not public.',
    'Provider profile destination must use public HTTPS.',
    'Provider profile proxies may be loopback, private or public; link-local, reserved and metadata hosts are refused.'
  ])
})

t.test('providers 2: no policy allows a forbidden host in any spelling', async t => {
  fc.assert(
    fc.property(
      forbiddenHosts,
      fc.constantFrom(...Object.values(policyCases)),
      fc.constantFrom('', ':80', ':443', ':8000', '.', '.:80'),
      (host, { policy, scheme }, rest) => {
        const url = canonicalDestination(`${scheme}://${host}${rest}/latest/meta-data`)
        if (url === undefined) return
        if (findUrlProblem(policy, url) === undefined) throw new Error(`${policy} allows ${url}`)
      }
    ),
    { numRuns: 5_000 }
  )
  t.pass()
})
