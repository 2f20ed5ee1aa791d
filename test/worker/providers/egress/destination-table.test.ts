// The table of destinations and policies where connections are made (providers.md 4, cases 2 and 3),
// and every spelling of an address that no policy allows.

import t from 'tap'
import {
  createDestinationGuard,
  type DestinationGuard,
  type ResolveHost
} from '../../../../worker/providers/egress/checked-lookup.ts'
import { destinationRows, type PolicyCase, policyCases } from '../../../support/destinations.ts'
import { forbiddenAddresses } from '../../../support/forbidden-hosts.ts'
import * as fc from '../../../support/properties.ts'

const guardOf = ({ policy, scheme }: PolicyCase, resolve?: ResolveHost): DestinationGuard =>
  createDestinationGuard(policy, { url: `${scheme}://up.example`, resolve })

/** What the connector gets for a name: nothing, or the error. */
function lookUp({ lookup }: DestinationGuard, host: string): Promise<Error | null> {
  return new Promise(resolve => lookup(host, { all: true }, error => resolve(error)))
}

/** Whether the connector would dial the host, as it sees it: without brackets, and a name without a trailing dot. */
async function isDialed(guard: DestinationGuard, url: string, isName: boolean): Promise<boolean> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return isName ? (await lookUp(guard, host)) === null : guard.isAllowed(host)
}

t.test('providers 2: a connection goes where the table allows it', async t => {
  // The scheme is no part of these two: the preflight lets no such URL pass.
  const { H, S, ...cases } = policyCases
  for (const { host, addresses, connect } of destinationRows) {
    for (const [letter, one] of Object.entries(cases)) {
      const guard = guardOf(one, async () => [...(addresses ?? [])])
      const isAllowed = await isDialed(guard, `${one.scheme}://${host}/v1`, addresses !== undefined)
      const place = `${one.scheme}://${host} ${addresses?.join() ?? ''} by ${one.policy}`
      t.equal(isAllowed, connect.includes(letter), place)
    }
  }
})

t.test('providers 2: no policy dials a forbidden address in any form, alone or beside an allowed one', async t => {
  const allowed = { public: '8.8.8.8', private: '10.0.0.1', loopback: '127.0.0.1', proxy: '10.0.0.1' }
  await fc.assert(
    fc.asyncProperty(
      forbiddenAddresses,
      fc.constantFrom(...Object.values(policyCases)),
      fc.boolean(),
      async (address, one, isFirst) => {
        const { policy } = one
        const addresses = isFirst ? [address, allowed[policy]] : [allowed[policy], address]
        const guard = guardOf(one, async () => addresses)
        if (guard.isAllowed(address)) throw new Error(`${policy} dials ${address}`)
        const error = await lookUp(guard, 'up.example')
        if (error === null) throw new Error(`${policy} dials ${addresses}`)
        if (error.message.includes(address)) throw new Error(`The text names the address: ${error.message}`)
      }
    ),
    { numRuns: 5_000 }
  )
  t.pass()
})

t.test('providers 3: a name that leads elsewhere at the next connection is refused there', async t => {
  const answers = [['10.0.0.1'], ['169.254.169.254'], ['10.0.0.1', 'fd00:ec2::254'], ['127.0.0.1'], ['10.0.0.2']]
  let asked = 0
  const guard = guardOf(policyCases.q, async () => answers[asked++] ?? [])
  const found: Array<string | null> = []
  for (const _ of answers) found.push((await lookUp(guard, 'vllm.inference.svc'))?.message ?? null)
  t.same(found, [
    null,
    'The host vllm.inference.svc has an address of the class forbidden, which is not allowed by the policy private.',
    'The host vllm.inference.svc has an address of the class forbidden, which is not allowed by the policy private.',
    'The host vllm.inference.svc has an address of the class loopback, which is not allowed by the policy private.',
    null
  ])
  t.equal(asked, answers.length, 'nothing is remembered')
})

t.test('a metadata name is refused before it is resolved', async t => {
  let asked = 0
  const resolve: ResolveHost = async () => {
    asked += 1
    return ['10.0.0.1']
  }
  for (const one of Object.values(policyCases)) {
    const error = await lookUp(guardOf(one, resolve), 'METADATA.google.internal.')
    t.match(error, { code: 'DESTINATION_REFUSED', found: 'forbidden' })
  }
  t.equal(asked, 0)
})
