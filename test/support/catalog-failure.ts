// A discovery that the upstream refused, as it travels between processes.

import type { CatalogFailure } from '../../shared/catalog/catalog.ts'

export const refusedDiscovery: CatalogFailure = {
  code: 'rate_limited',
  status: 429,
  kind: 'rate-limit',
  message: 'Slower, please.',
  param: null,
  reason: null,
  retryAfter: '7',
  cause: 'upstream status 429'
}
