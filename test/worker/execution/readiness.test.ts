import t from 'tap'
import { createReadinessDocument } from '../../../shared/documents/documents.ts'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createLocalControlChannel } from '../../../worker/control/local-control-channel.ts'
import { createReadinessReader } from '../../../worker/execution/readiness.ts'
import {
  aliasOf,
  BASE_FEATURES,
  dynamicProfile,
  edgeProfile,
  fileOf,
  prefixedProfile
} from '../../support/profile-sets.ts'
import { workerOptions } from '../../support/worker-app.ts'

interface Situation {
  isHostStarted?: boolean
  isReady?: (profileId: string) => boolean
  isDraining?: boolean
  isLeaving?: boolean
  keysRevision?: string
}

function readinessOf(profiles: ProfileSet, situation: Situation = {}) {
  const { isHostStarted = true, isReady = () => true, isDraining = false, isLeaving = false } = situation
  const options = workerOptions(parseSettings({}), profiles)
  const read = createReadinessReader({
    profiles,
    revisions: options.revisions,
    keys: { revision: situation.keysRevision },
    control: { ...options.control, isHostStarted, isLeaving },
    executors: { isReady },
    drainGate: { isDraining }
  })
  return createReadinessDocument(read())
}

const reasons = (document: { reasons: Array<{ reason_id: string }> }) => document.reasons.map(one => one.reason_id)
const edge = edgeProfile([aliasOf('edge/mini', 'mini', { features: BASE_FEATURES })])

t.test('a file of static aliases is ready at once, and its inventory is its configuration', async t => {
  const document = readinessOf(fileOf([edge]))
  t.equal(document.ready, true)
  t.match(document.model_catalog, {
    state: 'fresh',
    usable: true,
    discovery_available: true,
    provider_profile_id: 'provider-registry'
  })
  t.equal(document.model_catalog.inventory_revision, document.config_revision)
})

t.test(
  'keys 15: the revision of the keys in force is named, and keys 19: without a keys file it is absent',
  async t => {
    const keysRevision = `sha256:${'e'.repeat(64)}`
    t.equal(readinessOf(fileOf([edge]), { keysRevision }).keys_revision, keysRevision)
    t.notOk('keys_revision' in readinessOf(fileOf([edge])))
  }
)

t.test('readiness waits until every worker of the host listens', async t => {
  const document = readinessOf(fileOf([edge]), { isHostStarted: false })
  t.same(reasons(document), ['provider_clients_not_ready'])
  t.equal(document.provider_adapters_ready, false)
})

t.test('an executable alias without its adapter is a reason, one that is disabled is not', async t => {
  const isReady = (profileId: string) => profileId !== 'vendor'
  t.same(reasons(readinessOf(fileOf([edge]), { isReady: () => false })), ['provider_clients_not_ready'])
  const disabled = edgeProfile([aliasOf('off', 'x', { enabled: false })], { profileId: 'vendor' })
  t.equal(readinessOf(fileOf([edge, disabled]), { isReady }).ready, true)
})

t.test('a file without a route says so', async t => {
  const document = readinessOf(fileOf([edgeProfile([aliasOf('off', 'x', { enabled: false })])]))
  t.same(reasons(document), ['provider_routes_not_configured'])
  t.equal(document.provider_routes_configured, false)
})

t.test('an older file with an enabled external alias is ready with a warning, and needs no adapter', async t => {
  for (const schemaVersion of ['gateway.provider-profiles.v1', 'gateway.provider-profiles.v2'] as const) {
    const old = edgeProfile([aliasOf('edge/mini', 'mini')])
    const document = readinessOf(fileOf([old], { schemaVersion }), { isReady: () => false })
    t.equal(document.ready, true)
    t.same(document.warnings, [{ reason_id: 'alias_requires_profile_v3' }])
    const off = edgeProfile([aliasOf('edge/mini', 'mini', { enabled: false })])
    const native = dynamicProfile('https://up.example')
    t.same(readinessOf(fileOf([native, off], { schemaVersion })).warnings, [])
  }
})

t.test('no inventory of a mixed file is waited for, and one that is absent is a warning (decisions.md 88)', async t => {
  const native = dynamicProfile('https://up.example')
  for (const profiles of [[native, edge], [prefixedProfile('vllm', 'vllm/')]]) {
    const document = readinessOf(fileOf(profiles))
    t.same(reasons(document), [])
    t.same(document.warnings, [{ reason_id: 'model_inventory_incomplete' }])
    t.match(document.model_catalog, { state: 'stale', usable: true, discovery_available: false })
  }
  t.same(reasons(readinessOf(fileOf([native]))), ['model_inventory_unavailable'])
  const schemaVersion = 'gateway.provider-profiles.v2'
  t.same(reasons(readinessOf(fileOf([native, edge], { schemaVersion }))), ['model_inventory_unavailable'])
})

t.test('decisions.md 97: a gateway that leaves is not ready, although it serves', async t => {
  t.same(reasons(readinessOf(fileOf([edge]), { isLeaving: true })), ['gateway_shutting_down'])
})

t.test('a drain comes first', async t => {
  t.same(reasons(readinessOf(fileOf([edge]), { isDraining: true, isReady: () => false })), [
    'gateway_shutting_down',
    'provider_clients_not_ready'
  ])
})

t.test('without a supervisor the host has started', async t => {
  t.equal(createLocalControlChannel(parseSettings({})).isHostStarted, true)
})
