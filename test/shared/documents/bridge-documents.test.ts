import t from 'tap'
import { type CatalogModel, readCatalogModels } from '../../../shared/catalog/catalog.ts'
import {
  createBridgeModelsDocument,
  createEffectiveCapabilitiesDocument,
  createSupportMatrixDocument,
  type EffectiveCapabilitiesFacts
} from '../../../shared/documents/bridge-documents.ts'
import { capabilityNames, type RevisedDecision } from '../../../shared/support/capabilities.ts'
import { matrixRevision, supportMatrix } from '../../../shared/support/support-matrix.ts'
import { snapshotOf } from '../../support/catalog-snapshots.ts'

const revisions = { config: `sha256:${'c'.repeat(64)}`, matrix: matrixRevision }
const providers = { profiles: { profiles: [] }, healths: [] }
const snapshot = snapshotOf(readCatalogModels([{ id: 'b' }, { id: 'a', owned_by: 'vendor', type: 'chat' }]), {
  providerProfileId: 'native-main',
  providerKind: 'native',
  nowMs: Date.UTC(2026, 7, 10, 9)
})

t.test('the models are sorted by id, and no member of theirs is lost', async t => {
  const document = createBridgeModelsDocument(snapshot, revisions, providers)
  t.equal(
    JSON.stringify(document),
    JSON.stringify({
      schema_version: 'gateway.bridge-models.v3',
      source: 'shared_model_catalog',
      deprecated_endpoint: true,
      replacement: '/models',
      config_revision: revisions.config,
      matrix_revision: revisions.matrix,
      catalog_schema_version: 'gateway.model-catalog.v1',
      provider_profile_id: 'native-main',
      inventory_revision: snapshot.inventoryRevision,
      discovered_at: '2026-08-10T09:00:00.000Z',
      expires_at: '2026-08-10T09:00:30.000Z',
      stale: false,
      models: [
        {
          id: 'a',
          provider_kind: 'native',
          provider_profile_id: 'native-main',
          owned_by: 'vendor',
          model_type: 'chat',
          available: true,
          deprecated: false,
          stale: false,
          inventory_revision: snapshot.inventoryRevision
        },
        {
          id: 'b',
          provider_kind: 'native',
          provider_profile_id: 'native-main',
          owned_by: null,
          model_type: null,
          available: true,
          deprecated: false,
          stale: false,
          inventory_revision: snapshot.inventoryRevision
        }
      ],
      providers: []
    })
  )
})

t.test('a snapshot that is not one inventory is refused', async t => {
  const [first] = snapshot.models
  if (first === undefined) throw new Error('The snapshot has models.')
  const withModels = (models: CatalogModel[]) => ({ ...snapshot, models })
  const otherProfile = { ...first, id: 'c', providerProfileId: 'other' }
  t.throws(() => createBridgeModelsDocument(withModels([first, first]), revisions, providers), { message: /repeats/ })
  t.throws(
    () =>
      createBridgeModelsDocument(withModels([{ ...first, inventoryRevision: revisions.config }]), revisions, providers),
    { message: /revisions/ }
  )
  t.throws(() => createBridgeModelsDocument(withModels([first, otherProfile]), revisions, providers), {
    message: /profiles/
  })
  const mixed = { ...withModels([first, otherProfile]), providerProfileId: 'provider-registry' }
  t.equal(createBridgeModelsDocument(mixed, revisions, providers).models.length, 2)
})

t.test('the matrix document says what it is, and has every cell', async t => {
  const document = createSupportMatrixDocument(supportMatrix, revisions)
  t.same(Object.keys(document), [
    'schema_version',
    'contract_kind',
    'scope',
    'not_model_inventory',
    'not_effective_model_capabilities',
    'model_inventory_endpoint',
    'effective_capabilities_endpoint',
    'config_revision',
    'matrix_revision',
    'cells'
  ])
  t.equal(document.cells.length, 16)
  t.equal(document.matrix_revision, matrixRevision)
})

const decision: RevisedDecision = {
  state: 'supported',
  reasonId: 'all_layers_supported',
  source: 'effective_intersection',
  evidenceIds: ['CONFORMANCE-BRIDGE'],
  revision: revisions.config
}
const facts: EffectiveCapabilitiesFacts = {
  model: 'edge/mini',
  providerKind: 'chat_compatible',
  providerProfileId: 'edge-chat',
  publicProtocol: 'openai_responses',
  apiMode: 'v2',
  inventoryRevision: revisions.config,
  capabilityRevision: revisions.config,
  capabilities: Object.fromEntries(
    capabilityNames.map(name => [name, decision])
  ) as EffectiveCapabilitiesFacts['capabilities']
}

t.test('effective capabilities have all names in order', async t => {
  const document = createEffectiveCapabilitiesDocument(facts, revisions)
  t.same(Object.keys(document.capabilities), [...capabilityNames].sort())
  t.equal(Object.keys(document.capabilities).length, 19)
})

t.test('a decision with a reason or an evidence id outside its pattern is refused', async t => {
  for (const wrong of [{ reasonId: 'No' }, { evidenceIds: ['x'] }, { evidenceIds: ['an id with blanks'] }]) {
    const capabilities = { ...facts.capabilities, streaming: { ...decision, ...wrong } }
    t.throws(() => createEffectiveCapabilitiesDocument({ ...facts, capabilities }, revisions))
  }
})
