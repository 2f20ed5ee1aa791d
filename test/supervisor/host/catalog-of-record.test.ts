import { mock } from 'node:test'
import pino from 'pino'
import t from 'tap'
import { readCatalogModels } from '../../../shared/catalog/catalog.ts'
import {
  type CatalogComposition,
  createCatalogComposition,
  createDiscoveredComposition
} from '../../../shared/catalog/catalog-composition.ts'
import { handleMessage } from '../../../shared/ipc/handlers.ts'
import {
  type ContentOf,
  createMessage,
  type SupervisorMessageContent,
  type WorkerMessageFields
} from '../../../shared/ipc/messages.ts'
import { createSlotKey, hostSlotKey } from '../../../shared/model-slots.ts'
import type { ProviderProfile } from '../../../shared/profile/profile.ts'
import { computeConfigRevision } from '../../../shared/profile/profile-revision.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createCatalogOfRecord } from '../../../supervisor/host/catalog-of-record.ts'
import { createConcurrencyBroker } from '../../../supervisor/host/concurrency-broker.ts'
import { refusedDiscovery as failure } from '../../support/catalog-failure.ts'
import { aliasOf, edgeProfile, fileOf, prefixedProfile } from '../../support/profile-sets.ts'

const models = readCatalogModels([{ id: 'one' }, { id: '' }])

const native = createDiscoveredComposition({ profileId: 'native-upstream', providerKind: 'native' })

function createCatalog(composition: CatalogComposition = native) {
  const sent: Array<{ owner: number | 'all' } & SupervisorMessageContent> = []
  const logged: string[] = []
  let filled = 0
  const catalog = createCatalogOfRecord(
    {
      log: pino({}, { write: line => logged.push(JSON.parse(line).event) }),
      nowMs: Date.now,
      send: (owner, message) => sent.push({ owner, ...message }),
      broadcast: message => sent.push({ owner: 'all', ...message }),
      nextReadyOwner: () => 7,
      onFilled: () => {
        filled += 1
      }
    },
    { composition, upstreamTimeoutMs: 30_000 }
  )
  const receive = (owner: number, message: ContentOf<WorkerMessageFields, keyof typeof catalog.handlers>) =>
    handleMessage(catalog.handlers, createMessage(message), { owner })
  return { catalog, sent, logged, receive, filled: () => filled }
}

t.test('one worker gets the lease, all workers get the snapshot, and each request gets its reply', async t => {
  const { catalog, sent, receive, filled } = createCatalog()
  t.teardown(catalog.close)
  receive(1, { kind: 'catalog-refresh', requestId: 11, profileId: 'native-upstream', force: false })
  receive(2, { kind: 'catalog-refresh', requestId: 22, profileId: 'native-upstream', force: true })
  t.match(sent, [{ owner: 1, kind: 'catalog-lease', requestId: 11 }])
  receive(1, { kind: 'catalog-fetched', requestId: 11, models })
  t.match(
    sent.slice(1).map(({ owner, kind }) => ({ owner, kind })),
    [
      { owner: 'all', kind: 'catalog-published' },
      { owner: 1, kind: 'catalog-result' },
      { owner: 2, kind: 'catalog-result' }
    ]
  )
  t.match(catalog.current(), { providerProfileId: 'native-upstream', models: [{ id: 'one' }] })
  t.equal(filled(), 1)
})

t.test('a failed first discovery is the reply to every request, and nothing is published', async t => {
  const { catalog, sent, receive, filled } = createCatalog()
  t.teardown(catalog.close)
  receive(1, { kind: 'catalog-refresh', requestId: 1, profileId: 'native-upstream', force: false })
  receive(2, { kind: 'catalog-refresh', requestId: 5, profileId: 'native-upstream', force: false })
  receive(1, { kind: 'catalog-failed', requestId: 1, failure })
  t.same(sent.slice(1), [
    { owner: 1, kind: 'catalog-unavailable', requestId: 1, failure },
    { owner: 2, kind: 'catalog-unavailable', requestId: 5, failure }
  ])
  t.notOk(sent.some(message => message.kind === 'catalog-published'))
  t.equal(filled(), 0)
})

