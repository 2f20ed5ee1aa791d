// The words of the support matrix: client protocols, provider kinds, statuses, semantics, and the
// shape of a cell (bridge.md 5.5).

export const publicProtocols = [
  'anthropic_messages',
  'gemini_generate_content',
  'openai_chat_completions',
  'openai_responses'
] as const
export type PublicProtocol = (typeof publicProtocols)[number]

/** Every kind of provider, in published order. */
export const PROVIDER_KINDS = ['chat_compatible', 'content_compatible', 'messages_compatible', 'native'] as const
export type ProviderKind = (typeof PROVIDER_KINDS)[number]

export const SUPPORT_STATUSES = ['stable', 'technical_preview', 'blocked'] as const
export type SupportStatus = (typeof SUPPORT_STATUSES)[number]

/** The 21 semantics that a route keeps or loses, in published order. */
export const semanticNames = [
  'cancellation',
  'disconnect',
  'files_and_images',
  'hosted_and_provider_native_tools',
  'malformed_upstream_stream',
  'multimodal_inputs',
  'parallel_tool_calls',
  'previous_response_state',
  'reasoning_controls_and_summaries',
  'roles',
  'safety_and_refusal',
  'stop_reasons',
  'stream_lifecycle',
  'structured_output_json_schema',
  'timeout',
  'tool_choice',
  'tool_definitions_and_call_ids',
  'tool_results',
  'usage_cache_tokens',
  'usage_input_output_tokens',
  'usage_reasoning_tokens'
] as const
export type SemanticName = (typeof semanticNames)[number]

export interface SemanticRow {
  readonly semantic: SemanticName
  readonly disposition: 'exact' | 'conditional' | 'unsupported'
  readonly reasonId: string
  readonly evidenceIds: readonly string[]
  readonly capabilityPredicate: string | null
}

export interface SupportCell {
  readonly publicProtocol: PublicProtocol
  readonly upstreamProvider: ProviderKind
  readonly status: SupportStatus
  readonly reasonIds: readonly string[]
  readonly evidenceIds: readonly string[]
  readonly clientVersionWindow: string
  readonly providerVersionWindow: string
  /** All 21, sorted by name. */
  readonly semantics: readonly SemanticRow[]
}
