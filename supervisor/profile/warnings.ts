// What a valid profile file promises and cannot keep.
import { BASE_FEATURES, type ProfileSet } from '../../shared/profile.ts'
import { isExternalKind } from '../../shared/profile-routes.ts'

/**
 * Sentences for stderr and the log: an enabled alias that does not declare a feature which every
 * request requires can never execute (bridge.md 7.4). They name places and features, never what the
 * file calls an alias.
 */
export function listProfileWarnings(set: ProfileSet): string[] {
  const warnings: string[] = []
  for (const [index, { providerKind, models }] of set.profiles.entries()) {
    if (!isExternalKind(providerKind)) continue
    for (const [position, { enabled, capabilities }] of models.entries()) {
      if (!enabled || capabilities === undefined) continue
      const missing = BASE_FEATURES.filter(feature => !capabilities.features.includes(feature))
      if (missing.length === 0) continue
      const place = `profiles[${index}].models[${position}]`
      warnings.push(`${place} can never execute: it does not declare ${missing.join(', ')}.`)
    }
  }
  return warnings
}
