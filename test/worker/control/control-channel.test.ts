import t from 'tap'
import { type CatalogModels, readCatalogModels } from '../../../shared/catalog/catalog.ts'
import { createMessage, type WorkerMessageContent } from '../../../shared/ipc/messages.ts'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createControlChannel } from '../../../worker/control/control-channel.ts'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { snapshotOf } from '../../support/catalog-snapshots.ts'

const limited = parseSettings({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":1}' })
const models = readCatalogModels([{ id: 'one' }])
const snapshot = snapshotOf(models, {
  providerProfileId: 'native-upstream',
  providerKind: 'native',
  nowMs: Date.now()
})
const never = new AbortController().signal

function createRemote() {
  const sent: WorkerMessageContent[] = []
  const channel = createControlChannel(
    { send: message => sent.push(message) },
    { settings: limited, profiles: [], catalog: undefined, isHostStarted: false }
  )
  return { sent, channel }
}

t.test('a model without a limit sends no message', async t => {
  const { channel, sent } = createRemote()
  t.equal(channel.slotLimit('free'), undefined)
  t.equal(channel.slotLimit('one'), 1)
  const release = await channel.acquireSlot('free', never)
  t.type(release, 'function')
  release?.()
  t.same(sent, [])
})

t.test('releasing a granted slot twice sends one release', async t => {
  const { channel, sent } = createRemote()
  const acquiring = channel.acquireSlot('one', never)
  t.same(sent, [{ kind: 'slot-acquire', requestId: 1, key: 'one' }])
  channel.receive(createMessage({ kind: 'slot-granted', requestId: 1 }))
  const release = await acquiring
  release?.()
  release?.()
  t.same(sent.slice(1), [{ kind: 'slot-release', requestId: 1 }])
})

t.test('a refused slot resolves with null', async t => {
  const { channel } = createRemote()
  const acquiring = channel.acquireSlot('one', never)
  channel.receive(createMessage({ kind: 'slot-refused', requestId: 1 }))
  t.equal(await acquiring, null)
})

t.test('an aborted wait sends a cancel, and a grant that arrives after it is ignored', async t => {
  const { channel, sent } = createRemote()
  const cancel = new AbortController()
  const acquiring = channel.acquireSlot('one', cancel.signal)
  cancel.abort()
  t.equal(await acquiring, null)
  t.same(sent.at(-1), { kind: 'slot-cancel', requestId: 1 })
  channel.receive(createMessage({ kind: 'slot-granted', requestId: 1 }))
  t.equal(sent.length, 2)
  t.equal(await channel.acquireSlot('one', cancel.signal), null, 'an aborted caller sends no message')
  t.equal(sent.length, 2)
})

t.test('the models are fetched once per lease, and all callers get the published snapshot', async t => {
  const { channel, sent } = createRemote()
  let fetched = 0
  const fetchModels = async (): Promise<CatalogModels> => {
    fetched += 1
    return models
  }
  const refreshes = [1, 2, 3].map(() =>
    channel.refreshCatalog(fetchModels, { profileId: 'native-upstream', force: false })
  )
  t.same(sent, [{ kind: 'catalog-refresh', requestId: 1, profileId: 'native-upstream', force: false }])
  channel.receive(createMessage({ kind: 'catalog-lease', requestId: 1 }))
  await new Promise(resolve => setImmediate(resolve))
  t.same(sent.at(-1), { kind: 'catalog-fetched', requestId: 1, models })
  channel.receive(createMessage({ kind: 'catalog-published', snapshot }))
  channel.receive(createMessage({ kind: 'catalog-result', requestId: 1, snapshot }))
  t.same(await Promise.all(refreshes), [snapshot, snapshot, snapshot])
  t.equal(fetched, 1)
  t.same(channel.catalogSnapshot(), snapshot)
})

t.test('a forced refresh does not join an unforced one', async t => {
  const { channel, sent } = createRemote()
  void channel.refreshCatalog(async () => models, { profileId: 'native-upstream', force: false })
  void channel.refreshCatalog(async () => models, { profileId: 'native-upstream', force: true })
  void channel.refreshCatalog(async () => models, { profileId: 'native-upstream', force: false })
  t.same(
    sent.map(message => message.kind === 'catalog-refresh' && message.force),
    [false, true]
  )
})

t.test('a failed discovery rejects with equal errors in the worker that fetched and in other workers', async t => {
  const failing = createRemote()
  const error = new GatewayError('provider_failure', {
    status: 402,
    kind: 'invalid-request',
    message: 'Pay first.',
    param: 'model',
    reason: 'unpaid',
    retryAfter: '7',
    cause: 'upstream status 402'
  })
  const fetched = failing.channel.refreshCatalog(() => Promise.reject(error), {
    profileId: 'native-upstream',
    force: false
  })
  failing.channel.receive(createMessage({ kind: 'catalog-lease', requestId: 1 }))
  await new Promise(resolve => setImmediate(resolve))
  const reported = failing.sent.at(-1)
  if (reported?.kind !== 'catalog-failed') throw new Error('The failure is not reported to the supervisor.')
  failing.channel.receive(createMessage({ kind: 'catalog-unavailable', requestId: 1, failure: reported.failure }))
  t.equal(await fetched.catch((thrown: unknown) => thrown), error)

  const waiting = createRemote()
  const waited = waiting.channel.refreshCatalog(async () => models, { profileId: 'native-upstream', force: false })
  waiting.channel.receive(createMessage({ kind: 'catalog-unavailable', requestId: 1, failure: reported.failure }))
  const copy: unknown = await waited.catch((thrown: unknown) => thrown)
  t.ok(GatewayError.is(copy))
  t.strictSame({ ...(copy as GatewayError) }, { ...error })
  t.match(copy, { message: error.message, cause: error.cause })
})

t.test(
  'an unexpected error of the worker that fetched becomes an internal error without its message in other workers',
  async t => {
    const { channel, sent } = createRemote()
    const failing = channel.refreshCatalog(() => Promise.reject(new TypeError('canary')), {
      profileId: 'native-upstream',
      force: false
    })
    channel.receive(createMessage({ kind: 'catalog-lease', requestId: 1 }))
    await new Promise(resolve => setImmediate(resolve))
    const reported = sent.at(-1)
    t.match(reported, {
      kind: 'catalog-failed',
      failure: { code: 'internal_error', status: 500, message: 'Internal server error', cause: 'TypeError: canary' }
    })
    if (reported?.kind !== 'catalog-failed') return
    channel.receive(createMessage({ kind: 'catalog-unavailable', requestId: 1, failure: reported.failure }))
    await t.rejects(failing, TypeError)
  }
)

t.test('an aborted caller stops waiting, and the discovery continues for the others', async t => {
  const { channel } = createRemote()
  const cancel = new AbortController()
  const cancelled = channel.refreshCatalog(async () => models, {
    profileId: 'native-upstream',
    force: false,
    signal: cancel.signal
  })
  const waiting = channel.refreshCatalog(async () => models, { profileId: 'native-upstream', force: false })
  cancel.abort(new Error('cancelled'))
  await t.rejects(cancelled, { message: 'cancelled' })
  channel.receive(createMessage({ kind: 'catalog-result', requestId: 1, snapshot }))
  t.same(await waiting, snapshot)
})

t.test('listeners are called for a published snapshot and for a requested refresh', async t => {
  const { channel } = createRemote()
  const heard: string[] = []
  channel.onCatalogPublished(published => heard.push(published.inventoryRevision))
  channel.onRefreshWanted(profileId => heard.push(`wanted ${profileId}`))
  channel.receive(createMessage({ kind: 'catalog-published', snapshot }))
  channel.receive(createMessage({ kind: 'catalog-refresh-wanted', profileId: 'native-upstream' }))
  t.same(heard, [snapshot.inventoryRevision, 'wanted native-upstream'])
})

t.test('a worker learns when every worker of the host listens', async t => {
  const { channel } = createRemote()
  t.equal(channel.isHostStarted, false)
  channel.receive(createMessage({ kind: 'host-started' }))
  t.equal(channel.isHostStarted, true)
})

t.test('a worker learns that the gateway stops soon', async t => {
  const { channel } = createRemote()
  t.equal(channel.isLeaving, false)
  channel.receive(createMessage({ kind: 'readiness-withdrawn' }))
  t.equal(channel.isLeaving, true)
})

t.test('a respawned worker has the catalog of its configure message', async t => {
  const channel = createControlChannel(
    { send: () => undefined },
    { settings: limited, profiles: [], catalog: snapshot, isHostStarted: true }
  )
  t.same(channel.catalogSnapshot(), snapshot)
})

t.test(
  'a closed channel ends every wait: a slot resolves with null, a refresh rejects with gateway_not_ready',
  async t => {
    const { channel } = createRemote()
    const acquiring = channel.acquireSlot('one', never)
    const refreshing = channel.refreshCatalog(async () => models, { profileId: 'native-upstream', force: false })
    channel.close()
    t.equal(await acquiring, null)
    await t.rejects(refreshing, { code: 'gateway_not_ready' })
    t.equal(await channel.acquireSlot('one', never), null, 'a closed channel sends no message')
  }
)

t.test('changed keys reach every listener, also one that is added later, as while a worker is loading', async t => {
  const { channel } = createRemote()
  const heard: string[] = []
  const change = (digit: string): KeySet => ({
    revision: `sha256:${digit.repeat(64)}`,
    currency: 'USD',
    groups: [],
    keys: []
  })
  channel.onKeysChanged(keys => heard.push(`first ${keys.revision.slice(-1)}`))
  channel.receive(createMessage({ kind: 'keys-changed', keys: change('1') }))
  channel.onKeysChanged(keys => heard.push(`second ${keys.revision.slice(-1)}`))
  channel.receive(createMessage({ kind: 'keys-changed', keys: change('2') }))
  t.same(heard, ['first 1', 'second 1', 'first 2', 'second 2'])
})
