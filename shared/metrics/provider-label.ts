// The `provider` label: which provider was called (operations.md 7; decisions.md 116).
import { isExternalKind } from '../profile/profile-routes.ts'

/** The profile of an external kind, which alone tells deployments of one kind apart; the word of the kind for the native upstream. */
export function labelProvider({ providerKind, profileId }: { providerKind: string; profileId: string }): string {
  return isExternalKind(providerKind) ? profileId : providerKind
}
