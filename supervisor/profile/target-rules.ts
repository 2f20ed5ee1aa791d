// The rules of aliases with several deployments (decisions.md 116).
import { isExternalKind } from '../../shared/profile/profile-routes.ts'
import type { IssuePath } from '../config-file/issue-path.ts'
import type { AliasContent, ProfileContent } from './schema.ts'

export interface TargetRules {
  /** Whether an alias of the file leads to the profile, so that it needs no alias of its own. */
  isTarget(profileId: string): boolean
  /** The place below an alias that breaks a rule; undefined for an alias with one model of its own profile. */
  findProblem(alias: AliasContent, profile: ProfileContent): IssuePath | undefined
}

export function createTargetRules(profiles: readonly ProfileContent[]): TargetRules {
  const byId = new Map(profiles.map(profile => [profile.profile_id, profile]))
  const ids = new Set(profiles.flatMap(({ models }) => models.flatMap(alias => readTargets(alias) ?? [])).map(idOf))
  return {
    isTarget: profileId => ids.has(profileId),
    findProblem(alias, profile) {
      const targets = readTargets(alias)
      if (targets === undefined) return alias.upstream_model === undefined ? ['upstream_model'] : undefined
      if (alias.upstream_model !== undefined || !isExternalKind(profile.provider_kind)) return ['targets']
      if (keepsState(profile)) return ['targets']
      const position = targets.findIndex((target, index) => {
        const named = byId.get(target.profile_id)
        const isEarlier = targets.slice(0, index).some(earlier => isSameDeployment(earlier, target))
        return named === undefined || !isSameWire(named, profile) || isEarlier || keepsState(named)
      })
      return position === -1 ? undefined : ['targets', position, 'profile_id']
    }
  }
}

type TargetContent = NonNullable<ReturnType<typeof readTargets>>[number]

function readTargets(alias: AliasContent) {
  return 'targets' in alias ? alias.targets : undefined
}

function idOf(target: TargetContent): string {
  return target.profile_id
}

function isSameDeployment(left: TargetContent, right: TargetContent): boolean {
  return left.profile_id === right.profile_id && left.upstream_model === right.upstream_model
}

function isSameWire(left: ProfileContent, right: ProfileContent): boolean {
  return left.provider_kind === right.provider_kind && readWire(left) === readWire(right)
}

/** The wire of a kind that has several; its first one where the file writes none. */
function readWire(profile: ProfileContent): string {
  return ('wire' in profile ? profile.wire : undefined) ?? 'chat_completions'
}

/** Whether the file says that the provider keeps the state of its clients: their ids would be unknown to another deployment. */
function keepsState(profile: ProfileContent): boolean {
  return 'state' in profile && profile.state === 'provider'
}
