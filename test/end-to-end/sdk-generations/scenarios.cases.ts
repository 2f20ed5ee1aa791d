// Every SDK generation with the same scenarios on both contracts.

import t from 'tap'
import type { Version } from './adapter.ts'
import { type ProviderTraits, scenarios } from './scenarios.ts'
import { startSuite } from './support.ts'

const traitsOf = (version: Version): ProviderTraits => ({
  hasParallelCalls: version === 'v2',
  readFailure: status => ({ status, isTold: true })
})

const suite = await startSuite()

for (const { version, adapter } of suite.seats) {
  for (const [name, check] of scenarios) {
    t.test(`decisions.md 49: ${version} ${adapter.name}: ${name}`, t => check(t, adapter, traitsOf(version)))
  }
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(suite.strangers, [])
})
