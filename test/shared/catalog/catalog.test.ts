import t from 'tap'
import {
  CATALOG_MODELS_MAX,
  CatalogError,
  type CatalogSnapshot,
  isFresh,
  isInventoryFresh,
  readCatalogModels
} from '../../../shared/catalog/catalog.ts'
import { createDiscoveredComposition } from '../../../shared/catalog/catalog-composition.ts'
import { type CatalogReply, catalogBackoffMs, createCatalogRecord } from '../../../shared/catalog/catalog-record.ts'
import { refusedDiscovery as failure } from '../../support/catalog-failure.ts'
import { snapshotOf } from '../../support/catalog-snapshots.ts'

const models = readCatalogModels([{ id: 'one', owned_by: 'vendor', type: 'chat' }])

function createClockedRecord() {
  const clock = { nowMs: 1_000_000 }
  const published: CatalogSnapshot[] = []
  const record = createCatalogRecord({
    composition: createDiscoveredComposition({ profileId: 'native-upstream', providerKind: 'native' }),
    nowMs: () => clock.nowMs,
    publish: snapshot => published.push(snapshot)
  })
  let requestId = 0
  const request = (owner: number, force = false) => {
    requestId += 1
    const ticket = { owner, requestId }
    const replies: CatalogReply[] = []
    record.request(ticket, { profileId: 'native-upstream', force }, reply => replies.push(reply))
    return { ticket, replies, last: () => replies.at(-1) }
  }
  return { clock, published, record, request }
}

t.test('an entry keeps the known upstream members, and the others become metadata without secrets', async t => {
  const { entries } = readCatalogModels([
    {
      id: 'one',
      object: 'model',
      owned_by: 'vendor',
      type: 'chat',
      api_key: 'hunter2',
      'X-Headers': 'hunter2',
      upstream_token: 'hunter2',
      limits: { context: 8, 'refresh-token': 'hunter2', cost: Number.NaN, tags: ['a', null] }
    },
    { id: 'two', available: false, deprecated: true }
  ])
  t.same(entries, [
    {
      id: 'one',
      ownedBy: 'vendor',
      modelType: 'chat',
      available: true,
      deprecated: false,
      providerMetadata: { object: 'model', limits: { context: 8, tags: ['a', null] } }
    },
    { id: 'two', ownedBy: null, modelType: null, available: false, deprecated: true, providerMetadata: {} }
  ])
})

t.test('metadata deeper than eight levels is cut', async t => {
  let nested: unknown = 'bottom'
  for (let depth = 0; depth < 20; depth += 1) nested = { nested }
  const [entry] = readCatalogModels([{ id: 'one', nested }]).entries
  let depth = 0
  let level: unknown = entry?.providerMetadata
  while (typeof level === 'object' && level !== null) {
    depth += 1
    level = Object.values(level)[0]
  }
  t.equal(depth, 8)
})

t.test('entries without an id are skipped, only the first of equal ids is kept, and both are counted', async t => {
  const read = readCatalogModels([null, { id: '' }, { name: 'x' }, { id: 'a', type: 'first' }, { id: 'a', type: 'b' }])
  t.equal(read.skippedCount, 3)
  t.equal(read.duplicateCount, 1)
  t.same(
    read.entries.map(entry => entry.modelType),
    ['first']
  )
})

t.test('a list that exceeds its bounds or has no valid entry is refused, and an empty list is accepted', async t => {
  const many = Array.from({ length: CATALOG_MODELS_MAX + 1 }, (_, index) => ({ id: `m${index}` }))
  t.throws(() => readCatalogModels(many), { message: /too many models/ })
  t.equal(readCatalogModels(many.slice(1)).entries.length, CATALOG_MODELS_MAX)
  t.throws(() => readCatalogModels([{ id: 'a', text: 'x'.repeat(2 * 1024 * 1024) }]), { message: /too large/ })
  t.throws(() => readCatalogModels([{ name: 'x' }]), { message: /no valid entry/ })
  t.throws(() => readCatalogModels({ data: [] }), CatalogError)
  t.same(readCatalogModels([]).entries, [])
})

t.test('bridge 55: a snapshot is fresh at 29.9 seconds and not at 30.0', async t => {
  const snapshot = snapshotOf(models, {
    providerProfileId: 'native-upstream',
    providerKind: 'native',
    nowMs: 5_000
  })
  t.equal(isFresh(snapshot, 5_000 + 29_900), true)
  t.equal(isFresh(snapshot, 5_000 + 30_000), false)
  t.equal(isFresh({ ...snapshot, stale: true }, 5_001), false)
  t.equal(isFresh(snapshot, 5_000 - 7_200_000), false, 'the clock was set back')
  t.equal(isInventoryFresh(snapshot, 'native-upstream', 5_000 - 7_200_000), false)
  t.equal(isInventoryFresh(snapshot, 'native-upstream', 5_000 + 29_900), true)
  t.equal(isInventoryFresh(snapshot, 'native-upstream', 5_000 + 30_000), false)
  t.equal(isInventoryFresh(snapshot, 'other', 5_001), false)
  t.equal(isInventoryFresh(undefined, 'native-upstream', 0), false)
})

