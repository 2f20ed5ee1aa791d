// Provider profiles of every kind, as the supervisor reads them and the workers get them (bridge.md
// 4, providers.md 1).
import type { Price } from '../prices.ts'
import type { Secret } from '../secrets/secret.ts'
import type { ProviderKind, SupportStatus } from '../support/support-vocabulary.ts'

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

/** Who keeps the state of Responses clients on the Responses wire: the provider, or the gateway's own store (memory.md 3). */
export const STATE_KEEPERS = ['provider', 'gateway'] as const
export type StateKeeper = (typeof STATE_KEEPERS)[number]

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

/** What an operator reviewed about a model. */
export interface ModelCapabilities {
  /** As the file writes them, preset words included; `expandFeatures` names each feature. */
  readonly features: readonly string[]
  readonly limits: {
    readonly contextWindow: number
    readonly maxInputTokens?: number
    readonly maxOutputTokens?: number
  }
}

/** One of several deployments of an alias, in the order of the file (decisions.md 116). */
export interface AliasTarget {
  readonly profileId: string
  readonly upstreamModel: string
  /** 1 to 100. */
  readonly weight: number
  /** The lowest one that has a healthy target is used. */
  readonly priority: number
}

export interface ModelAlias {
  readonly publicAlias: string
  /** Of an alias with targets: that of the first one. */
  readonly upstreamModel: string
  readonly capabilityProfile: string
  /** Only where the file declares them. */
  readonly capabilities?: ModelCapabilities
  /** Only where the file writes them: in place of the one model of the alias's own profile. */
  readonly targets?: readonly AliasTarget[]
  /** Only where the file writes it. */
  readonly outputLimitField?: OutputLimitField
  /** Only where the file writes it; wins over the profile's. */
  readonly unsupported?: UnsupportedMode
  /** Only where the file writes it; goes before the prices file (keys.md 4). */
  readonly pricing?: Price
  readonly supportStatus: SupportStatus
  readonly enabled: boolean
  readonly deprecated: boolean
}

/** A text of the file, or the name of the variable that holds it: the value of such a variable is a secret. */
export type TextOrVariable = string | { readonly env: string }

/** How the calls of a profile are authorized where the header of the kind does not fit (providers.md 1). */
export type ProfileAuth =
  | { readonly type: 'header'; readonly name: string; readonly prefix?: string }
  | { readonly type: 'query'; readonly name: string }
  | {
      readonly type: 'oauth2'
      readonly tokenUrl: string
      readonly clientIdEnv: string
      readonly clientSecretEnv: string
      readonly scope?: string
      readonly audience?: string
      readonly clientAuth: 'basic' | 'post'
      /** That of the profile unless written. */
      readonly networkPolicyRef?: string
    }
  | {
      readonly type: 'google_service_account'
      /** Exactly one of both: a path, or the variable with the JSON text of the key. */
      readonly file?: string
      readonly env?: string
      readonly scopes?: readonly string[]
    }
  | { readonly type: 'aws_sigv4'; readonly region: string; readonly service: string }

/** Seconds; 0 sets no limit, except for `connect`. */
export interface ProfileTimeouts {
  readonly connectSeconds?: number
  readonly firstByteSeconds?: number
  readonly idleSeconds?: number
  readonly totalSeconds?: number
}

export interface ProviderProfile {
  readonly profileId: string
  readonly providerKind: ProviderKind
  /** In canonical form. */
  readonly baseUrl: string
  /** Only where the file writes it: the wire of a kind that has several. */
  readonly wire?: ProviderWire
  /** Only where the file writes it, and only on the Responses wire. */
  readonly state?: StateKeeper
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
  /** True with the policy `private-network` alone; only where the file writes it, as every member below (providers.md 1). */
  readonly allowPrivate?: boolean
  /** Paths of PEM files. */
  readonly caFile?: string
  readonly clientCertFile?: string
  readonly clientKeyFile?: string
  /** `none`, `environment`, or the URL of a proxy. */
  readonly proxy?: string
  /** The variable with `user:password` for the proxy. */
  readonly proxyCredentialEnv?: string
  readonly auth?: ProfileAuth
  /** Headers of every call, by name. */
  readonly headers?: Readonly<Record<string, TextOrVariable>>
  /** Parameters of every call's query, by name, not encoded. */
  readonly query?: Readonly<Record<string, TextOrVariable>>
  readonly timeouts?: ProfileTimeouts
  /** The largest response in bytes, after decompression. */
  readonly responseBytesMax?: number
  /** Connections of one worker at once. */
  readonly connections?: number
  /** Attempts after the first one (decisions.md 112). */
  readonly retries?: number
  /** Of an external profile with a dynamic inventory: what stands before the provider's id in a public name (decisions.md 88). */
  readonly publicPrefix?: string
  /** What the models of a dynamic inventory can do. */
  readonly defaultCapabilities?: ModelCapabilities
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

/**
 * The secrets of a profile file: the credential of a profile by its id, none for a keyless one, and
 * the values of the other variables that it names by `secretKey`. Read once by the supervisor.
 */
export type ProfileCredentials = Readonly<Record<string, Secret>>

/** The place of a further variable of a profile among the credentials. An id has no blank, so that no id is such a place. */
export function secretKey(profileId: string, variable: string): string {
  return `${profileId} ${variable}`
}

/** An empty record to fill. It has no prototype, so that no profile id, such as `constructor`, finds an inherited member. */
export function createCredentials(): Record<string, Secret> {
  return Object.create(null)
}
