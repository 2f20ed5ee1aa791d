// The vocabulary of effective capabilities: what a client may use of a route, and which layers
// decide about it (bridge.md 5.6).

/** Every capability, in published order. */
export const capabilityNames = [
  'cancellation',
  'conversation_state',
  'disconnect',
  'file_input',
  'function_tools',
  'hosted_3d_generation',
  'hosted_code_interpreter',
  'hosted_image_generation',
  'hosted_url_extraction',
  'hosted_web_search',
  'image_input',
  'json_schema_output',
  'parallel_tool_calls',
  'previous_response_state',
  'reasoning_controls',
  'reasoning_summary',
  'streaming',
  'text_input',
  'usage_tokens'
] as const
export type CapabilityName = (typeof capabilityNames)[number]

export const CAPABILITY_STATES = ['supported', 'unsupported', 'unknown'] as const
export type CapabilityState = (typeof CAPABILITY_STATES)[number]

/** The layers that decide about a capability, in the order in which they are intersected. */
export const capabilityLayers = ['public_protocol', 'provider_adapter', 'model', 'api_mode', 'route_policy'] as const
export type CapabilityLayer = (typeof capabilityLayers)[number]

export const CAPABILITY_SOURCES = [
  'provider_metadata',
  'exact_model_overlay',
  'family_overlay',
  'hermetic_probe',
  'provider_invariant',
  'public_protocol',
  'provider_adapter',
  'api_mode',
  'route_policy',
  'effective_intersection',
  'unresolved'
] as const
export type CapabilitySource = (typeof CAPABILITY_SOURCES)[number]

export const CAPABILITY_REASON = /^[a-z][a-z0-9_]{2,63}$/
export const CAPABILITY_EVIDENCE = /^[A-Za-z0-9][A-Za-z0-9._:@/-]{2,127}$/

/** What one layer, or all of them together, say about a capability. */
export interface CapabilityDecision {
  readonly state: CapabilityState
  readonly reasonId: string
  readonly source: CapabilitySource
  /** Sorted. */
  readonly evidenceIds: readonly string[]
}

/** A decision with its revision, which changes with what any layer says. */
export interface RevisedDecision extends CapabilityDecision {
  readonly revision: string
}
