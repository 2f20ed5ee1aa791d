// A gateway with two profiles of the kind messages_compatible, with a key and without one. One emulator plays both providers, each under a
// base URL of its own that checks its credential.

import type { Test } from 'tap'
import type { Emulator, RecordedRequest } from '../../../ops/emulator/server.ts'
import { BASE_FEATURES } from '../../../shared/profile.ts'
import { type GatewayOptions, startEmulator } from '../../support/gateway.ts'
import {
  anthropicBaseUrl,
  type ProfileGateway,
  startProfileGateway,
  writeChatProfile
} from '../../support/profile-gateway.ts'

/** The aliases of the file. */
export const messagesAliases = {
  keyed: 'messages/keyed',
  keyless: 'messages/keyless',
  /** Declares the base features and text alone. */
  plain: 'messages/plain',
  /** At most 40 tokens of output. */
  small: 'messages/small'
} as const

/** The models of the providers behind the aliases. */
export const providerModels = { keyed: 'emulator-large', keyless: 'emulator-small' } as const

export const providerKey = 'key-of-the-keyed-provider-7b42'

export interface MessagesBridge {
  emulator: Emulator
  gateway: ProfileGateway
  /** What a provider received on its wire, oldest first. */
  received(provider: 'keyed' | 'keyless'): RecordedRequest[]
}

/** Starts an emulator and a gateway with the two profiles. */
export async function startMessagesBridge(
  t: Test,
  { env, profiles = [] }: { env?: GatewayOptions['env']; profiles?: readonly object[] } = {}
): Promise<MessagesBridge> {
  const emulator = await startEmulator(t, { chatApiKeys: { keyed: providerKey, keyless: null } })
  const gateway = await startProfileGateway(t, {
    profiles: [
      writeChatProfile({
        id: 'keyed-messages',
        kind: 'messages_compatible',
        baseUrl: anthropicBaseUrl(emulator, 'keyed'),
        credentialEnv: 'KEYED_MESSAGES_KEY',
        aliases: [
          { alias: messagesAliases.keyed },
          { alias: messagesAliases.plain, features: [...BASE_FEATURES, 'text', 'generation_controls'] },
          { alias: messagesAliases.small, limits: { max_output_tokens: 40 } }
        ]
      }),
      writeChatProfile({
        id: 'keyless-messages',
        kind: 'messages_compatible',
        // A base URL may end with the version too.
        baseUrl: `${anthropicBaseUrl(emulator, 'keyless')}/v1`,
        aliases: [{ alias: messagesAliases.keyless, model: providerModels.keyless }]
      }),
      ...profiles
    ],
    env: { KEYED_MESSAGES_KEY: providerKey, ...env }
  })
  return {
    emulator,
    gateway,
    received: provider => emulator.requests.filter(({ path }) => path.startsWith(`/anthropic/${provider}/`))
  }
}
