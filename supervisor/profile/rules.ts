// The rules of a profile file that concern more than one of its members (bridge.md 4.2, 4.3 and
// 4.6; providers.md 1). Each returns the place of the first member that breaks it.
import { isExternalKind } from '../../shared/profile/profile-routes.ts'
import type { StartupErrorCode } from '../../shared/startup-error.ts'
import type { IssuePath } from '../config-file/issue-path.ts'
import { findCallProblem } from './call-rules.ts'
import { KINDS_WITH_OUTPUT_LIMIT_FIELDS, KINDS_WITH_TOKEN_COUNTING, KINDS_WITH_WIRES } from './policies.ts'
import type { AliasContent, FileContent, ProfileContent } from './schema.ts'
import { createTargetRules, type TargetRules } from './target-rules.ts'

export interface BrokenRule {
  readonly code: Extract<StartupErrorCode, 'invalid_profile_schema' | 'duplicate_profile_id' | 'duplicate_model_alias'>
  readonly path: IssuePath
}

/** Returns the first broken rule of a file whose every single member is valid. Ids and names come first. */
export function findBrokenRule(file: FileContent): BrokenRule | undefined {
  return findDuplicateId(file) ?? findDuplicateAlias(file) ?? findBrokenProfile(file)
}

function findDuplicateId({ profiles }: FileContent): BrokenRule | undefined {
  const position = findRepeated(profiles.map(profile => profile.profile_id))
  return position === undefined
    ? undefined
    : { code: 'duplicate_profile_id', path: ['profiles', position, 'profile_id'] }
}

function findDuplicateAlias({ profiles }: FileContent): BrokenRule | undefined {
  const aliases = new Set<string>()
  for (const [index, { models }] of profiles.entries()) {
    for (const [position, { public_alias: alias }] of models.entries()) {
      if (aliases.has(alias)) {
        return { code: 'duplicate_model_alias', path: ['profiles', index, 'models', position, 'public_alias'] }
      }
      aliases.add(alias)
    }
  }
  return undefined
}

/** What the rules of one profile must know about the others. */
interface FileRules {
  readonly targets: TargetRules
  readonly needsCapabilities: boolean
  /** The position of the native profile that may have a dynamic inventory. */
  readonly dynamicNative: number
  /** The position of the first profile that repeats the prefix of another one. */
  readonly repeatedPrefix: number | undefined
}

function findBrokenProfile({ profiles, schema_version }: FileContent): BrokenRule | undefined {
  const rules: FileRules = {
    targets: createTargetRules(profiles),
    needsCapabilities: schema_version === 'gateway.provider-profiles.v3',
    dynamicNative: profiles.findIndex(profile => isDynamic(profile) && !isExternalKind(profile.provider_kind)),
    repeatedPrefix: findRepeated(
      profiles.map(profile => ('public_prefix' in profile ? profile.public_prefix : undefined))
    )
  }
  for (const [index, profile] of profiles.entries()) {
    const path = findProfileProblem(profile, index, rules)
    if (path !== undefined) return { code: 'invalid_profile_schema', path: ['profiles', index, ...path] }
  }
  return undefined
}

function findProfileProblem(profile: ProfileContent, index: number, rules: FileRules): IssuePath | undefined {
  const kind = profile.provider_kind
  const inventory = findInventoryProblem(profile, index, rules)
  if (inventory !== undefined) return [inventory]
  const mayBeEmpty = isDynamic(profile) || rules.targets.isTarget(profile.profile_id)
  if (!mayBeEmpty && profile.models.length === 0) return ['models']
  if ('token_counting' in profile && !KINDS_WITH_TOKEN_COUNTING.has(kind)) return ['token_counting']
  if ('wire' in profile && !KINDS_WITH_WIRES.has(kind)) return ['wire']
  if ('state' in profile && profile.wire !== 'responses') return ['state']
  const call = findCallProblem(profile)
  if (call !== undefined) return call
  for (const [position, alias] of profile.models.entries()) {
    const path = findAliasProblem(alias, profile, rules)
    if (path !== undefined) return ['models', position, ...path]
  }
  return undefined
}

/** The native inventory has no prefix and is one in a file; those of other kinds need a prefix and capabilities (decisions.md 88). */
function findInventoryProblem(profile: ProfileContent, index: number, rules: FileRules): string | undefined {
  const isExternal = isExternalKind(profile.provider_kind)
  const prefix = 'public_prefix' in profile ? profile.public_prefix : undefined
  const defaults = 'default_capabilities' in profile ? profile.default_capabilities : undefined
  if (!isDynamic(profile) || !isExternal) {
    if (isDynamic(profile) && index !== rules.dynamicNative) return 'model_inventory'
    if (prefix !== undefined) return 'public_prefix'
    return defaults === undefined ? undefined : 'default_capabilities'
  }
  if (!rules.needsCapabilities) return 'model_inventory'
  if (prefix === undefined || index === rules.repeatedPrefix) return 'public_prefix'
  return defaults === undefined || !areLimitsWithin(defaults.limits) ? 'default_capabilities' : undefined
}

function findAliasProblem(
  alias: AliasContent,
  profile: ProfileContent,
  { targets, needsCapabilities }: FileRules
): IssuePath | undefined {
  const kind = profile.provider_kind
  const target = targets.findProblem(alias, profile)
  if (target !== undefined) return target
  if ('output_limit_field' in alias && !KINDS_WITH_OUTPUT_LIMIT_FIELDS.has(kind)) return ['output_limit_field']
  const capabilities = ('capabilities' in alias ? alias.capabilities : undefined) ?? undefined
  if (capabilities === undefined) {
    return needsCapabilities && isExternalKind(kind) && alias.enabled ? ['capabilities'] : undefined
  }
  return areLimitsWithin(capabilities.limits) ? undefined : ['capabilities', 'limits']
}

interface LimitsContent {
  readonly context_window: number
  readonly max_input_tokens?: number | null | undefined
  readonly max_output_tokens?: number | null | undefined
}

function areLimitsWithin({ context_window, max_input_tokens, max_output_tokens }: LimitsContent): boolean {
  return Math.max(max_input_tokens ?? 0, max_output_tokens ?? 0) <= context_window
}

function isDynamic(profile: ProfileContent): boolean {
  return 'model_inventory' in profile && profile.model_inventory === 'dynamic'
}

/** The position of the first text that an earlier position has; undefined ones are equal to none. */
function findRepeated(texts: ReadonlyArray<string | undefined>): number | undefined {
  const seen = new Set<string>()
  for (const [position, text] of texts.entries()) {
    if (text === undefined) continue
    if (seen.has(text)) return position
    seen.add(text)
  }
  return undefined
}
