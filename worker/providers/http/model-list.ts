// Fetches the model list of a provider, page by page (bridge.md 6.1, providers.md 3).

import {
  CATALOG_SERIALIZED_BYTES_MAX,
  CatalogError,
  type CatalogModels,
  createCatalogCollector
} from '../../../shared/catalog/catalog.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { ModelListCodec } from '../../protocols/provider-face.ts'
import type { CallContext } from '../types.ts'
import type { ProviderClient } from './client.ts'

/** A list may hold members that the catalog drops; a page that is far beyond the catalog's bound is not read to its end. */
const PAGE_BYTES_MAX = 4 * CATALOG_SERIALIZED_BYTES_MAX

/** A provider that counts its pages wrongly must not keep a discovery busy for all of its time. */
const PAGES_MAX = 200

/**
 * Fetches every page and returns the models in their order. Rejects with `provider_protocol_error` for a list that cannot be used, or is
 * beyond its bounds: a part of a list would make the other models unknown.
 */
export async function fetchModelList<Options>(
  client: Pick<ProviderClient, 'fetchJson'>,
  codec: ModelListCodec<Options>,
  options: Options,
  context: CallContext
): Promise<CatalogModels> {
  const collector = createCatalogCollector(codec.bounds)
  const seen = new Set<string>()
  let cursor: string | undefined
  for (;;) {
    const { method, path, headers } = codec.write(options, cursor)
    const call = { operation: 'models' as const, method, path, headers }
    cursor = await client.fetchJson(
      call,
      context,
      body =>
        readList(() => {
          const page = codec.read(body)
          collector.add(page.models)
          if (page.cursor !== undefined && (seen.has(page.cursor) || seen.size >= PAGES_MAX))
            throw new CatalogError('endless_pages')
          return page.cursor
        }),
      PAGE_BYTES_MAX
    )
    if (cursor === undefined) return readList(() => collector.finish())
    seen.add(cursor)
  }
}

function readList<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof CatalogError) throw new GatewayError('provider_protocol_error', { cause: thrown })
    throw thrown
  }
}
