// Every SDK generation with the scenarios that it runs on the native upstream, here on an alias of a chat_compatible provider.

import t from 'tap'
import { refuseOtherHosts } from '../../support/loopback.ts'
import { type ProviderTraits, scenarios } from '../sdk-generations/scenarios.ts'
import { createAdapters } from '../sdk-generations/support.ts'
import { aliases, providerKey, startBridge } from './support.ts'

const strangers = refuseOtherHosts(t)
const bridge = await startBridge(t)

/** This SDK cannot read the calls of chat completions in pieces, so a provider for it sends each whole. */
const callForms: Record<string, string> = { '@mistralai/mistralai': '[[wholecall]]' }

/** A provider's own refusal of the gateway is no failure of the client's key, and its words are not shown. */
const traits: ProviderTraits = {
  hasParallelCalls: true,
  readFailure: status => (status === 401 ? { status: 502, isTold: false } : { status, isTold: status < 500 })
}

for (const alias of [aliases.keyed, aliases.keyless]) {
  for (const adapter of createAdapters({
    url: bridge.gateway.url,
    version: 'v1',
    model: alias,
    hasStrictTools: false
  })) {
    for (const [name, check] of scenarios) {
      t.test(`decisions.md 49: ${alias} ${adapter.name}: ${name}`, t =>
        check(t, adapter, { ...traits, callForm: callForms[adapter.name] ?? '' })
      )
    }
  }
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})

t.test('the providers received each only its own credential, and the native upstream nothing', async t => {
  t.ok(bridge.received('keyed').every(({ headers }) => headers.authorization === `Bearer ${providerKey}`))
  t.ok(bridge.received('keyless').every(({ headers }) => headers.authorization === undefined))
  t.strictSame(bridge.received('native'), [])
})
