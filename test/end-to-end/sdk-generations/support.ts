// One gateway and one set of adapters for all cases of this folder.

import t from 'tap'
import { refuseOtherHosts } from '../../support/loopback.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import type { Adapter, Origin, Version } from './adapter.ts'
import { createAgentsAdapters } from './adapters/agents.ts'
import { createAiSdkAdapters } from './adapters/ai-sdk.ts'
import { createAnthropicAdapters, createLangchainAdapter } from './adapters/anthropic.ts'
import { createGenaiAdapters, createGenerativeAiAdapter } from './adapters/google.ts'
import { createMistralAdapter } from './adapters/mistral.ts'
import { createOpenAiAdapters } from './adapters/openai.ts'

export interface Seat {
  version: Version
  adapter: Adapter
}

export interface Suite {
  /** Every SDK generation on every contract. */
  seats: Seat[]
  /** Hosts other than this machine to which a connection was attempted; expected to stay empty. */
  strangers: readonly string[]
}

let suite: Promise<Suite> | undefined

/** Starts the gateway and creates the adapters at the first call, and gives the same from then on. */
export function startSuite(): Promise<Suite> {
  suite ??= start()
  return suite
}

async function start(): Promise<Suite> {
  const strangers = refuseOtherHosts(t)
  const { gateway } = await startSharedGateway({ strictStateIds: true })
  const seats = (['v1', 'v2'] as const).flatMap(version => {
    const adapters = createAdapters({ url: gateway.url, version, model: 'GigaChat-2-Max' })
    return adapters.map(adapter => ({ version, adapter }))
  })
  return { seats, strangers }
}

/** Every SDK generation at this place. */
export function createAdapters(origin: Origin): Adapter[] {
  return [
    ...createOpenAiAdapters(origin),
    ...createAgentsAdapters(origin),
    createMistralAdapter(origin),
    ...createAnthropicAdapters(origin),
    createLangchainAdapter(origin),
    ...createGenaiAdapters(origin),
    createGenerativeAiAdapter(origin),
    ...createAiSdkAdapters(origin)
  ]
}
