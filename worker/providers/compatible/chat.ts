// The provider kind `chat_compatible`: the wires of chat completions and of Responses (bridge.md 4.4, 8.1 and 8.9).

import type { ChatCompatibleOptions } from '../../protocols/completions/provider/options.ts'
import type { ResponsesCompatibleOptions } from '../../protocols/responses/provider/options.ts'
import { signWithHeader } from '../http/credential.ts'
import type { ProviderKindRegistration } from '../provider-kind.ts'
import { type CompatibleKindOptions, createCompatibleKind } from './kind.ts'

const CHAT_ENDING = '/chat/completions'
const RESPONSES_ENDING = '/responses'
const EMBEDDINGS_ENDING = '/embeddings'
const MODELS_ENDING = '/models'

/**
 * The paths of the provider's calls, on both wires of the kind. A base URL that ends in `/chat/completions` or in `/responses` is the
 * endpoint itself; every other one is an API base, below which the endpoints are.
 */
export function readChatOptions(baseUrl: string): ChatCompatibleOptions & ResponsesCompatibleOptions {
  const path = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const ending = [CHAT_ENDING, RESPONSES_ENDING].find(one => path.endsWith(one)) ?? ''
  const base = path.slice(0, path.length - ending.length)
  return {
    chatPath: base + CHAT_ENDING,
    responsesPath: base + RESPONSES_ENDING,
    embeddingsPath: base + EMBEDDINGS_ENDING,
    modelsPath: base + MODELS_ENDING
  }
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
