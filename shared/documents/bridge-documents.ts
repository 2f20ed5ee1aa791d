// The machine documents of the universal bridge: the models of all routes, the support matrix of
// this build, and the effective capabilities of one model (bridge.md 5.4 to 5.7).
import { z } from 'zod'
import { CATALOG_SCHEMA_VERSION, type CatalogSnapshot } from '../catalog/catalog.ts'
import { REGISTRY_PROFILE_ID } from '../catalog/catalog-composition.ts'
import { compareCodePoints } from '../json.ts'
import {
  CAPABILITY_EVIDENCE,
  CAPABILITY_REASON,
  CAPABILITY_SOURCES,
  CAPABILITY_STATES,
  type CapabilityName,
  capabilityNames,
  type RevisedDecision
} from '../support/capabilities.ts'
import { writeSupportCell } from '../support/support-matrix.ts'
import {
  PROVIDER_KINDS,
  publicProtocols,
  SUPPORT_STATUSES,
  type SupportCell,
  semanticNames
} from '../support/support-vocabulary.ts'
import { machineText, revision, validated } from './machine-document.ts'
import { describeProviders, type ProviderFacts, providerEntry } from './provider-documents.ts'
import { type TargetEntry, targetEntry } from './target-entries.ts'

export interface Revisions {
  readonly config: string
  readonly matrix: string
}

export const bridgeModelsDocument = z.strictObject({
  schema_version: z.literal('gateway.bridge-models.v3'),
  source: z.literal('shared_model_catalog'),
  deprecated_endpoint: z.literal(true),
  replacement: z.literal('/models'),
  config_revision: revision,
  matrix_revision: revision,
  catalog_schema_version: z.literal(CATALOG_SCHEMA_VERSION),
  provider_profile_id: machineText,
  inventory_revision: revision,
  discovered_at: machineText,
  expires_at: machineText,
  stale: z.boolean(),
  models: z.array(
    z.strictObject({
      id: machineText,
      provider_kind: machineText,
      provider_profile_id: machineText,
      owned_by: machineText.nullable(),
      model_type: machineText.nullable(),
      available: z.boolean(),
      deprecated: z.boolean(),
      stale: z.boolean(),
      inventory_revision: revision,
      targets: z.array(targetEntry).optional()
    })
  ),
  providers: z.array(providerEntry)
})

export type BridgeModelsDocument = z.infer<typeof bridgeModelsDocument>

/**
 * The document of `GET /bridge/models`, with the models sorted by id. Throws for a snapshot that repeats an id, or whose models belong to
 * another inventory or, unless several profiles fill it, to another profile.
 * @param facts.findTargets the targets of an alias that has several.
 */
export function createBridgeModelsDocument(
  snapshot: CatalogSnapshot,
  revisions: Revisions,
  { profiles, healths, findTargets = () => undefined }: Omit<ProviderFacts, 'catalog'> & { findTargets?: FindTargets }
): BridgeModelsDocument {
  assertOneInventory(snapshot)
  return validated(bridgeModelsDocument, {
    schema_version: 'gateway.bridge-models.v3',
    source: 'shared_model_catalog',
    deprecated_endpoint: true,
    replacement: '/models',
    config_revision: revisions.config,
    matrix_revision: revisions.matrix,
    catalog_schema_version: snapshot.schemaVersion,
    provider_profile_id: snapshot.providerProfileId,
    inventory_revision: snapshot.inventoryRevision,
    discovered_at: snapshot.discoveredAt,
    expires_at: snapshot.expiresAt,
    stale: snapshot.stale,
    models: [...snapshot.models]
      .sort((left, right) => compareCodePoints(left.id, right.id))
      .map(model => ({
        id: model.id,
        provider_kind: model.providerKind,
        provider_profile_id: model.providerProfileId,
        owned_by: model.ownedBy,
        model_type: model.modelType,
        available: model.available,
        deprecated: model.deprecated,
        stale: model.stale,
        inventory_revision: model.inventoryRevision,
        ...writeTargets(findTargets(model.id))
      })),
    providers: describeProviders({ profiles, healths, catalog: snapshot })
  })
}

/** Undefined for a model without targets. */
export type FindTargets = (publicAlias: string) => TargetEntry[] | undefined

/** The member of a model that has targets. */
function writeTargets(targets: TargetEntry[] | undefined): { targets?: TargetEntry[] } {
  return targets === undefined ? {} : { targets }
}

function assertOneInventory({ models, inventoryRevision, providerProfileId }: CatalogSnapshot): void {
  if (new Set(models.map(({ id }) => id)).size !== models.length) throw new Error('The catalog repeats a model id.')
  if (models.some(model => model.inventoryRevision !== inventoryRevision)) {
    throw new Error('The catalog mixes inventory revisions.')
  }
  const isOneProfile = models.every(model => model.providerProfileId === providerProfileId)
  if (!isOneProfile && providerProfileId !== REGISTRY_PROFILE_ID) throw new Error('The catalog mixes profiles.')
}

