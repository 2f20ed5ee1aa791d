// A public name of a profile file as the catalog has it.

import type { CatalogModel } from '../../shared/catalog/catalog.ts'

export const listedAlias: CatalogModel = {
  id: 'team/large',
  ownedBy: 'chat_compatible',
  modelType: 'chat',
  available: true,
  deprecated: false,
  providerMetadata: {},
  providerKind: 'chat_compatible',
  providerProfileId: 'edge-chat',
  discoveredAt: '2026-11-21T00:00:00.000Z',
  stale: false,
  inventoryRevision: `sha256:${'a'.repeat(64)}`,
  declared: { canCountTokens: true }
}
