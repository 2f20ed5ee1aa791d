import t from 'tap'
import { readCatalogModels } from '../../../shared/catalog/catalog.ts'
import {
  createErrorDocument,
  createReadinessDocument,
  createStartupErrorDocument,
  type ReadinessFacts
} from '../../../shared/documents/documents.ts'
import { createInspectDocument } from '../../../shared/documents/inspect-document.ts'
import { assertNoForbiddenMembers } from '../../../shared/documents/machine-document.ts'
import { createNativeProfileSet } from '../../../shared/profile/native-profile.ts'
import { computeConfigRevision } from '../../../shared/profile/profile-revision.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { StartupError } from '../../../shared/startup-error.ts'
import { matrixRevision } from '../../../shared/support/support-matrix.ts'
import { snapshotOf } from '../../support/catalog-snapshots.ts'

const set = createNativeProfileSet(parseSettings({ UPSTREAM_MODEL: 'GigaChat-2-Max' }))
const revisions = { config: computeConfigRevision(set), matrix: matrixRevision }
const origin = { providerProfileId: 'native-upstream', providerKind: 'native', nowMs: 0 } as const
const snapshot = snapshotOf(readCatalogModels([{ id: 'one' }]), origin)
const stale = snapshotOf(readCatalogModels([{ id: 'one' }]), { ...origin, stale: true })
const ready: ReadinessFacts = {
  isDraining: false,
  revisions,
  hasProviderRoutes: true,
  areAdaptersReady: true,
  catalog: snapshot
}

t.test('the inspect document of native mode shows one dynamic profile and the default model as its alias', async t => {
  const document = createInspectDocument(set, { matrix: matrixRevision })
  t.equal(
    JSON.stringify(document).indexOf('{"schema_version":"gateway.inspect.v1","profile_schema_version":"gateway.'),
    0
  )
  t.match(document, {
    valid: true,
    profile_schema_version: 'gateway.provider-profiles.v2',
    config_revision: revisions.config,
    profiles: [
      {
        profile_id: 'native-upstream',
        provider_kind: 'native',
        base_url: 'https://api.giga.chat/v1',
        credential_env: 'UPSTREAM_CREDENTIALS',
        model_inventory: 'dynamic',
        models: [
          {
            public_alias: 'GigaChat-2-Max',
            upstream_model: 'GigaChat-2-Max',
            capability_profile: 'native-upstream-v1',
            support_status: 'stable',
            enabled: true,
            deprecated: false
          }
        ]
      }
    ]
  })
})

t.test('the configuration revision depends on the base URL and the default model, not on credentials', async t => {
  const revisionWith = (environment: Record<string, string>) =>
    computeConfigRevision(createNativeProfileSet(parseSettings(environment)))
  const plain = revisionWith({})
  t.not(revisionWith({ UPSTREAM_MODEL: 'a' }), plain)
  t.not(revisionWith({ UPSTREAM_BASE_URL: 'https://other.example' }), plain)
  t.equal(revisionWith({ UPSTREAM_CREDENTIALS: 'x', GATEWAY_API_KEY: 'y' }), plain)
  t.equal(revisionWith({ UPSTREAM_BASE_URL: 'https://API.giga.chat:443/v1/' }), plain)
})

t.test('an error document always has a list of details, which are flat', async t => {
  t.same(createErrorDocument({ code: 'gateway_not_ready', message: 'Gateway routes are not ready.' }), {
    schema_version: 'gateway.error.v1',
    error: { code: 'gateway_not_ready', message: 'Gateway routes are not ready.', details: [] }
  })
  const error = new StartupError('invalid_profile_schema', 'Provider configuration preflight failed.', [
    { reasonId: 'invalid_settings', setting: 'GATEWAY_PORT', explanation: 'GATEWAY_PORT is wrong' },
    { reasonId: 'demo_refused', explanation: 'no demo' }
  ])
  t.same(createStartupErrorDocument(error).error.details, [
    { reason_id: 'invalid_settings', setting: 'GATEWAY_PORT' },
    { reason_id: 'demo_refused' }
  ])
})

t.test('a document with a forbidden member at any depth is refused', async t => {
  for (const name of ['api_key', 'content', 'prompt', 'secret', 'authorization', 'tool_arguments']) {
    t.throws(() => assertNoForbiddenMembers({ list: [{ deep: { [name]: 'x' } }] }), { message: new RegExp(name) })
  }
  t.doesNotThrow(() => assertNoForbiddenMembers({ credential_env: 'NAME', contents: 'x' }))
  t.throws(() => createErrorDocument({ code: 'x', message: 'y', details: [{ secret: 'z' }] }))
})

t.test('a message outside 1 to 512 characters is refused', async t => {
  t.throws(() => createErrorDocument({ code: 'x', message: '' }))
  t.throws(() => createErrorDocument({ code: 'x', message: 'y'.repeat(513) }))
})

t.test('a gateway with a registry and a catalog is ready', async t => {
  const document = createReadinessDocument(ready)
  t.equal(document.ready, true)
  t.same(document.reasons, [])
  t.same(document.warnings, [])
  t.same(document.model_catalog, {
    state: 'fresh',
    usable: true,
    discovery_available: true,
    provider_profile_id: 'native-upstream',
    inventory_revision: snapshot.inventoryRevision
  })
  t.same(Object.keys(document), [
    'schema_version',
    'ready',
    'process_alive',
    'provider_routes_configured',
    'provider_adapters_ready',
    'model_catalog',
    'config_revision',
    'matrix_revision',
    'reasons',
    'warnings'
  ])
})

t.test('a gateway with a stale catalog stays ready and warns', async t => {
  const document = createReadinessDocument({ ...ready, catalog: stale, warningIds: ['other'] })
  t.equal(document.ready, true)
  t.match(document.model_catalog, { state: 'stale', usable: true, discovery_available: false })
  t.same(document.warnings, [{ reason_id: 'model_inventory_stale_but_usable' }, { reason_id: 'other' }])
})

t.test('a gateway that serves others while one inventory is absent is ready and warns', async t => {
  const absent = {
    profileId: 'edge',
    state: 'absent',
    inventoryRevision: null,
    discoveredAt: null,
    expiresAt: null
  } as const
  const catalog = { ...stale, inventories: [...stale.inventories, absent] }
  const document = createReadinessDocument({ ...ready, catalog })
  t.equal(document.ready, true)
  t.match(document.model_catalog, { state: 'stale', usable: true, discovery_available: false })
  t.same(document.warnings, [
    { reason_id: 'model_inventory_stale_but_usable' },
    { reason_id: 'model_inventory_incomplete' }
  ])
})

t.test('the reasons are in the published order', async t => {
  const document = createReadinessDocument({
    ...ready,
    isDraining: true,
    hasProviderRoutes: false,
    areAdaptersReady: false,
    catalog: undefined
  })
  t.equal(document.ready, false)
  t.same(
    document.reasons.map(reason => reason.reason_id),
    [
      'gateway_shutting_down',
      'provider_routes_not_configured',
      'provider_clients_not_ready',
      'model_inventory_unavailable'
    ]
  )
  t.match(document.model_catalog, { state: 'unavailable', usable: false, provider_profile_id: null })
})

t.test('without a registry the document has only that reason and no revision', async t => {
  const document = createReadinessDocument({ ...ready, revisions: undefined, isDraining: true })
  t.same(document.reasons, [{ reason_id: 'registry_not_loaded' }])
  t.notOk('config_revision' in document)
  t.notOk('matrix_revision' in document)
  t.equal(document.provider_routes_configured, false)
  t.equal(document.provider_adapters_ready, false)
})
