// Every SDK generation with the scenarios that it runs on the native upstream, here on aliases of
// every kind of provider.

import t from 'tap'
import { refuseOtherHosts } from '../../support/loopback.ts'
import { type ProviderTraits, scenarios } from '../sdk-generations/scenarios.ts'
import { createAdapters } from '../sdk-generations/support.ts'
import { content, providers, SEATS, startBridge } from './providers/index.ts'

const strangers = refuseOtherHosts(t)
const { gateway, emulator, received, receivedNatively } = await startBridge(t)

/**
 * This SDK cannot read the calls of chat completions in pieces, so a provider for it sends each
 * whole.
 */
const WHOLE_CALLS = '@mistralai/mistralai'

/**
 * It drops the signatures of calls, and its requests arrive as they came: the service refuses its
 * loops as this provider does.
 */
const UNSIGNED = 'ai 4 google'

for (const provider of providers) {
  for (const seat of SEATS) {
    const model = provider.aliases[seat]
    const isSigned = provider === content && seat === 'keyed'
    for (const adapter of createAdapters({ url: gateway.url, version: 'v1', model })) {
      const traits: ProviderTraits = {
        hasParallelCalls: true,
        endsWithEmptyText: provider === content,
        callForm: adapter.name === WHOLE_CALLS && provider !== content ? '[[wholecall]]' : '',
        // A provider's own refusal of the gateway is no failure of the client's key, and its words
        // are not shown.
        readFailure: status => (status === 401 ? { status: 502, isTold: false } : { status, isTold: status < 500 })
      }
      for (const [name, check] of scenarios) {
        if (isSigned && adapter.name === UNSIGNED && name.includes('a loop')) continue
        t.test(`decisions.md 49: ${model} ${adapter.name}: ${name}`, t => check(t, adapter, traits))
      }
    }

    t.test(`the ${seat} ${provider.name} provider received only its own credential`, async t => {
      const expected = provider.writeHeaders(seat === 'keyed' ? provider.key : undefined)
      const requests = received(provider, seat)
      t.ok(requests.length > 0)
      for (const name of ['authorization', 'x-api-key', 'x-goog-api-key']) {
        t.ok(requests.every(({ headers }) => headers[name] === expected[name]))
      }
      // The inventory of the native profile is read beside them.
      const chats = receivedNatively().filter(({ path }) => path.includes('/chat/'))
      t.strictSame(chats, [])
      // The emulator keeps a limited number of requests.
      emulator.reset()
    })
  }
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
