// The versioned machine documents of the supervisor and the workers; each is validated when it is
// built (bridge.md 5.2 and 5.3).
import { z } from 'zod'
import type { CatalogSnapshot } from '../catalog/catalog.ts'
import type { StartupError } from '../startup-error.ts'
import { machineText, revision, validated } from './machine-document.ts'

export const errorDocument = z.strictObject({
  schema_version: z.literal('gateway.error.v1'),
  error: z.strictObject({
    code: machineText,
    message: machineText,
    details: z.array(z.record(z.string(), z.union([machineText, z.number(), z.boolean()])))
  })
})

const reasonList = z.array(z.strictObject({ reason_id: machineText }))

export const readinessDocument = z.strictObject({
  schema_version: z.literal('gateway.readiness.v1'),
  ready: z.boolean(),
  process_alive: z.literal(true),
  provider_routes_configured: z.boolean(),
  provider_adapters_ready: z.boolean(),
  model_catalog: z.strictObject({
    state: z.enum(['fresh', 'stale', 'unavailable']),
    usable: z.boolean(),
    discovery_available: z.boolean(),
    provider_profile_id: machineText.nullable(),
    inventory_revision: revision.nullable()
  }),
  config_revision: revision.optional(),
  matrix_revision: revision.optional(),
  /** Only with a keys file. */
  keys_revision: revision.optional(),
  reasons: reasonList,
  warnings: reasonList
})

export type ErrorDocument = z.infer<typeof errorDocument>
export type ReadinessDocument = z.infer<typeof readinessDocument>

/** The document of a failure that a machine reads: a code, a fixed text, and flat details without content. */
export function createErrorDocument(error: {
  code: string
  message: string
  details?: ReadonlyArray<Readonly<Record<string, string>>>
}): ErrorDocument {
  return validated(errorDocument, {
    schema_version: 'gateway.error.v1',
    error: { code: error.code, message: error.message, details: error.details ?? [] }
  })
}

/** The error document of a configuration that prevents the start. */
export function createStartupErrorDocument(error: StartupError): ErrorDocument {
  const details = error.details.map(detail => ({
    reason_id: detail.reasonId,
    ...(detail.setting !== undefined && { setting: detail.setting })
  }))
  return createErrorDocument({ code: error.code, message: error.message, details })
}

/** What a worker knows about its own readiness. */
export interface ReadinessFacts {
  readonly isDraining: boolean
  /** Undefined until a registry is loaded. */
  readonly revisions: { readonly config: string; readonly matrix: string } | undefined
  /** Of the keys file in force; undefined without one. */
  readonly keysRevision?: string | undefined
  readonly hasProviderRoutes: boolean
  readonly areAdaptersReady: boolean
  /** The current catalog; undefined before the first discovery. */
  readonly catalog: CatalogSnapshot | undefined
  /** Further content-free warning ids, such as `alias_requires_profile_v3`. */
  readonly warningIds?: readonly string[]
}

/** The document of `GET /ready`; its status is 200 exactly when `ready` is true. */
export function createReadinessDocument(facts: ReadinessFacts): ReadinessDocument {
  const { catalog, revisions } = facts
  const reasons = listNotReadyReasons(facts)
  const warnings = [...(facts.warningIds ?? [])]
  for (const [state, id] of INVENTORY_WARNINGS) {
    if (catalog?.inventories.some(inventory => inventory.state === state)) warnings.unshift(id)
  }
  const catalogState = catalog === undefined ? 'unavailable' : catalog.stale ? 'stale' : 'fresh'
  return validated(readinessDocument, {
    schema_version: 'gateway.readiness.v1',
    ready: reasons.length === 0,
    process_alive: true,
    provider_routes_configured: revisions !== undefined && facts.hasProviderRoutes,
    provider_adapters_ready: revisions !== undefined && facts.areAdaptersReady,
    model_catalog: {
      state: catalogState,
      usable: catalog !== undefined,
      discovery_available: catalogState === 'fresh',
      provider_profile_id: catalog?.providerProfileId ?? null,
      inventory_revision: catalog?.inventoryRevision ?? null
    },
    ...(revisions !== undefined && { config_revision: revisions.config, matrix_revision: revisions.matrix }),
    ...(facts.keysRevision !== undefined && { keys_revision: facts.keysRevision }),
    reasons: reasons.map(id => ({ reason_id: id })),
    warnings: warnings.map(id => ({ reason_id: id }))
  })
}

/** What is said of a catalog that is served although a provider's list is not known, or no longer confirmed. */
const INVENTORY_WARNINGS = [
  ['absent', 'model_inventory_incomplete'],
  ['stale', 'model_inventory_stale_but_usable']
] as const

/** Why a worker is not ready, in published order; empty when it is. */
function listNotReadyReasons(facts: ReadinessFacts): string[] {
  if (facts.revisions === undefined) return ['registry_not_loaded']
  const reasons: string[] = []
  if (facts.isDraining) reasons.push('gateway_shutting_down')
  if (!facts.hasProviderRoutes) reasons.push('provider_routes_not_configured')
  if (!facts.areAdaptersReady) reasons.push('provider_clients_not_ready')
  if (facts.catalog === undefined) reasons.push('model_inventory_unavailable')
  return reasons
}
