// Reads the native upstream's model list for the catalog (upstream.md 6, bridge.md 6.1).

import { CatalogError, readCatalogModels } from '../../../shared/catalog.ts'
import { GatewayError, isJsonObject } from '../../normalized/index.ts'
import type { ModelListCodec } from '../face.ts'
import type { NativeOptions } from './options.ts'

export const nativeModelList: ModelListCodec<NativeOptions> = {
  write: ({ v1Base }) => ({ method: 'GET', path: `${v1Base}/models`, headers: [] }),
  read(body) {
    try {
      return readCatalogModels(isJsonObject(body) ? body.data : undefined)
    } catch (thrown) {
      if (thrown instanceof CatalogError) throw new GatewayError('provider_protocol_error', { cause: thrown })
      throw thrown
    }
  }
}
