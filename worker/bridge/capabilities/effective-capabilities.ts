// The effective capabilities of one route, with the revisions that tell when they change
// (bridge.md 5.6 to 5.8).

import { writeDecisions } from '../../../shared/documents/bridge-documents.ts'
import type { JsonValue } from '../../../shared/json.ts'
import { revisionOf } from '../../../shared/revision.ts'
import {
  type CapabilityName,
  capabilityLayers,
  capabilityNames,
  type RevisedDecision
} from '../../../shared/support/capabilities.ts'
import { intersectLayers, type LayerDecisions } from './intersect-layers.ts'
import { type CapabilityRoute, decideLayers } from './layers.ts'

export interface EffectiveCapabilities {
  readonly capabilities: Readonly<Record<CapabilityName, RevisedDecision>>
  readonly capabilityRevision: string
}

/**
 * Decides all capabilities of a route. The revision changes with what any layer says, with the model, the protocol and the API mode; not
 * with the inventory.
 * @param publicModel the model as the client names it.
 */
export function decideCapabilities(
  route: CapabilityRoute,
  { publicModel, providerKind }: { publicModel: string; providerKind: string }
): EffectiveCapabilities {
  const layersByName = new Map(capabilityNames.map(name => [name, decideLayers(name, route)] as const))
  const decisions = [...layersByName].map(([name, layers]): [CapabilityName, RevisedDecision] => [
    name,
    { ...intersectLayers(layers), revision: hash(writeLayers(layers)) }
  ])
  const capabilities = Object.fromEntries(decisions) as Record<CapabilityName, RevisedDecision>
  const layerRevisions = capabilityLayers.map(layer => [
    layer,
    hash(Object.fromEntries([...layersByName].map(([name, layers]) => [name, writeLayers(layers)[layer] ?? null])))
  ])
  const capabilityRevision = hash({
    schema_version: 'gateway.model-capabilities.v1',
    model_id: publicModel,
    provider_kind: providerKind,
    public_protocol: route.publicProtocol,
    api_mode: route.apiMode,
    capabilities: writeDecisions(capabilities),
    layer_revisions: Object.fromEntries(layerRevisions)
  })
  return { capabilities, capabilityRevision }
}

function writeLayers(layers: LayerDecisions): Record<string, JsonValue> {
  return Object.fromEntries(
    capabilityLayers.map(layer => {
      const { state, reasonId, source, evidenceIds } = layers[layer]
      return [layer, { state, reason_id: reasonId, source, evidence_ids: evidenceIds }]
    })
  )
}

function hash(value: JsonValue): string {
  return revisionOf(value, { keepNulls: true })
}
