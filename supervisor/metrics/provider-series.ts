// The series about each provider: what the calls of all workers have seen of it (operations.md 7.5).

import type { CatalogSnapshot } from '../../shared/catalog/catalog.ts'
import { labelProvider } from '../../shared/metrics/provider-label.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import type { ProviderHealth } from '../../shared/provider-health.ts'

export interface ProviderSources {
  readonly nowMs: () => number
  readonly profiles: Pick<ProfileSet, 'profiles'>
  readonly health: { current(): readonly ProviderHealth[] }
  readonly catalog: { current(): CatalogSnapshot | undefined }
}

/**
 * Returns the probe that sets the series. The label is the id of an external profile and the kind of a native one (decisions.md 116):
 * of several native profiles each series shows its largest value.
 */
export function watchProviders(registry: MetricRegistry, sources: ProviderSources): () => void {
  const lastSuccess = registry.gauge('gateway_provider_last_success_timestamp_seconds')
  const lastFailure = registry.gauge('gateway_provider_last_failure_timestamp_seconds')
  const failures = registry.gauge('gateway_provider_consecutive_failures')
  const inventoryAge = registry.gauge('gateway_provider_inventory_age_seconds')
  const certificate = registry.gauge('gateway_provider_certificate_expiry_timestamp_seconds')
  const clientCertificate = registry.gauge('gateway_provider_client_certificate_expiry_timestamp_seconds')
  const labels = new Map(sources.profiles.profiles.map(profile => [profile.profileId, labelProvider(profile)]))

  return () => {
    const values = new Map<object, [cell: { set(value: number): void }, value: number]>()
    const set = (cell: { set(value: number): void }, value: number) =>
      values.set(cell, [cell, Math.max(value, values.get(cell)?.[1] ?? value)])
    for (const {
      profileId,
      lastSuccessAtMs,
      consecutiveFailures,
      lastFailures,
      certificates
    } of sources.health.current()) {
      const provider = labels.get(profileId)
      if (provider === undefined) continue
      if (lastSuccessAtMs !== null) set(lastSuccess.with({ provider }), lastSuccessAtMs / 1000)
      for (const { failure, atMs } of lastFailures) set(lastFailure.with({ provider, status: failure }), atMs / 1000)
      set(failures.with({ provider }), consecutiveFailures)
      const { provider: shown, client } = certificates
      if (shown !== null) set(certificate.with({ provider }), shown.expiresAtMs / 1000)
      if (client !== null) set(clientCertificate.with({ provider }), client.expiresAtMs / 1000)
    }
    for (const { profileId, discoveredAt } of sources.catalog.current()?.inventories ?? []) {
      const provider = labels.get(profileId)
      if (provider === undefined || discoveredAt === null) continue
      const ageMs = sources.nowMs() - Date.parse(discoveredAt)
      set(inventoryAge.with({ provider }), Math.max(0, ageMs / 1000))
    }
    for (const [cell, value] of values.values()) cell.set(value)
  }
}
