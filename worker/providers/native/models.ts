// The upstream's model list, as the catalog keeps it (upstream contract, section 6; bridge contract, section 6.1).

import {
  CATALOG_SERIALIZED_BYTES_MAX,
  CatalogError,
  type CatalogModels,
  readCatalogModels
} from '../../../shared/catalog.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { UpstreamClient } from '../http/client.ts'
import { readJson } from '../http/whole-response.ts'
import type { CallContext } from '../types.ts'

/** The list may hold members that the catalog drops; what is far beyond its own bound is not read to the end. */
const LIST_BYTES_MAX = 4 * CATALOG_SERIALIZED_BYTES_MAX

/** Resolves with the upstream's inventory. Rejects with `GatewayError`. */
export async function listUpstreamModels(client: UpstreamClient, context: CallContext): Promise<CatalogModels> {
  const path = `${client.transport.endpoints.v1Base}/models`
  const answer = await client.fetch({ operation: 'models', method: 'GET', path }, context, LIST_BYTES_MAX)
  return client.read('models', context, () => readModels(readJson(answer)))
}

function readModels(body: unknown): CatalogModels {
  const list = typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined
  try {
    return readCatalogModels(list)
  } catch (thrown) {
    if (thrown instanceof CatalogError) throw new GatewayError('provider_protocol_error', { cause: thrown })
    throw thrown
  }
}