export const supportMatrixDocument = z.strictObject({
  schema_version: z.literal('gateway.route-support-matrix.v1'),
  contract_kind: z.literal('route_support_matrix'),
  scope: z.literal('protocol_provider_route'),
  not_model_inventory: z.literal(true),
  not_effective_model_capabilities: z.literal(true),
  model_inventory_endpoint: machineText,
  effective_capabilities_endpoint: machineText,
  config_revision: revision,
  matrix_revision: revision,
  cells: z.array(
    z.strictObject({
      public_protocol: z.enum(publicProtocols),
      upstream_provider: z.enum(PROVIDER_KINDS),
      status: z.enum(SUPPORT_STATUSES),
      reason_ids: z.array(machineText),
      evidence_ids: z.array(machineText),
      client_version_window: machineText,
      provider_version_window: machineText,
      semantics: z.array(
        z.strictObject({
          semantic: z.enum(semanticNames),
          disposition: z.enum(['exact', 'conditional', 'unsupported']),
          reason_id: machineText,
          evidence_ids: z.array(machineText),
          capability_predicate: machineText.nullable()
        })
      )
    })
  )
})

export type SupportMatrixDocument = z.infer<typeof supportMatrixDocument>

/** The document of `GET /bridge/capabilities`. The cells are in published order. */
export function createSupportMatrixDocument(
  cells: readonly SupportCell[],
  revisions: Revisions
): SupportMatrixDocument {
  return validated(supportMatrixDocument, {
    schema_version: 'gateway.route-support-matrix.v1',
    contract_kind: 'route_support_matrix',
    scope: 'protocol_provider_route',
    not_model_inventory: true,
    not_effective_model_capabilities: true,
    model_inventory_endpoint: '/models',
    effective_capabilities_endpoint:
      '/bridge/capabilities?model=<model-id>&protocol=<public-protocol>&api_mode=<api-mode>',
    config_revision: revisions.config,
    matrix_revision: revisions.matrix,
    cells: cells.map(writeSupportCell)
  })
}

export const effectiveCapabilitiesDocument = z.strictObject({
  schema_version: z.literal('gateway.effective-capabilities.v1'),
  model: machineText,
  provider_kind: machineText,
  provider_profile_id: machineText,
  public_protocol: z.enum(publicProtocols),
  api_mode: z.enum(['v1', 'v2']),
  inventory_revision: revision,
  capability_revision: revision,
  config_revision: revision,
  matrix_revision: revision,
  targets: z.array(targetEntry).optional(),
  capabilities: z.record(
    z.enum(capabilityNames),
    z.strictObject({
      state: z.enum(CAPABILITY_STATES),
      reason_id: z.string().regex(CAPABILITY_REASON),
      source: z.enum(CAPABILITY_SOURCES),
      evidence_ids: z.array(z.string().regex(CAPABILITY_EVIDENCE)),
      revision
    })
  )
})

export type EffectiveCapabilitiesDocument = z.infer<typeof effectiveCapabilitiesDocument>

export interface EffectiveCapabilitiesFacts {
  /** As the query names it. */
  readonly model: string
  readonly providerKind: string
  readonly providerProfileId: string
  readonly publicProtocol: (typeof publicProtocols)[number]
  readonly apiMode: 'v1' | 'v2'
  readonly inventoryRevision: string
  readonly capabilityRevision: string
  readonly capabilities: Readonly<Record<CapabilityName, RevisedDecision>>
  /** Of an alias that has several. */
  readonly targets?: TargetEntry[] | undefined
}

/** The document of `GET /bridge/capabilities` for one model, with every capability in published order. */
export function createEffectiveCapabilitiesDocument(
  facts: EffectiveCapabilitiesFacts,
  revisions: Revisions
): EffectiveCapabilitiesDocument {
  return validated(effectiveCapabilitiesDocument, {
    schema_version: 'gateway.effective-capabilities.v1',
    model: facts.model,
    provider_kind: facts.providerKind,
    provider_profile_id: facts.providerProfileId,
    public_protocol: facts.publicProtocol,
    api_mode: facts.apiMode,
    inventory_revision: facts.inventoryRevision,
    capability_revision: facts.capabilityRevision,
    config_revision: revisions.config,
    matrix_revision: revisions.matrix,
    ...writeTargets(facts.targets),
    capabilities: writeDecisions(facts.capabilities)
  })
}

/** Decisions in the form of the document, which is also what the capability revision is computed from. */
export function writeDecisions(decisions: EffectiveCapabilitiesFacts['capabilities']) {
  return Object.fromEntries(
    capabilityNames.map(name => {
      const { state, reasonId, source, evidenceIds, revision: itsRevision } = decisions[name]
      return [name, { state, reason_id: reasonId, source, evidence_ids: evidenceIds, revision: itsRevision }]
    })
  )
}
