// A gateway with two content_compatible profiles, one with a key and one without. One emulator plays both providers, each under a base URL
// of its own that checks its key.

import type { Test } from 'tap'
import type { Emulator, RecordedRequest } from '../../../ops/emulator/server.ts'
import { BASE_FEATURES } from '../../../shared/profile.ts'
import { type GatewayOptions, startEmulator } from '../../support/gateway.ts'
import {
  googleBaseUrl,
  type ProfileGateway,
  startProfileGateway,
  writeChatProfile
} from '../../support/profile-gateway.ts'

/** The aliases of the file. */
export const contentAliases = {
  /** Of a model that gives its calls ids and signatures and wants them back. */
  keyed: 'google/keyed',
  keyless: 'google/keyless',
  /** Of a model of an older generation. */
  older: 'google/older',
  /** Declares the base features and text alone. */
  plain: 'google/plain',
  /** At most 40 tokens of output. */
  small: 'google/small',
  embeddings: 'google/embeddings'
} as const

export const contentKey = 'key-of-the-content-provider-77d0'

export interface ContentBridge {
  emulator: Emulator
  gateway: ProfileGateway
  /** What the providers received, oldest first. */
  received(): RecordedRequest[]
}

/** Starts an emulator and a gateway with the two profiles. */
export async function startContentBridge(t: Test, { env }: Pick<GatewayOptions, 'env'> = {}): Promise<ContentBridge> {
  const emulator = await startEmulator(t, { chatApiKeys: { keyed: contentKey, keyless: null } })
  const gateway = await startProfileGateway(t, {
    profiles: [
      writeChatProfile({
        id: 'keyed-content',
        kind: 'content_compatible',
        baseUrl: googleBaseUrl(emulator, 'keyed'),
        credentialEnv: 'CONTENT_KEY',
        aliases: [
          { alias: contentAliases.keyed, model: 'gemini-3-emulator' },
          { alias: contentAliases.older, model: 'gemini-2.5-flash' },
          { alias: contentAliases.plain, features: [...BASE_FEATURES, 'text'] },
          { alias: contentAliases.small, limits: { max_output_tokens: 40 } },
          { alias: contentAliases.embeddings, model: 'gemini-embedding-2-emulator' }
        ]
      }),
      writeChatProfile({
        id: 'keyless-content',
        kind: 'content_compatible',
        // A base that ends in the version of the API is used as it is.
        baseUrl: `${googleBaseUrl(emulator, 'keyless')}/v1beta`,
        aliases: [{ alias: contentAliases.keyless, model: 'emulator-small' }]
      })
    ],
    env: { CONTENT_KEY: contentKey, ...env }
  })
  return { emulator, gateway, received: () => emulator.requests.filter(({ path }) => path.startsWith('/google/')) }
}
