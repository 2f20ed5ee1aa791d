import t from 'tap'
import { readCatalogModels } from '../../../shared/catalog/catalog.ts'
import { createMetricRegistry } from '../../../shared/metrics/registry.ts'
import { createHealth, type ProviderHealth } from '../../../shared/provider-health.ts'
import { createMetricsAggregator } from '../../../supervisor/metrics/aggregator.ts'
import { createExposition } from '../../../supervisor/metrics/exposition.ts'
import { watchProviders } from '../../../supervisor/metrics/provider-series.ts'
import { snapshotOf } from '../../support/catalog-snapshots.ts'
import { makeNativeProfile, makeProfile, makeProfileSet } from '../../support/profiles.ts'

async function scrape(healths: readonly ProviderHealth[]): Promise<string[]> {
  const registry = createMetricRegistry()
  const profiles = makeProfileSet([makeProfile('edge', []), makeNativeProfile('n1', []), makeNativeProfile('n2', [])])
  const nowMs = () => 20_000
  const catalog = {
    current: () => snapshotOf(readCatalogModels([]), { providerProfileId: 'n1', providerKind: 'native', nowMs: 5_000 })
  }
  registry.onCollect(watchProviders(registry, { nowMs, profiles, health: { current: () => healths }, catalog }))
  const aggregator = createMetricsAggregator({ nowMs }, { modelsMax: 10 })
  const delta = registry.takeDelta()
  if (delta !== undefined) aggregator.apply(0, delta)
  const text = Buffer.from(await createExposition(aggregator).write('text')).toString()
  return text.split('\n').filter(line => line.startsWith('gateway_provider_'))
}

t.test('each profile has samples of what was seen of it, native ones together', async t => {
  const lines = await scrape([
    {
      ...createHealth('edge'),
      lastSuccessAtMs: 1_500,
      consecutiveFailures: 3,
      lastFailures: [{ failure: 'http_429', atMs: 2_000 }],
      certificates: { provider: { expiresAtMs: 90_000, seenAtMs: 1 }, client: { expiresAtMs: 80_000, seenAtMs: 1 } }
    },
    { ...createHealth('n1'), lastSuccessAtMs: 5_000 },
    { ...createHealth('n2'), lastSuccessAtMs: 4_000, consecutiveFailures: 2 },
    { ...createHealth('unknown'), lastSuccessAtMs: 4_000 }
  ])
  t.same(lines, [
    'gateway_provider_last_success_timestamp_seconds{provider="edge"} 1.5',
    'gateway_provider_last_success_timestamp_seconds{provider="native"} 5',
    'gateway_provider_last_failure_timestamp_seconds{provider="edge",status="http_429"} 2',
    'gateway_provider_consecutive_failures{provider="edge"} 3',
    'gateway_provider_consecutive_failures{provider="native"} 2',
    'gateway_provider_inventory_age_seconds{provider="native"} 15',
    'gateway_provider_certificate_expiry_timestamp_seconds{provider="edge"} 90',
    'gateway_provider_client_certificate_expiry_timestamp_seconds{provider="edge"} 80'
  ])
})
