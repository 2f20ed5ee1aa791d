import t from 'tap'
import type { KeyUsage, LimitUsage } from '../../../shared/limits/leases.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { showKey, showKeys } from '../../../worker/admin/keys.ts'
import { writeKeySet } from '../../support/key-sets.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

const nowMs = Date.UTC(2026, 10, 20)
const keySet = writeKeySet({
  groups: [
    { name: 'team', models: ['openai/*'], limits: { tokensPerMinute: 1000, budget: { amount: 5, period: 'month' } } },
    { name: 'idle', limits: { concurrentRequests: 2 } }
  ],
  keys: [
    {
      name: 'ci',
      group: 'team',
      models: ['openai/a'],
      limits: { requestsPerMinute: 60 },
      metadata: { owner: 'build' }
    },
    { name: 'web', group: 'team' },
    { name: 'free' },
    { name: 'old', expiresAtMs: nowMs },
    { name: 'off', isEnabled: false, expiresAtMs: nowMs, limits: { concurrentRequests: 1 } }
  ]
})

const use = (limit: LimitUsage['limit'], holder: 'key' | 'group', usedAmount: number, limitAmount: number) => ({
  limit,
  holder,
  usedAmount,
  limitAmount,
  periodEndsAtMs: limit === 'budget' ? Date.UTC(2026, 11, 1) : null
})
const usagesWith = (requests: number, tokens: number, nanos: number): KeyUsage[] => {
  const shared = [use('tokens_per_minute', 'group', tokens, 1000), use('budget', 'group', nanos, 5e9)]
  return [
    { key: 'ci', lastUsedAtMs: nowMs - 1000, limits: [use('requests_per_minute', 'key', requests, 60), ...shared] },
    { key: 'web', lastUsedAtMs: null, limits: shared },
    { key: 'off', lastUsedAtMs: null, limits: [use('concurrent_requests', 'key', 0, 1)] }
  ]
}
const show = (usages: KeyUsage[] | undefined) => showKeys({ ownNames: ['default'], keySet, usages, nowMs })

t.test('keys 16: a key has its limits and what is used of them, and its group has its own', async t => {
  const { data, groups, ...common } = show(usagesWith(12, 300, 1_250_000_000))
  t.strictSame(common, { keys_revision: keySet.revision, currency: 'USD' })
  t.strictSame(
    data.map(({ name }) => name),
    ['default', 'ci', 'web', 'free', 'old', 'off']
  )
  t.strictSame(data[1], {
    name: 'ci',
    origin: 'file',
    group: 'team',
    models: ['openai/a'],
    limits: { requests_per_minute: 60 },
    usage: { requests_per_minute: 12 },
    expires_at: null,
    enabled: true,
    state: 'active',
    last_used_at: '2026-11-19T23:59:59.000000+00:00',
    metadata: { owner: 'build' }
  })
  t.match(data[0], { origin: 'settings', models: null, limits: {}, usage: {}, state: 'active', group: null })
  t.match(data[4], { expires_at: '2026-11-20T00:00:00.000000+00:00', state: 'expired' })
  t.match(data[5], { enabled: false, state: 'disabled' })
  t.strictSame(groups, [
    {
      name: 'team',
      models: ['openai/*'],
      limits: { tokens_per_minute: 1000, budget: { amount: 5, period: 'month' } },
      usage: { tokens_per_minute: 300, budget: { cost: 1.25, period_ends_at: '2026-12-01T00:00:00.000000+00:00' } },
      keys: 2
    },
    { name: 'idle', models: null, limits: { concurrent_requests: 2 }, usage: {}, keys: 0 }
  ])
})

t.test('keys 16: the state is that of the next request, also because of the group', async t => {
  const states = (...amounts: [number, number, number]) => show(usagesWith(...amounts)).data.map(({ state }) => state)
  t.strictSame(states(60, 0, 0).slice(1, 4), ['limited', 'active', 'active'])
  t.strictSame(states(0, 1000, 0).slice(1, 4), ['limited', 'limited', 'active'])
  t.strictSame(states(60, 0, 5_100_000_000).slice(1, 4), ['over_budget', 'over_budget', 'active'])
})

