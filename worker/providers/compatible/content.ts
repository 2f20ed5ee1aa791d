// The provider kind `content_compatible`: the wire of the Google GenAI API (bridge.md 4.4 and 8.1).

import type { ContentCompatibleOptions } from '../../protocols/content/provider/options.ts'
import { signWithHeader } from '../http/credential.ts'
import type { ProviderKindRegistration } from '../provider-kind.ts'
import { type CompatibleKindOptions, createCompatibleKind } from './kind.ts'

const VERSION = '/v1beta'
/** The last one is a base of Vertex AI, whose models are below their publisher. */
const endsInModelsParent = /(?:\/v1(?:beta)?|\/publishers\/[^/]+)$/

/**
 * The path of the provider's models, below which the methods of each are. A base URL that ends in the version of the API, or in a publisher of
 * Vertex AI, is used as it is; to every other one, as the SDK takes it, the version is appended.
 */
export function readContentOptions(baseUrl: string): ContentCompatibleOptions {
  const path = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const base = endsInModelsParent.test(path) ? path : path + VERSION
  return { modelsPath: `${base}/models` }
}

/** Creates the registration of the kind. */
export function createContentCompatibleKind(options?: CompatibleKindOptions): ProviderKindRegistration {
  return createCompatibleKind(
    {
      providerKind: 'content_compatible',
      createSigner: secret => signWithHeader('x-goog-api-key', secret),
      readOptions: readContentOptions
    },
    options
  )
}

export const contentCompatibleKind: ProviderKindRegistration = createContentCompatibleKind()
