// What the calls of a gateway have seen of its providers, as documents show it (bridge.md 5.4).
import { z } from 'zod'
import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { compareCodePoints } from '../json.ts'
import type { ProfileSet } from '../profile/profile.ts'
import { createHealth, FAILURE_CLASSES_MAX, type ProviderHealth, type SeenCertificate } from '../provider-health.ts'
import { machineText } from './machine-document.ts'

export const providerEntry = z.strictObject({
  profile_id: machineText,
  provider_kind: machineText,
  last_success_at: machineText.nullable(),
  consecutive_failures: z.int().min(0),
  last_failures: z.array(z.strictObject({ class: machineText, at: machineText })).max(FAILURE_CLASSES_MAX),
  inventory: z
    .strictObject({ state: z.enum(['fresh', 'stale', 'absent']), discovered_at: machineText.nullable() })
    .nullable(),
  certificates: z.strictObject({
    provider_expires_at: machineText.nullable(),
    client_expires_at: machineText.nullable()
  })
})

export type ProviderEntry = z.infer<typeof providerEntry>

export interface ProviderFacts {
  readonly profiles: Pick<ProfileSet, 'profiles'>
  readonly healths: readonly ProviderHealth[]
  /** Undefined before the first discovery. */
  readonly catalog: CatalogSnapshot | undefined
}

/** One entry for each profile, sorted by id. */
export function describeProviders({ profiles, healths, catalog }: ProviderFacts): ProviderEntry[] {
  const healthById = new Map(healths.map(health => [health.profileId, health]))
  const inventories = new Map(catalog?.inventories.map(inventory => [inventory.profileId, inventory]))
  return profiles.profiles
    .map(({ profileId, providerKind }) => {
      const { lastSuccessAtMs, consecutiveFailures, lastFailures, certificates } =
        healthById.get(profileId) ?? createHealth(profileId)
      const inventory = inventories.get(profileId)
      return {
        profile_id: profileId,
        provider_kind: providerKind,
        last_success_at: lastSuccessAtMs === null ? null : showTime(lastSuccessAtMs),
        consecutive_failures: consecutiveFailures,
        last_failures: lastFailures.map(({ failure, atMs }) => ({ class: failure, at: showTime(atMs) })),
        inventory: inventory === undefined ? null : { state: inventory.state, discovered_at: inventory.discoveredAt },
        certificates: {
          provider_expires_at: showExpiry(certificates.provider),
          client_expires_at: showExpiry(certificates.client)
        }
      }
    })
    .sort((left, right) => compareCodePoints(left.profile_id, right.profile_id))
}

function showTime(epochMs: number): string {
  return new Date(epochMs).toISOString()
}

function showExpiry(certificate: SeenCertificate | null): string | null {
  return certificate && showTime(certificate.expiresAtMs)
}