t.test('keys 16: unknown usage is null, and nothing of a secret is shown', async t => {
  const shown = show(undefined)
  t.strictSame(
    shown.data.map(({ usage }) => usage),
    [{}, null, {}, {}, {}, null]
  )
  t.strictSame(
    shown.groups.map(({ usage }) => usage),
    [null, null]
  )
  t.notMatch(JSON.stringify(shown), /digest|secret|0000000/)
})

t.test('keys 16: one key is shown with its group; an unknown name is 404', async t => {
  const inForce = { ownNames: ['default'], keySet, usages: usagesWith(0, 0, 0), nowMs }
  t.match(showKey(inForce, 'web'), { data: { name: 'web' }, group: { name: 'team', keys: 2 }, currency: 'USD' })
  t.match(showKey(inForce, 'default'), { data: { name: 'default' }, group: null })
  t.throws(() => showKey(inForce, 'none'), { code: 'key_not_found' })
  t.match(showKeys({ ownNames: [], keySet: undefined, usages: [], nowMs }), {
    keys_revision: null,
    currency: null,
    data: [],
    groups: []
  })
})

t.test('keys 16: operators read keys with the admin key alone, and see no secret', async t => {
  const settings = parseSettings({
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_ADMIN_API_KEY: 'key-of-the-admin',
    GATEWAY_API_KEYS: '{"ops":"secret-of-the-settings"}'
  })
  const keySet = writeKeySet({
    keys: [{ name: 'ci', secrets: ['secret-of-the-file'], limits: { requestsPerMinute: 3 } }]
  })
  let usages: KeyUsage[] | undefined = [
    { key: 'ci', lastUsedAtMs: nowMs, limits: [use('requests_per_minute', 'key', 3, 3)] }
  ]
  const options = workerOptions(settings, undefined, keySet)
  const leases = { lease: async () => ({ kind: 'unavailable' }) as const, settle: () => undefined }
  const { url } = await startWorker(t, { ...options, limits: { leases, listUsage: async () => usages } })
  const get = (path: string, headers: Record<string, string> = { 'x-admin-api-key': 'key-of-the-admin' }) =>
    fetch(`${url}/_admin/keys${path}`, { headers })

  const whole = await get('')
  t.equal(whole.headers.get('cache-control'), 'no-store')
  const text = await whole.text()
  t.match(JSON.parse(text), {
    keys_revision: keySet.revision,
    currency: 'USD',
    data: [
      { name: 'ops', origin: 'settings' },
      { name: 'ci', state: 'limited', usage: { requests_per_minute: 3 } }
    ],
    groups: []
  })
  const digests = keySet.keys.flatMap(key => key.digests)
  for (const secret of ['secret-of-the', ...digests, ...digests.map(digest => digest.slice(0, 8))]) {
    t.notOk(text.includes(secret))
  }
  t.match(await (await get('/ci')).json(), { data: { name: 'ci', origin: 'file' }, group: null })
  usages = undefined
  t.match(await (await get('/ci')).json(), { data: { name: 'ci', usage: null, state: 'active' } })
  const unknown = await get('/none')
  t.equal(unknown.status, 404)
  t.strictSame(await unknown.json(), { error: { code: 'key_not_found', message: 'No key has this name' } })
  t.match(await (await get('/')).json(), { error: { code: 'not_found' } })
  for (const headers of [{}, { 'x-api-key': 'secret-of-the-file' }, { 'x-admin-api-key': 'secret-of-the-settings' }]) {
    t.equal((await get('', headers as Record<string, string>)).status, 403)
    t.equal((await get('/ci', headers as Record<string, string>)).status, 403)
  }
})
