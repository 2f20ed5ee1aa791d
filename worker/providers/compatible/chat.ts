// The provider kind `chat_compatible`: the wire of chat completions (bridge.md 4.4 and 8.1).

import { signWithHeader } from '../http/credential.ts'
import type { ProviderKindRegistration } from '../provider-kind.ts'
import { type CompatibleKindOptions, createCompatibleKind } from './kind.ts'

const CHAT_ENDING = '/chat/completions'
const EMBEDDINGS_ENDING = '/embeddings'

/**
 * The paths of the provider's calls. A base URL that ends in `/chat/completions` is the chat endpoint itself; every other one is an API
 * base, below which the endpoints are.
 */
export function readChatOptions(baseUrl: string): { chatPath: string; embeddingsPath: string } {
  const path = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const base = path.endsWith(CHAT_ENDING) ? path.slice(0, -CHAT_ENDING.length) : path
  return { chatPath: base + CHAT_ENDING, embeddingsPath: base + EMBEDDINGS_ENDING }
}

/** Creates the registration of the kind. */
export function createChatCompatibleKind(options?: CompatibleKindOptions): ProviderKindRegistration {
  return createCompatibleKind(
    {
      providerKind: 'chat_compatible',
      createSigner: secret => signWithHeader('authorization', secret, 'Bearer '),
      readOptions: readChatOptions
    },
    options
  )
}

export const chatCompatibleKind: ProviderKindRegistration = createChatCompatibleKind()