t.test('a stale snapshot and all its models are marked as stale, and its revision stays the same', async t => {
  const origin = { providerProfileId: 'native-upstream', providerKind: 'native', nowMs: 0 } as const
  const snapshot = snapshotOf(models, origin)
  const stale = snapshotOf(models, { ...origin, stale: true })
  t.equal(stale.stale, true)
  t.equal(stale.source, 'stale_cache')
  t.ok(stale.models.every(model => model.stale))
  t.equal(stale.inventoryRevision, snapshot.inventoryRevision)
  t.equal(snapshot.stale, false)
  t.match(stale.inventories, [{ profileId: 'native-upstream', state: 'stale' }])
})

t.test('bridge 54: of many requests to an empty catalog, one gets the lease and all get its result', async t => {
  const { record, request, published } = createClockedRecord()
  const first = request(1)
  const others = Array.from({ length: 15 }, (_, index) => request(1 + (index % 4), index % 2 === 0))
  t.same(first.replies, [{ kind: 'lease' }])
  t.ok(others.every(other => other.replies.length === 0))
  record.complete(first.ticket, models)
  t.equal(published.length, 1)
  for (const one of [first, ...others]) t.same(one.last(), { kind: 'result', snapshot: published[0] })
})

t.test('bridge 55: a fresh catalog is shown without a discovery, and a forced request gets the lease', async t => {
  const { record, request, clock } = createClockedRecord()
  record.complete(request(1).ticket, models)
  clock.nowMs += 29_999
  t.equal(request(2).last()?.kind, 'result')
  t.equal(request(2, true).last()?.kind, 'lease')
})

t.test('bridge 55: a request gets the lease when the catalog is 30 seconds old', async t => {
  const { record, request, clock } = createClockedRecord()
  record.complete(request(1).ticket, models)
  clock.nowMs += 30_000
  t.equal(request(2).last()?.kind, 'lease')
})

t.test('bridge 53: after a failure the earlier snapshot is shown as stale, and published once as such', async t => {
  const { record, request, published } = createClockedRecord()
  record.complete(request(1).ticket, models)
  const forced = request(2, true)
  record.fail(forced.ticket, failure)
  t.match(forced.last(), { kind: 'result', snapshot: { stale: true } })
  record.fail(request(2, true).ticket, failure)
  t.equal(published.length, 2)
  t.equal(published[1]?.inventoryRevision, published[0]?.inventoryRevision)
})

t.test('after failures the next unforced discovery waits 1, 2, 4 up to 30 seconds', async t => {
  t.same([1, 2, 3, 4, 5, 6, 50].map(catalogBackoffMs), [1000, 2000, 4000, 8000, 16000, 30000, 30000])
  const { record, request, clock } = createClockedRecord()
  record.complete(request(1).ticket, models)
  record.fail(request(1, true).ticket, failure)
  clock.nowMs += 999
  t.match(request(1).last(), { kind: 'result', snapshot: { stale: true } })
  clock.nowMs += 1
  const again = request(1)
  t.equal(again.last()?.kind, 'lease')
  record.fail(again.ticket, failure)
  clock.nowMs += 1_999
  t.equal(request(1).last()?.kind, 'result')
  t.equal(request(1, true).last()?.kind, 'lease', 'force does not wait')
})

t.test('a success after failures ends the back-off', async t => {
  const { record, request } = createClockedRecord()
  record.fail(request(1).ticket, failure)
  t.equal(record.failureCount('native-upstream'), 1)
  record.complete(request(1).ticket, models)
  t.equal(record.failureCount('native-upstream'), 0)
  t.match(request(1).last(), { kind: 'result', snapshot: { stale: false } })
})

t.test('without a snapshot a failure starts no back-off, and every waiting request gets the failure', async t => {
  const { record, request } = createClockedRecord()
  const first = request(1)
  const waiting = request(2)
  record.fail(first.ticket, failure)
  t.same(first.last(), { kind: 'failure', failure })
  t.same(waiting.last(), { kind: 'failure', failure })
  t.equal(request(1).last()?.kind, 'lease')
})

t.test('when the worker that holds the lease exits, the next waiting request gets the lease', async t => {
  const { record, request } = createClockedRecord()
  const first = request(1)
  const own = request(1)
  const second = request(2)
  record.releaseOwner(1)
  t.equal(second.last()?.kind, 'lease')
  t.equal(own.replies.length, 0)
  record.complete(first.ticket, models)
  t.equal(record.current(), undefined, 'a result of the exited worker is ignored')
  record.complete(second.ticket, models)
  t.match(second.last(), { kind: 'result', snapshot: { models: [{ id: 'one' }] } })
})

t.test('when the only worker with a request exits, the next request gets the lease', async t => {
  const { record, request } = createClockedRecord()
  request(1)
  record.releaseOwner(1)
  t.equal(request(2).last()?.kind, 'lease')
})
