// The provider kind `messages_compatible`: the wire of Anthropic Messages (bridge.md 4.4 and 8.2).

import type { MessagesCompatibleOptions } from '../../protocols/messages/provider/options.ts'
import { signWithHeader } from '../http/credential.ts'
import type { ProviderKindRegistration } from '../provider-kind.ts'
import { type CompatibleKindOptions, createCompatibleKind } from './kind.ts'

const VERSION_ENDING = '/v1'

/** The paths of the provider's calls, below the base URL that the SDK of the wire takes; it may end in `/v1`. */
export function readMessagesOptions(baseUrl: string): MessagesCompatibleOptions {
  const path = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const base = path.endsWith(VERSION_ENDING) ? path : path + VERSION_ENDING
  return {
    messagesPath: `${base}/messages`,
    countTokensPath: `${base}/messages/count_tokens`,
    modelsPath: `${base}/models`
  }
}

/** Creates the registration of the kind. */
export function createMessagesCompatibleKind(options?: CompatibleKindOptions): ProviderKindRegistration {
  return createCompatibleKind(
    {
      providerKind: 'messages_compatible',
      createSigner: secret => signWithHeader('x-api-key', secret),
      readOptions: readMessagesOptions
    },
    options
  )
}

export const messagesCompatibleKind: ProviderKindRegistration = createMessagesCompatibleKind()
