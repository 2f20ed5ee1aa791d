import t from 'tap'
import { readCatalogModels } from '../../../shared/catalog/catalog.ts'
import { describeProviders, providerEntry } from '../../../shared/documents/provider-documents.ts'
import { createHealth } from '../../../shared/provider-health.ts'
import { snapshotOf } from '../../support/catalog-snapshots.ts'
import { makeProfile } from '../../support/profiles.ts'

const discoveredAt = '2026-08-10T09:00:00.000Z'
const catalog = snapshotOf(readCatalogModels([{ id: 'm' }]), {
  providerProfileId: 'b',
  providerKind: 'native',
  nowMs: Date.parse(discoveredAt)
})

t.test('every profile has an entry, sorted by id, with what is known of it', async t => {
  const profiles = { profiles: [makeProfile('b', []), makeProfile('a', [])] }
  const healths = [
    {
      ...createHealth('b'),
      lastSuccessAtMs: 0,
      consecutiveFailures: 2,
      lastFailures: [{ failure: 'http_429', atMs: 1_000 }],
      certificates: { provider: { expiresAtMs: 86_400_000, seenAtMs: 0 }, client: null }
    }
  ]
  const entries = describeProviders({ profiles, healths, catalog })
  t.strictSame(entries, [
    {
      profile_id: 'a',
      provider_kind: 'chat_compatible',
      last_success_at: null,
      consecutive_failures: 0,
      last_failures: [],
      inventory: null,
      certificates: { provider_expires_at: null, client_expires_at: null }
    },
    {
      profile_id: 'b',
      provider_kind: 'chat_compatible',
      last_success_at: '1970-01-01T00:00:00.000Z',
      consecutive_failures: 2,
      last_failures: [{ class: 'http_429', at: '1970-01-01T00:00:01.000Z' }],
      inventory: { state: 'fresh', discovered_at: discoveredAt },
      certificates: { provider_expires_at: '1970-01-02T00:00:00.000Z', client_expires_at: null }
    }
  ])
  for (const entry of entries) t.ok(providerEntry.safeParse(entry).success)
})
