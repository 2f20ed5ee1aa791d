// What each layer of a route says about a capability (bridge.md 5.6 and 5.7).

import {
  CAPABILITY_EVIDENCE,
  type CapabilityDecision,
  type CapabilityLayer,
  type CapabilityName,
  type CapabilitySource
} from '../../../shared/support/capabilities.ts'
import { findRow } from '../../../shared/support/support-matrix.ts'
import type { PublicProtocol, SemanticName, SupportCell } from '../../../shared/support/support-vocabulary.ts'
import type { ProviderCapabilities } from '../../protocols/capabilities.ts'
import type { ApiMode } from '../../protocols/provider-face.ts'
import type { LayerDecisions } from './intersect-layers.ts'

/** A route of one model, as far as its capabilities depend on it. */
export interface CapabilityRoute {
  readonly publicProtocol: PublicProtocol
  readonly apiMode: ApiMode
  /** Undefined for a kind that the matrix does not list. */
  readonly cell: SupportCell | undefined
  /** Undefined for a kind that this build does not have. */
  readonly provider: ProviderCapabilities | undefined
  readonly upstreamModel: string
  /** What the profile file declares about the alias; undefined where it declares nothing. */
  readonly declaredFeatures: readonly string[] | undefined
  /** The label of the alias that is bound into the evidence. */
  readonly capabilityProfile: string | undefined
  /** The alias is blocked, or its file is too old to execute it. */
  readonly isAliasBlocked: boolean
}

/** The declared features that a capability needs, all of them. A capability without an entry has no feature of its own. */
const FEATURES: Readonly<Partial<Record<CapabilityName, readonly string[]>>> = {
  cancellation: ['cancellation'],
  disconnect: ['cancellation'],
  file_input: ['file_inputs'],
  function_tools: ['function_tools', 'tool_choice', 'tool_results'],
  image_input: ['image_references'],
  json_schema_output: ['json_schema_output'],
  parallel_tool_calls: ['parallel_tool_calls'],
  reasoning_controls: ['reasoning_effort'],
  streaming: ['stream_deltas', 'stream_terminal_events'],
  text_input: ['text'],
  usage_tokens: ['usage']
}

/** The row of the support matrix without which an executor does not have a capability. */
const ROWS: Readonly<Partial<Record<CapabilityName, SemanticName>>> = {
  reasoning_controls: 'reasoning_controls_and_summaries',
  reasoning_summary: 'reasoning_controls_and_summaries'
}

/** Protocols without stored conversations, or without summaries, cannot express them. */
const PROTOCOLS_WITH_STATE: readonly PublicProtocol[] = ['openai_responses']
const PROTOCOLS_WITH_SUMMARIES: readonly PublicProtocol[] = ['openai_responses', 'anthropic_messages']
/** The content protocol has no toggle for several calls; where a profile declares them, a request for them is refused. */
const PROTOCOLS_WITHOUT_PARALLEL_TOGGLE: readonly PublicProtocol[] = ['gemini_generate_content']

/** The test suites that prove the rules of routing. */
const POLICY_EVIDENCE_IDS = ['CONFORMANCE-BRIDGE']

/** What all layers say about one capability of a route. */
export function decideLayers(capability: CapabilityName, route: CapabilityRoute): LayerDecisions {
  return {
    public_protocol: decideProtocol(capability, route),
    provider_adapter: decideAdapter(capability, route),
    model: decideModel(capability, route),
    api_mode: decideApiMode(capability, route),
    route_policy: decidePolicy(route)
  }
}

function decideProtocol(capability: CapabilityName, route: CapabilityRoute): CapabilityDecision {
  return decide('public_protocol', canExpress(capability, route), 'public_protocol')
}

function canExpress(capability: CapabilityName, { publicProtocol, provider }: CapabilityRoute): boolean {
  switch (capability) {
    case 'conversation_state':
    case 'previous_response_state':
      return PROTOCOLS_WITH_STATE.includes(publicProtocol)
    case 'reasoning_summary':
      return PROTOCOLS_WITH_SUMMARIES.includes(publicProtocol)
    case 'parallel_tool_calls':
      return provider?.reviewModel !== undefined || !PROTOCOLS_WITHOUT_PARALLEL_TOGGLE.includes(publicProtocol)
    default:
      return true
  }
}

function decideAdapter(capability: CapabilityName, { provider, cell }: CapabilityRoute): CapabilityDecision {
  const row = ROWS[capability]
  const isLost = cell !== undefined && row !== undefined && findRow(cell, row).disposition === 'unsupported'
  const isSupported = provider !== undefined && !provider.lacks.includes(capability) && !isLost
  const isInvariant = provider?.invariants.includes(capability) === true
  return decide(
    'provider_adapter',
    isSupported,
    isInvariant ? 'provider_invariant' : 'provider_adapter',
    cell?.evidenceIds
  )
}

function decideModel(capability: CapabilityName, route: CapabilityRoute): CapabilityDecision {
  const { provider, upstreamModel, apiMode, declaredFeatures } = route
  if (provider?.invariants.includes(capability) === true) return decide('model', true, 'provider_invariant')
  if (provider?.reviewModel !== undefined) {
    const review = provider.reviewModel(capability, { modelId: upstreamModel, apiMode })
    return review === undefined ? UNREVIEWED : decide('model', review.isSupported, review.source, review.evidenceIds)
  }
  const needed = FEATURES[capability]
  if (needed === undefined || declaredFeatures === undefined) return UNREVIEWED
  const isDeclared = needed.every(feature => declaredFeatures.includes(feature))
  return {
    state: isDeclared ? 'supported' : 'unsupported',
    reasonId: isDeclared ? 'profile_declared_feature' : 'profile_feature_absent',
    source: 'exact_model_overlay',
    evidenceIds: labelEvidence(route)
  }
}

const UNREVIEWED: CapabilityDecision = {
  state: 'unknown',
  reasonId: 'unreviewed_model_capability',
  source: 'unresolved',
  evidenceIds: []
}

function decideApiMode(capability: CapabilityName, { provider, apiMode }: CapabilityRoute): CapabilityDecision {
  return decide('api_mode', provider?.lacksByApiMode?.[apiMode].includes(capability) !== true, 'api_mode')
}

function decidePolicy(route: CapabilityRoute): CapabilityDecision {
  const isOpen = route.cell?.status !== 'blocked' && !route.isAliasBlocked
  return decide('route_policy', isOpen, 'route_policy', [...POLICY_EVIDENCE_IDS, ...labelEvidence(route)])
}

/** The label as evidence. One that evidence ids do not allow is left out: it would make the whole document invalid. */
function labelEvidence({ capabilityProfile }: CapabilityRoute): string[] {
  const isEvidence = capabilityProfile !== undefined && CAPABILITY_EVIDENCE.test(capabilityProfile)
  return isEvidence ? [capabilityProfile] : []
}

function decide(
  layer: CapabilityLayer,
  isSupported: boolean,
  source: CapabilitySource,
  evidenceIds: readonly string[] = []
): CapabilityDecision {
  return {
    state: isSupported ? 'supported' : 'unsupported',
    reasonId: isSupported ? `${layer}_supports_capability` : `${layer}_blocks_capability`,
    source,
    evidenceIds
  }
}