t.test('the warm-up asks a worker at once, and not again once the catalog is filled', async t => {
  const { catalog, sent, receive } = createCatalog()
  t.teardown(catalog.close)
  catalog.startWarmUp()
  catalog.startWarmUp()
  t.same(sent, [{ owner: 7, kind: 'catalog-refresh-wanted', profileId: 'native-upstream' }])
  receive(7, { kind: 'catalog-refresh', requestId: 1, profileId: 'native-upstream', force: false })
  receive(7, { kind: 'catalog-fetched', requestId: 1, models })
  catalog.startWarmUp()
  t.equal(sent.filter(message => message.kind === 'catalog-refresh-wanted').length, 1)
})

t.test('a catalog that the profile file fills needs no discovery: it is filled at the start, and stays', async t => {
  const profiles = fileOf([edgeProfile([aliasOf('edge/mini', 'mini')])])
  const configRevision = computeConfigRevision(profiles)
  const { catalog, sent, receive, filled } = createCatalog(
    createCatalogComposition(profiles, { configRevision, startedAtMs: 0 })
  )
  t.teardown(catalog.close)
  t.match(catalog.current(), { models: [{ id: 'edge/mini' }], inventoryRevision: configRevision })
  t.equal(filled(), 0)
  catalog.startWarmUp()
  catalog.startWarmUp()
  t.equal(filled(), 1)
  receive(1, { kind: 'catalog-refresh', requestId: 1, profileId: 'native-upstream', force: true })
  t.same(
    sent.map(({ kind }) => kind),
    ['catalog-result'],
    'no worker is asked to fetch'
  )
})

t.test('each profile has its own lease, its own failures and its own warm-up', async t => {
  const profiles = fileOf([prefixedProfile('one', 'one/'), prefixedProfile('two', 'two/')])
  const options = { configRevision: computeConfigRevision(profiles), startedAtMs: 0 }
  const { catalog, sent, logged, receive, filled } = createCatalog(createCatalogComposition(profiles, options))
  t.teardown(catalog.close)
  catalog.startWarmUp()
  t.equal(filled(), 1, 'no external inventory is waited for')
  t.match(sent.splice(0), [
    { owner: 7, kind: 'catalog-refresh-wanted', profileId: 'one' },
    { owner: 7, kind: 'catalog-refresh-wanted', profileId: 'two' }
  ])
  receive(1, { kind: 'catalog-refresh', requestId: 1, profileId: 'one', force: false })
  receive(1, { kind: 'catalog-refresh', requestId: 2, profileId: 'two', force: false })
  receive(2, { kind: 'catalog-refresh', requestId: 1, profileId: 'one', force: false })
  t.match(sent.splice(0), [
    { owner: 1, kind: 'catalog-lease', requestId: 1 },
    { owner: 1, kind: 'catalog-lease', requestId: 2 }
  ])
  catalog.releaseOwner(1)
  t.match(sent.splice(0), [{ owner: 2, kind: 'catalog-lease', requestId: 1 }], 'the lease of an exited worker')
  receive(1, { kind: 'catalog-fetched', requestId: 1, models })
  t.same(sent.splice(0), [], 'what the exited worker still sends')
  receive(2, { kind: 'catalog-fetched', requestId: 1, models })
  t.match(sent.splice(0), [
    { owner: 'all', kind: 'catalog-published', snapshot: { models: [{ id: 'one/one', stale: false }], stale: true } },
    { owner: 2, kind: 'catalog-result' }
  ])
  receive(2, { kind: 'catalog-refresh', requestId: 5, profileId: 'two', force: false })
  receive(2, { kind: 'catalog-failed', requestId: 5, failure })
  t.match(sent.splice(0).at(-1), { kind: 'catalog-unavailable', requestId: 5 })
  receive(2, { kind: 'catalog-refresh', requestId: 6, profileId: 'two', force: false })
  t.match(sent.splice(0), [{ kind: 'catalog-unavailable', requestId: 6 }], 'no request waits for it again at once')
  receive(2, { kind: 'catalog-refresh', requestId: 7, profileId: 'two', force: true })
  t.match(sent.splice(0), [{ kind: 'catalog-lease', requestId: 7 }])
  receive(2, { kind: 'catalog-refresh', requestId: 8, profileId: 'unknown', force: true })
  t.match(sent.splice(0), [{ kind: 'catalog-result', requestId: 8 }])
  t.equal(logged.filter(event => event === 'catalog_discovery_failed').length, 1)
})

