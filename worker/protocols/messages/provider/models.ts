// Reads the model list of the Anthropic Messages wire (messages.md 7.4).

import { CatalogError, readCatalogModels } from '../../../../shared/catalog.ts'
import { GatewayError, isJsonObject } from '../../../normalized/index.ts'
import type { ModelListCodec } from '../../face.ts'
import { MESSAGES_HEADERS } from './headers.ts'
import type { MessagesCompatibleOptions } from './options.ts'

/** The largest page of the wire, so that one call reads the whole list. */
const PAGE_MODELS = 1000

export const messagesCompatibleModels: ModelListCodec<MessagesCompatibleOptions> = {
  write: ({ modelsPath }) => ({ method: 'GET', path: `${modelsPath}?limit=${PAGE_MODELS}`, headers: MESSAGES_HEADERS }),
  read(body) {
    try {
      return readCatalogModels(isJsonObject(body) ? body.data : undefined)
    } catch (thrown) {
      if (thrown instanceof CatalogError) throw new GatewayError('provider_protocol_error', { cause: thrown })
      throw thrown
    }
  }
}
