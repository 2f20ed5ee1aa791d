// Reads the native upstream's model list for the catalog (upstream.md 6, bridge.md 6.1).

import { NATIVE_BOUNDS, readCatalogEntry } from '../../../shared/catalog/catalog.ts'
import { isJsonObject } from '../../normalized/index.ts'
import type { ModelListCodec } from '../provider-face.ts'
import { readModelItems } from '../shared/model-list.ts'
import type { NativeOptions } from './options.ts'

export const nativeModelList: ModelListCodec<NativeOptions> = {
  bounds: NATIVE_BOUNDS,
  write: ({ v1Base }) => ({ method: 'GET', path: `${v1Base}/models`, headers: [] }),
  read: body => ({ models: readModelItems(isJsonObject(body) ? body.data : undefined, readCatalogEntry) })
}