t.test('a failed warm-up is attempted again after a second', async t => {
  const { catalog, sent, receive } = createCatalog()
  t.teardown(catalog.close)
  const hold = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(hold))
  catalog.startWarmUp()
  receive(7, { kind: 'catalog-refresh', requestId: 1, profileId: 'native-upstream', force: false })
  receive(7, { kind: 'catalog-failed', requestId: 1, failure })
  while (sent.filter(message => message.kind === 'catalog-refresh-wanted').length < 2) {
    await new Promise(resolve => setImmediate(resolve))
  }
  t.pass('asked again')
})

t.test('a lease that is not ended in time expires with a warning, one that ended does not', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { catalog, sent, logged, receive } = createCatalog()
  t.teardown(catalog.close)
  const expired = () => logged.filter(event => event === 'catalog_lease_expired').length
  for (const end of [{ kind: 'catalog-failed', failure } as const, { kind: 'catalog-fetched', models } as const]) {
    receive(1, { kind: 'catalog-refresh', requestId: 1, profileId: 'native-upstream', force: true })
    receive(1, { ...end, requestId: 1 })
    mock.timers.tick(60_000)
  }
  receive(1, { kind: 'catalog-refresh', requestId: 2, profileId: 'native-upstream', force: true })
  catalog.releaseOwner(1)
  mock.timers.tick(60_000)
  t.equal(expired(), 0)

  receive(2, { kind: 'catalog-refresh', requestId: 3, profileId: 'native-upstream', force: true })
  receive(3, { kind: 'catalog-refresh', requestId: 4, profileId: 'native-upstream', force: true })
  catalog.releaseOwner(2)
  t.match(sent.at(-1), { owner: 3, kind: 'catalog-lease' })
  mock.timers.tick(31_999)
  t.equal(expired(), 0)
  mock.timers.tick(1)
  t.equal(expired(), 1)
  t.match(sent.at(-1), { owner: 3, kind: 'catalog-result' })
})

function createBroker(environment: Record<string, string>, profiles: readonly ProviderProfile[] = []) {
  const sent: Array<{ owner: number } & SupervisorMessageContent> = []
  const broker = createConcurrencyBroker(
    { send: (owner, message) => sent.push({ owner, ...message }) },
    parseSettings(environment),
    profiles
  )
  const receive = (owner: number, message: ContentOf<WorkerMessageFields, keyof typeof broker.handlers>) =>
    handleMessage(broker.handlers, createMessage(message), { owner })
  return { broker, sent, receive }
}

t.test('a limit that is named by an alias counts for the host, by profile and model', async t => {
  const { sent, receive } = createBroker({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"bridge/a":1}' }, [
    edgeProfile([aliasOf('bridge/a', 'mini')], { profileId: 'edge' })
  ])
  for (const owner of [1, 2]) {
    receive(owner, { kind: 'slot-acquire', requestId: 1, key: createSlotKey('edge', 'mini') })
    receive(owner, { kind: 'slot-acquire', requestId: 2, key: createSlotKey('other', 'mini') })
  }
  t.same(
    sent.map(({ owner, ...message }) => [owner, 'requestId' in message ? message.requestId : undefined]),
    [
      [1, 1],
      [1, 2],
      [2, 2]
    ]
  )
})

