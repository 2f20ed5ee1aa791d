// Provider profiles of every kind, and their revisions (bridge.md 4.9 and 5.1).
import type { JsonObject } from './json.ts'
import { revisionOf } from './revision.ts'
import type { Secret } from './secret.ts'
import type { ProviderKind, SupportStatus } from './support-vocabulary.ts'

export const PROFILE_SCHEMA_VERSIONS = [
  'gateway.provider-profiles.v1',
  'gateway.provider-profiles.v2',
  'gateway.provider-profiles.v3'
] as const
export type ProfileSchemaVersion = (typeof PROFILE_SCHEMA_VERSIONS)[number]

/** Every feature that an alias may declare (bridge.md 4.3). */
export const FEATURE_NAMES = [
  'roles',
  'ordered_content_parts',
  'text',
  'image_references',
  'generation_controls',
  'function_tools',
  'tool_choice',
  'parallel_tool_calls',
  'tool_results',
  'json_schema_output',
  'stream_deltas',
  'stream_terminal_events',
  'stop_reason',
  'usage',
  'model_identity',
  'request_error_classes',
  'cancellation',
  'context_token_limits',
  'count_tokens',
  'reasoning_effort',
  'file_inputs',
  'json_object_output',
  'logprobs'
] as const
export type FeatureName = (typeof FEATURE_NAMES)[number]

/** The name of the output limit on a wire of chat completions that knows two. */
export const OUTPUT_LIMIT_FIELDS = ['max_tokens', 'max_completion_tokens'] as const
export type OutputLimitField = (typeof OUTPUT_LIMIT_FIELDS)[number]

/** The wires of the kind `chat_compatible` (decisions.md 86). */
export const PROVIDER_WIRES = ['chat_completions', 'responses'] as const
export type ProviderWire = (typeof PROVIDER_WIRES)[number]

/** What happens to a member that the provider's wire cannot carry: it is left out with a notice, or the request is refused. */
export const UNSUPPORTED_MODES = ['ignore', 'refuse'] as const
export type UnsupportedMode = (typeof UNSUPPORTED_MODES)[number]

/** The features that every request requires (bridge.md 7.4). */
export const BASE_FEATURES: readonly FeatureName[] = [
  'roles',
  'ordered_content_parts',
  'stop_reason',
  'usage',
  'model_identity',
  'request_error_classes',
  'cancellation',
  'context_token_limits'
]

export interface ModelAlias {
  readonly publicAlias: string
  readonly upstreamModel: string
  readonly capabilityProfile: string
  /** Only where the file declares them. */
  readonly capabilities?: {
    readonly features: readonly string[]
    readonly limits: {
      readonly contextWindow: number
      readonly maxInputTokens?: number
      readonly maxOutputTokens?: number
    }
  }
  /** Only where the file writes it. */
  readonly outputLimitField?: OutputLimitField
  /** Only where the file writes it; wins over the profile's. */
  readonly unsupported?: UnsupportedMode
  readonly supportStatus: SupportStatus
  readonly enabled: boolean
  readonly deprecated: boolean
}

export interface ProviderProfile {
  readonly profileId: string
  readonly providerKind: ProviderKind
  /** In canonical form. */
  readonly baseUrl: string
  /** Only where the file writes it: the wire of a kind that has several. */
  readonly wire?: ProviderWire
  /** Name of the variable that holds the credential; absent for a keyless profile. */
  readonly credentialEnv?: string
  readonly networkPolicyRef: string
  readonly tlsPolicyRef: string
  readonly allowLoopback: boolean
  /** Only where the file writes it. */
  readonly modelInventory?: 'static' | 'dynamic'
  /** Only where the file writes it. */
  readonly tokenCounting?: 'local' | 'off'
  /** Only where the file writes it. */
  readonly unsupported?: UnsupportedMode
  readonly models: readonly ModelAlias[]
}

export interface ProfileSet {
  readonly schemaVersion: ProfileSchemaVersion
  /**
   * Where the profiles come from: the one native profile that the settings describe, or a profile file. A file decides every destination
   * and credential; it is no part of the revisions.
   */
  readonly origin: 'settings' | 'file'
  readonly profiles: readonly ProviderProfile[]
}

/** The credentials of a profile file, by profile id; a keyless profile has none. Read once by the supervisor. */
export type ProfileCredentials = Readonly<Record<string, Secret>>

/** An empty record to fill. It has no prototype, so that no profile id, such as `constructor`, finds an inherited member. */
export function createCredentials(): Record<string, Secret> {
  return Object.create(null)
}

/** Hash of one profile's content. Credential values are no part of a profile, so they never change it. */
export function computeProfileRevision(profile: ProviderProfile): string {
  return revisionOf(writeProfileContent(profile), { keepNulls: false })
}

/** Hash of all profiles in their order: equal in every process that runs the same configuration. */
export function computeConfigRevision(set: Pick<ProfileSet, 'schemaVersion' | 'profiles'>): string {
  const content = { profiles: set.profiles.map(writeProfileContent), schema_version: set.schemaVersion }
  return revisionOf(content, { keepNulls: false })
}

/** An alias under the names that documents and revisions use, with features in sorted order. */
export function writeAlias(alias: ModelAlias): JsonObject {
  const { capabilities } = alias
  return {
    public_alias: alias.publicAlias,
    upstream_model: alias.upstreamModel,
    capability_profile: alias.capabilityProfile,
    ...(capabilities !== undefined && { capabilities: writeCapabilities(capabilities) }),
    ...(alias.outputLimitField !== undefined && { output_limit_field: alias.outputLimitField }),
    ...(alias.unsupported !== undefined && { unsupported: alias.unsupported }),
    support_status: alias.supportStatus,
    enabled: alias.enabled,
    deprecated: alias.deprecated
  }
}

function writeCapabilities(capabilities: NonNullable<ModelAlias['capabilities']>): JsonObject {
  const { contextWindow, maxInputTokens, maxOutputTokens } = capabilities.limits
  return {
    features: [...capabilities.features].sort(),
    limits: {
      context_window: contextWindow,
      ...(maxInputTokens !== undefined && { max_input_tokens: maxInputTokens }),
      ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens })
    }
  }
}

function writeProfileContent(profile: ProviderProfile): JsonObject {
  return {
    profile_id: profile.profileId,
    provider_kind: profile.providerKind,
    base_url: profile.baseUrl,
    ...(profile.wire !== undefined && { wire: profile.wire }),
    ...(profile.credentialEnv !== undefined && { credential_env: profile.credentialEnv }),
    network_policy_ref: profile.networkPolicyRef,
    tls_policy_ref: profile.tlsPolicyRef,
    allow_loopback: profile.allowLoopback,
    ...(profile.modelInventory !== undefined && { model_inventory: profile.modelInventory }),
    ...(profile.tokenCounting !== undefined && { token_counting: profile.tokenCounting }),
    ...(profile.unsupported !== undefined && { unsupported: profile.unsupported }),
    models: profile.models.map(writeAlias)
  }
}
