// The revisions of profiles: equal in every process that runs the same configuration (bridge.md 4.9).

import { revisionOf } from '../revision.ts'
import type { ProfileSet, ProviderProfile } from './profile.ts'
import { writeProfileContent } from './profile-content.ts'

/** Hash of one profile's content. Credential values are no part of a profile, so they never change it. */
export function computeProfileRevision(profile: ProviderProfile): string {
  return revisionOf(writeProfileContent(profile), { keepNulls: false })
}

/** Hash of all profiles in their order: equal in every process that runs the same configuration. */
export function computeConfigRevision(set: Pick<ProfileSet, 'schemaVersion' | 'profiles'>): string {
  const content = { profiles: set.profiles.map(writeProfileContent), schema_version: set.schemaVersion }
  return revisionOf(content, { keepNulls: false })
}
