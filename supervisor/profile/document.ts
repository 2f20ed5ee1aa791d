// The profiles that a file describes, and the rules that concern more than one of its members
// (bridge.md 4.2, 4.3, 4.6).
import type { ModelAlias, ProfileSet, ProviderProfile } from '../../shared/profile.ts'
import { isExternalKind } from '../../shared/profile-routes.ts'
import { StartupError, type StartupErrorCode } from '../../shared/startup-error.ts'
import { KINDS_WITH_OUTPUT_LIMIT_FIELDS, KINDS_WITH_TOKEN_COUNTING, KINDS_WITH_WIRES } from './policies.ts'
import { type FileContent, type IssuePath, type ProfileContent, readFileShape } from './schema.ts'

type AliasContent = ProfileContent['models'][number]

/** A validated file. */
export interface ProfileDocument {
  readonly set: ProfileSet
  /** For each profile, whether its host was written with an IPv6 zone, which its base URL does not show. */
  readonly zones: readonly boolean[]
}

const MESSAGES = {
  invalid_profile_schema: 'Provider profile config does not match the required schema.',
  duplicate_profile_id: 'Provider profile ids must be globally unique.',
  duplicate_model_alias: 'Public model aliases must be globally unique.'
} satisfies Partial<Record<StartupErrorCode, string>>

/**
 * Turns the parsed content of a profile file into profiles. Throws `StartupError`: `invalid_profile_schema` for a wrong member, then
 * `duplicate_profile_id`, then `duplicate_model_alias`, then `invalid_profile_schema` for a rule between members.
 */
export function readProfileDocument(value: unknown): ProfileDocument {
  const shape = readFileShape(value)
  if ('issue' in shape) throw refusal('invalid_profile_schema', shape.issue.path, shape.issue.hint)
  const { file } = shape
  refuseDuplicates(file)
  refuseBrokenRules(file)
  return {
    set: { schemaVersion: file.schema_version, origin: 'file', profiles: file.profiles.map(toProfile) },
    zones: file.profiles.map(profile => profile.base_url.hasZone)
  }
}

/** The place of a member for a person, such as `profiles[0].models[2].public_alias`. */
export function writeIssuePath(path: IssuePath): string {
  if (path.length === 0) return 'the top level'
  const text = path.map(part => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('')
  return text.startsWith('.') ? text.slice(1) : text
}

function refuseDuplicates({ profiles }: FileContent): void {
  const ids = new Set<string>()
  for (const [index, { profile_id: id }] of profiles.entries()) {
    if (ids.has(id)) throw refusal('duplicate_profile_id', ['profiles', index, 'profile_id'])
    ids.add(id)
  }
  const aliases = new Set<string>()
  for (const [index, { models }] of profiles.entries()) {
    for (const [position, { public_alias: alias }] of models.entries()) {
      const path = ['profiles', index, 'models', position, 'public_alias']
      if (aliases.has(alias)) throw refusal('duplicate_model_alias', path)
      aliases.add(alias)
    }
  }
}

function refuseBrokenRules({ profiles, schema_version }: FileContent): void {
  const needsCapabilities = schema_version === 'gateway.provider-profiles.v3'
  let dynamicCount = 0
  for (const [index, profile] of profiles.entries()) {
    const refuse = (...path: IssuePath) => refusal('invalid_profile_schema', ['profiles', index, ...path])
    const isExternal = isExternalKind(profile.provider_kind)
    const isDynamic = readInventory(profile) === 'dynamic'
    if (isDynamic) dynamicCount += 1
    if (isDynamic && (isExternal || dynamicCount > 1)) throw refuse('model_inventory')
    if (!isDynamic && profile.models.length === 0) throw refuse('models')
    if (readTokenCounting(profile) !== undefined && !KINDS_WITH_TOKEN_COUNTING.has(profile.provider_kind)) {
      throw refuse('token_counting')
    }
    if ('wire' in profile && !KINDS_WITH_WIRES.has(profile.provider_kind)) throw refuse('wire')
    for (const [position, alias] of profile.models.entries()) {
      if ('output_limit_field' in alias && !KINDS_WITH_OUTPUT_LIMIT_FIELDS.has(profile.provider_kind)) {
        throw refuse('models', position, 'output_limit_field')
      }
      const capabilities = readCapabilities(alias)
      if (capabilities === undefined && needsCapabilities && isExternal && alias.enabled) {
        throw refuse('models', position, 'capabilities')
      }
      if (capabilities === undefined) continue
      const { contextWindow, maxInputTokens = 0, maxOutputTokens = 0 } = capabilities.limits
      if (Math.max(maxInputTokens, maxOutputTokens) > contextWindow) {
        throw refuse('models', position, 'capabilities', 'limits')
      }
    }
  }
}

function toProfile(content: ProfileContent): ProviderProfile {
  const modelInventory = readInventory(content)
  const tokenCounting = readTokenCounting(content)
  return {
    profileId: content.profile_id,
    providerKind: content.provider_kind,
    baseUrl: content.base_url.url,
    ...('wire' in content && content.wire !== undefined && { wire: content.wire }),
    // Null is the written form of keyless.
    ...(content.credential_env != null && { credentialEnv: content.credential_env }),
    networkPolicyRef: content.network_policy_ref,
    tlsPolicyRef: content.tls_policy_ref,
    allowLoopback: content.allow_loopback,
    ...(modelInventory !== undefined && { modelInventory }),
    ...(tokenCounting !== undefined && { tokenCounting }),
    ...('unsupported' in content && content.unsupported !== undefined && { unsupported: content.unsupported }),
    models: content.models.map(toAlias)
  }
}

function toAlias(content: AliasContent): ModelAlias {
  const capabilities = readCapabilities(content)
  return {
    publicAlias: content.public_alias,
    upstreamModel: content.upstream_model,
    capabilityProfile: content.capability_profile,
    ...(capabilities !== undefined && { capabilities }),
    ...('output_limit_field' in content &&
      content.output_limit_field !== undefined && { outputLimitField: content.output_limit_field }),
    ...('unsupported' in content && content.unsupported !== undefined && { unsupported: content.unsupported }),
    supportStatus: content.support_status,
    enabled: content.enabled,
    deprecated: content.deprecated
  }
}

function readInventory(content: ProfileContent): 'static' | 'dynamic' | undefined {
  return ('model_inventory' in content ? content.model_inventory : undefined) ?? undefined
}

function readTokenCounting(content: ProfileContent): 'local' | 'off' | undefined {
  return 'token_counting' in content ? content.token_counting : undefined
}

function readCapabilities(content: AliasContent): ModelAlias['capabilities'] {
  const capabilities = 'capabilities' in content ? content.capabilities : undefined
  if (capabilities === undefined || capabilities === null) return undefined
  const { context_window: contextWindow, max_input_tokens, max_output_tokens } = capabilities.limits
  return {
    features: [...new Set(capabilities.features)].sort(),
    limits: {
      contextWindow,
      ...(max_input_tokens != null && { maxInputTokens: max_input_tokens }),
      ...(max_output_tokens != null && { maxOutputTokens: max_output_tokens })
    }
  }
}

function refusal(code: keyof typeof MESSAGES, path: IssuePath, hint = ''): StartupError {
  return new StartupError(code, MESSAGES[code], [], `${writeIssuePath(path)}${hint}`)
}
