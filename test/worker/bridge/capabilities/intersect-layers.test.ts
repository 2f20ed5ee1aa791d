import t from 'tap'
import {
  CAPABILITY_SOURCES,
  CAPABILITY_STATES,
  type CapabilityDecision,
  capabilityLayers
} from '../../../../shared/support/capabilities.ts'
import { intersectLayers, type LayerDecisions } from '../../../../worker/bridge/capabilities/intersect-layers.ts'
import { assert, constantFrom, property, record, uniqueArray } from '../../../support/properties.ts'

const decision = record({
  state: constantFrom(...CAPABILITY_STATES),
  reasonId: constantFrom('reason_a', 'reason_b', 'reason_c'),
  source: constantFrom(...CAPABILITY_SOURCES),
  evidenceIds: uniqueArray(constantFrom('E-1', 'E-2', 'e-3', 'F:4'))
})
const layers = record({
  public_protocol: decision,
  provider_adapter: decision,
  model: decision,
  api_mode: decision,
  route_policy: decision
})

const list = (decisions: LayerDecisions): CapabilityDecision[] => capabilityLayers.map(layer => decisions[layer])

t.test('a capability is supported exactly when all layers support it', async t => {
  assert(
    property(layers, decisions => {
      const { state, reasonId, source } = intersectLayers(decisions)
      const areAllSupported = list(decisions).every(one => one.state === 'supported')
      if (areAllSupported) return reasonId === 'all_layers_supported' && source === 'effective_intersection'
      return state !== 'supported'
    })
  )
  t.pass()
})

t.test('unsupported wins over unknown, and the last such layer gives the reason', async t => {
  assert(
    property(layers, decisions => {
      const { state, reasonId, source } = intersectLayers(decisions)
      if (state === 'supported') return true
      const deciding = list(decisions).filter(one => one.state === state)
      const hasUnsupported = list(decisions).some(one => one.state === 'unsupported')
      const last = deciding.at(-1)
      return (state === 'unsupported') === hasUnsupported && last?.reasonId === reasonId && last.source === source
    })
  )
  t.pass()
})

t.test('the evidence is that of all layers, each once and sorted', async t => {
  assert(
    property(layers, decisions => {
      const expected = [...new Set(list(decisions).flatMap(one => one.evidenceIds))].sort()
      return JSON.stringify(intersectLayers(decisions).evidenceIds) === JSON.stringify(expected)
    })
  )
  t.pass()
})

t.test('a layer that supports less never makes the result better', async t => {
  const rank = (one: CapabilityDecision) => ['unsupported', 'unknown', 'supported'].indexOf(one.state)
  assert(
    property(
      layers,
      constantFrom(...capabilityLayers),
      constantFrom(...CAPABILITY_STATES),
      (decisions, layer, state) => {
        const changed = { ...decisions, [layer]: { ...decisions[layer], state } }
        const isWorse = rank(changed[layer]) <= rank(decisions[layer])
        return !isWorse || rank(intersectLayers(changed)) <= rank(intersectLayers(decisions))
      }
    )
  )
  t.pass()
})
