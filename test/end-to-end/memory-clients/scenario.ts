// The scenario of every client: three prompts in one conversation, two of which call the tool. Later ones know the first by what the
// gateway has stored alone.

import { join } from 'node:path'
import type { Test } from 'tap'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { type Bridge, NATIVE_ALIAS, providers, responses, startBridge } from '../bridge/providers/index.ts'
import { KEPT_ALIAS, writeKeptProfile } from '../bridge/providers/kept-responses.ts'
import { createAgentsClients } from './adapters/agents.ts'
import { createAiSdkClients } from './adapters/ai-sdk.ts'
import { createLangchainClient } from './adapters/langchain.ts'
import { createOpenAiClients } from './adapters/openai.ts'
import { createRecorder, type MemoryClient, type Place } from './client.ts'

/**
 * The native upstream on both contracts, and an alias of every wire of an external provider; that of the Responses wire leaves the state
 * to the gateway.
 */
const routes = [
  { version: 'v1', model: NATIVE_ALIAS },
  { version: 'v2', model: NATIVE_ALIAS },
  ...providers.map(provider => ({
    version: 'v1',
    model: provider === responses ? KEPT_ALIAS : provider.aliases.keyed
  }))
]

/** Starts a gateway with all routes and a store. */
export function startRoutes(t: Test, dsn: string): Promise<Bridge> {
  return startBridge(t, {
    env: { GATEWAY_RESPONSES_STORE_DSN: dsn, GATEWAY_RESPONSES_STORE_AUTO_MIGRATE: 'true' },
    profiles: emulator => [writeKeptProfile(emulator)]
  })
}

function createClients(place: Place): MemoryClient[] {
  return [
    ...createAiSdkClients(place),
    ...createAgentsClients(place),
    createLangchainClient(place),
    ...createOpenAiClients(place)
  ]
}

/** A DSN in a folder that is removed with the test. */
export function createDatabaseFile(t: Test): string {
  return `sqlite:${join(createTemporaryFolder(t), 'responses.sqlite')}`
}

/** Registers the scenario for the clients with these names; absent: for all. */
export function testClients(
  t: Test,
  { url, store, isIncluded = () => true }: { url: string; store: string; isIncluded?: (name: string) => boolean }
): void {
  for (const { version, model } of routes) {
    const recorder = createRecorder()
    const clients = createClients({ baseUrl: `${url}/${version}`, model, fetch: recorder.fetch })
    for (const client of clients.filter(({ name }) => isIncluded(name))) {
      for (const isStream of [false, true]) {
        const form = isStream ? 'streamed' : 'whole'
        const ids = client.names === 'item_reference' ? 'memory 3, memory 5' : 'memory 3'
        t.test(`${ids}: ${client.name} over three turns, ${form}: ${version} ${model}, ${store}`, async t => {
          recorder.take()
          await checkConversation(t, client, isStream)
          const named = recorder.take().filter(sent => sent.includes(client.names))
          t.ok(named.length >= 2, `the client names what is stored by ${client.names}`)
        })
      }
    }
  }
}

async function checkConversation(t: Test, client: MemoryClient, isStream: boolean): Promise<void> {
  const inputs: unknown[] = []
  const say = client.start({
    isStream,
    run(input) {
      inputs.push(input)
      return { degrees: 20 + inputs.length }
    }
  })
  t.match(await say('The word is cobalt. [[tool:weather {"city":"Oslo"}]]'), /21/)
  t.match(await say('[[recall]]'), /cobalt/)
  t.match(await say('[[tool:weather {"city":"Rome"}]]'), /22/)
  t.strictSame(inputs, [{ city: 'Oslo' }, { city: 'Rome' }])
}
