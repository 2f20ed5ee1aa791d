// A gateway with three profiles of one file: the native upstream, a chat_compatible provider with a key and one without. One emulator
// plays all of them, each under a base URL of its own that checks its credential.

import t, { type Test } from 'tap'
import type { Emulator, RecordedRequest } from '../../../ops/emulator/server.ts'
import { BASE_FEATURES } from '../../../shared/profile.ts'
import { type GatewayOptions, startEmulator } from '../../support/gateway.ts'
import {
  type AliasOptions,
  chatBaseUrl,
  type ProfileGateway,
  startProfileGateway,
  writeChatProfile,
  writeNativeProfile
} from '../../support/profile-gateway.ts'

/** The aliases of the file. */
export const aliases = {
  native: 'team/large',
  keyed: 'bridge/keyed',
  keyless: 'bridge/keyless',
  disabled: 'bridge/disabled',
  blocked: 'bridge/blocked',
  /** Declares the base features and text alone. */
  plain: 'bridge/plain',
  /** At most 40 tokens of output. */
  small: 'bridge/small'
} as const

/** The models of the providers behind the aliases of the chat_compatible profiles. */
export const providerModel = 'emulator-large'

export const providerKey = 'key-of-the-keyed-provider-5f1c'
export const nativeCredentials = Buffer.from('native-client:native-secret').toString('base64')

const plainFeatures = [...BASE_FEATURES, 'text']

export interface Bridge {
  emulator: Emulator
  gateway: ProfileGateway
  /** What each provider received on its wire, oldest first. */
  received(provider: 'keyed' | 'keyless' | 'native'): RecordedRequest[]
}

export interface BridgeOptions {
  env?: GatewayOptions['env']
  /** Further aliases of the profile with a key. */
  more?: readonly AliasOptions[]
  /** Whether the native profile has the models of its upstream as well. */
  isDynamic?: boolean
  /** Further profiles of the file, whose providers the same emulator may play. */
  profiles?: (emulator: Emulator) => readonly object[]
}

/** Starts an emulator and a gateway with the three profiles. */
export async function startBridge(t: Test, options: BridgeOptions = {}): Promise<Bridge> {
  const emulator = await startEmulator(t, { chatApiKeys: { keyed: providerKey, keyless: null } })
  const gateway = await startProfileGateway(t, {
    profiles: [
      writeNativeProfile({
        id: 'native-main',
        emulator,
        credentialEnv: 'NATIVE_KEY',
        aliases: [{ alias: aliases.native }],
        ...(options.isDynamic === undefined ? {} : { isDynamic: options.isDynamic })
      }),
      writeChatProfile({
        id: 'keyed-chat',
        baseUrl: chatBaseUrl(emulator, 'keyed'),
        credentialEnv: 'KEYED_CHAT_KEY',
        aliases: [
          { alias: aliases.keyed },
          { alias: aliases.disabled, more: { enabled: false } },
          { alias: aliases.blocked, more: { support_status: 'blocked' } },
          { alias: aliases.plain, features: plainFeatures },
          { alias: aliases.small, limits: { max_output_tokens: 40 } },
          ...(options.more ?? [])
        ]
      }),
      writeChatProfile({
        id: 'keyless-chat',
        baseUrl: chatBaseUrl(emulator, 'keyless'),
        aliases: [{ alias: aliases.keyless, model: 'emulator-small' }]
      }),
      ...(options.profiles?.(emulator) ?? [])
    ],
    env: {
      NATIVE_KEY: nativeCredentials,
      KEYED_CHAT_KEY: providerKey,
      UPSTREAM_AUTH_URL: emulator.authUrl,
      ...options.env
    }
  })
  const prefixes = { keyed: '/openai/keyed/', keyless: '/openai/keyless/', native: '/api/' }
  return {
    emulator,
    gateway,
    received: provider => emulator.requests.filter(({ path }) => path.startsWith(prefixes[provider]))
  }
}

let shared: Promise<Bridge> | undefined

/** The bridge that all cases of the folder share, started at the first call. */
export function startSharedBridge(): Promise<Bridge> {
  shared ??= startBridge(t)
  return shared
}
