// Intersects what the layers of a route say about one capability (bridge.md 5.6).

import { compareCodePoints } from '../../../shared/json.ts'
import {
  type CapabilityDecision,
  type CapabilityLayer,
  type CapabilityState,
  capabilityLayers
} from '../../../shared/support/capabilities.ts'

export type LayerDecisions = Readonly<Record<CapabilityLayer, CapabilityDecision>>

/**
 * The decision of all layers together: unsupported when one of them is, else unknown when one of them is, else supported. Reason and
 * source are those of the last layer that decides; the evidence is that of all layers.
 */
export function intersectLayers(layers: LayerDecisions): CapabilityDecision {
  const decisive = findLast(layers, 'unsupported') ?? findLast(layers, 'unknown')
  const { state, reasonId, source } = decisive ?? {
    state: 'supported',
    reasonId: 'all_layers_supported',
    source: 'effective_intersection'
  }
  const evidenceIds = new Set(capabilityLayers.flatMap(layer => layers[layer].evidenceIds))
  return { state, reasonId, source, evidenceIds: [...evidenceIds].sort(compareCodePoints) }
}

function findLast(layers: LayerDecisions, state: CapabilityState): CapabilityDecision | undefined {
  return capabilityLayers.map(layer => layers[layer]).findLast(decision => decision.state === state)
}