t.test('operations 54: the limit counts for the host, over all workers', async t => {
  const { sent, receive, broker } = createBroker({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":2}' })
  for (const owner of [1, 2, 3, 4]) receive(owner, { kind: 'slot-acquire', requestId: 1, key: 'one' })
  t.same(
    sent.map(({ owner, kind }) => `${owner} ${kind}`),
    ['1 slot-granted', '2 slot-granted']
  )
  t.same(broker.counts(), { held: 2, waiting: 2 })
  receive(2, { kind: 'slot-release', requestId: 1 })
  t.same(sent.at(-1), { owner: 3, kind: 'slot-granted', requestId: 1 })
  broker.close()
  t.same(sent.at(-1), { owner: 4, kind: 'slot-refused', requestId: 1 })
})

t.test('the slots of a worker that has exited are granted to waiting requests', async t => {
  const { sent, receive, broker } = createBroker({ GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '1' })
  receive(1, { kind: 'slot-acquire', requestId: 1, key: 'any' })
  receive(2, { kind: 'slot-acquire', requestId: 1, key: 'any' })
  broker.releaseOwner(1)
  t.same(sent.at(-1), { owner: 2, kind: 'slot-granted', requestId: 1 })
})

t.test('log streams have five slots of their own, which no model setting changes', async t => {
  const { sent, receive, broker } = createBroker({ GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '1' })
  receive(1, { kind: 'slot-acquire', requestId: 1, key: 'any' })
  for (let requestId = 2; requestId <= 7; requestId += 1) {
    receive(requestId % 2, { kind: 'slot-acquire', requestId, key: hostSlotKey('log-stream') })
  }
  const kinds = () => sent.map(({ kind }) => kind.slice('slot-'.length))
  t.same(kinds(), ['granted', 'granted', 'granted', 'granted', 'granted', 'granted', 'refused'])
  t.same(broker.counts(), { held: 1, waiting: 0 }, 'they do not count as calls of models')
  receive(0, { kind: 'slot-release', requestId: 2 })
  receive(1, { kind: 'slot-acquire', requestId: 8, key: hostSlotKey('log-stream') })
  t.equal(kinds().at(-1), 'granted')
  broker.releaseOwner(1)
  t.same(broker.counts(), { held: 0, waiting: 0 })
  receive(2, { kind: 'slot-acquire', requestId: 9, key: hostSlotKey('log-stream') })
  t.equal(kinds().at(-1), 'granted', 'a worker that exits gives its slots back')
})

t.test('a cancel that crosses its grant frees the slot', async t => {
  const { receive, broker } = createBroker({ GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '1' })
  receive(1, { kind: 'slot-acquire', requestId: 1, key: 'any' })
  receive(1, { kind: 'slot-cancel', requestId: 1 })
  t.same(broker.counts(), { held: 0, waiting: 0 })
})

t.test('operations 52: a waiting request is refused when its configured time is over, and not earlier', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { sent, receive } = createBroker({
    GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":1}',
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0.2'
  })
  receive(1, { kind: 'slot-acquire', requestId: 1, key: 'one' })
  receive(1, { kind: 'slot-acquire', requestId: 2, key: 'one' })
  mock.timers.tick(199)
  t.same(
    sent.map(({ kind }) => kind),
    ['slot-granted']
  )
  mock.timers.tick(1)
  t.match(sent.at(-1), { kind: 'slot-refused', requestId: 2 })
})

t.test('operations 50: without waiting a second request is refused at once', async t => {
  const { sent, receive } = createBroker({
    GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":1}',
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
  })
  receive(1, { kind: 'slot-acquire', requestId: 1, key: 'one' })
  receive(1, { kind: 'slot-acquire', requestId: 2, key: 'one' })
  receive(1, { kind: 'slot-acquire', requestId: 3, key: 'two' })
  t.same(
    sent.map(({ kind }) => kind),
    ['slot-granted', 'slot-refused', 'slot-granted']
  )
})
