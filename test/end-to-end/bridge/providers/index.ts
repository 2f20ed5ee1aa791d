// A gateway with a profile file of every provider kind: the native upstream, and of each external
// kind a provider with a key and one without. One emulator plays all of them, each under a base URL
// of its own that checks its credential.

import type { Test } from 'tap'
import type { Emulator, RecordedRequest } from '../../../../ops/emulator/server.ts'
import { BASE_FEATURES } from '../../../../shared/profile/profile.ts'
import { type GatewayOptions, type ServingGateway, startEmulator } from '../../../support/in-process-gateway.ts'
import {
  type ProfileOptions,
  startProfileGateway,
  writeChatProfile,
  writeNativeProfile
} from '../../../support/profile-gateway.ts'
import { chat } from './chat.ts'
import { content } from './content.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'
import type { Provider, Seat } from './row.ts'

export { chat } from './chat.ts'
export { content } from './content.ts'
export { messages } from './messages.ts'
export { responses } from './responses.ts'
export type { Generation, Provider, Seat } from './row.ts'
export { SEATS } from './row.ts'

/** One row for each wire of the kinds of external providers. */
export const providers: readonly Provider[] = [chat, messages, content, responses]

export const NATIVE_ALIAS = 'team/large'
export const nativeCredentials = Buffer.from('native-client:native-secret').toString('base64')

const PLAIN_FEATURES = [...BASE_FEATURES, 'text', 'generation_controls']

export interface Bridge<Gateway = ServingGateway> {
  emulator: Emulator
  gateway: Gateway
  /**
   * What a provider received on its wire, oldest first; without a seat, what both providers of the
   * kind received.
   */
  received(provider: Provider, seat?: Seat): RecordedRequest[]
  /** What the native upstream received, oldest first. */
  receivedNatively(): RecordedRequest[]
  /** All requests but those for the models of the native credential, which come at any time. */
  listCalls(): RecordedRequest[]
}

export interface BridgeOptions {
  env?: GatewayOptions['env']
  memory?: GatewayOptions['memory']
  /** Whether the native profile has the models of its upstream as well. */
  isDynamic?: boolean
  /** Further profiles of the file, whose providers the same emulator may play. */
  profiles?: (emulator: Emulator) => readonly object[]
}

/** The name under which the emulator plays a provider. */
function nameProvider({ name }: Provider, seat: Seat): string {
  return `${name}-${seat}`
}

function nameVariable({ name }: Provider): string {
  return `KEY_OF_${name.toUpperCase()}`
}

function writeProfiles(provider: Provider, emulator: Emulator): object[] {
  const { kind, aliases, models, more, moreAliases } = provider
  const describe = (seat: Seat) => {
    const id = nameProvider(provider, seat)
    // A small bound, so that a response beyond it is cheap.
    const limits = { response_bytes: 1024 * 1024 }
    return { id, kind, baseUrl: provider.baseUrl(emulator, seat, id), more: { limits, ...more } }
  }
  const model = models.keyed
  return [
    writeChatProfile({
      ...describe('keyed'),
      credentialEnv: nameVariable(provider),
      aliases: [
        { alias: aliases.keyed, model },
        { alias: aliases.disabled, model, more: { enabled: false } },
        { alias: aliases.blocked, model, more: { support_status: 'blocked' } },
        { alias: aliases.plain, model, features: PLAIN_FEATURES },
        { alias: aliases.small, model, limits: { max_output_tokens: 40 } },
        ...moreAliases
      ]
    }),
    writeChatProfile({ ...describe('keyless'), aliases: [{ alias: aliases.keyless, model: models.keyless }] })
  ]
}

/** Starts an emulator, and a gateway with all profiles in the process of the test. */
export function startBridge(t: Test, options: BridgeOptions = {}): Promise<Bridge> {
  return startBridgeWith(t, options, startProfileGateway)
}

/** The variables with the credentials of the profiles. */
export const credentialVariables = {
  NATIVE_KEY: nativeCredentials,
  ...Object.fromEntries(providers.map(provider => [nameVariable(provider), provider.key]))
}

/** As `startBridge`, with another way to start the gateway. */
export async function startBridgeWith<Gateway>(
  t: Test,
  { env, memory, isDynamic = false, profiles }: BridgeOptions,
  start: (t: Test, options: ProfileOptions) => Promise<Gateway>
): Promise<Bridge<Gateway>> {
  const keys = providers.flatMap(provider => [
    [nameProvider(provider, 'keyed'), provider.key],
    [nameProvider(provider, 'keyless'), null]
  ])
  const emulator = await startEmulator(t, { chatApiKeys: Object.fromEntries(keys) })
  const gateway = await start(t, {
    profiles: [
      writeNativeProfile({
        id: 'native-main',
        emulator,
        credentialEnv: 'NATIVE_KEY',
        aliases: [{ alias: NATIVE_ALIAS }],
        isDynamic
      }),
      ...providers.flatMap(provider => writeProfiles(provider, emulator)),
      ...(profiles?.(emulator) ?? [])
    ],
    ...(memory && { memory }),
    env: {
      UPSTREAM_AUTH_URL: emulator.authUrl,
      ...credentialVariables,
      ...env
    }
  })
  const receivedBelow = (part: string) => emulator.requests.filter(({ path }) => path.includes(part))
  return {
    emulator,
    gateway,
    received: (provider, seat) => receivedBelow(`/${provider.name}-${seat ?? 'key'}`),
    receivedNatively: () => receivedBelow('/api/'),
    listCalls: () => emulator.requests.filter(({ path }) => path !== '/api/v2/oauth' && path !== '/api/v1/models')
  }
}
