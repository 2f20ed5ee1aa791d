// Every SDK generation with the scenarios that it runs on the native upstream, here on aliases of content_compatible providers: a model
// that wants signatures back, and one that has none.

import t from 'tap'
import { refuseOtherHosts } from '../../support/loopback.ts'
import { type ProviderTraits, scenarios } from '../sdk-generations/scenarios.ts'
import { createAdapters } from '../sdk-generations/support.ts'
import { contentAliases, contentKey, startContentBridge } from './content-support.ts'

const strangers = refuseOtherHosts(t)
const { gateway, received } = await startContentBridge(t)

/** A provider's own refusal of the gateway is no failure of the client's key, and its words are not shown. */
const traits: ProviderTraits = {
  hasParallelCalls: true,
  endsWithEmptyText: true,
  readFailure: status => (status === 401 ? { status: 502, isTold: false } : { status, isTold: status < 500 })
}

/** It drops the signatures of calls, and its requests arrive as they came: the service refuses its loops as this provider does. */
const UNSIGNED = 'ai 4 google'

for (const model of [contentAliases.keyed, contentAliases.keyless]) {
  for (const adapter of createAdapters({ url: gateway.url, version: 'v1', model, hasStrictTools: false })) {
    const isUnsigned = adapter.name === UNSIGNED && model === contentAliases.keyed
    for (const [name, check] of scenarios) {
      if (isUnsigned && name.includes('a loop')) continue
      t.test(`decisions.md 49: ${model} ${adapter.name}: ${name}`, t => check(t, adapter, { ...traits, callForm: '' }))
    }
  }
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})

t.test('the providers received each only its own credential', async t => {
  for (const { path, headers } of received()) {
    t.equal(headers['x-goog-api-key'], path.startsWith('/google/keyed/') ? contentKey : undefined)
    t.equal(headers.authorization, undefined)
  }
})
