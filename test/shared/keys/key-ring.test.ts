import t from 'tap'
import { createKeyRing, readKeyState } from '../../../shared/keys/key-ring.ts'
import { findApiKey } from '../../../shared/secrets/api-key.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { writeKeySet } from '../../support/key-sets.ts'

const settings = parseSettings({ GATEWAY_API_KEY: 'k1', GATEWAY_API_KEYS: '{"next":"k2","unicode":"ключ"}' })
const NEAR_MISSES = ['', 'k', 'k11', 'K1', ' k1']

t.test('a key of the settings is found exactly and by its name, and may use everything', async t => {
  const ring = createKeyRing(settings)
  const found = ring.find('k1')
  t.match(found, { name: 'default', scope: undefined, hasLimits: false, isEnabled: true })
  t.equal(ring.find('k1'), found, 'also when it has matched before')
  t.equal(ring.find('k2')?.name, 'next')
  for (const wrong of NEAR_MISSES) t.equal(ring.find(wrong), undefined, JSON.stringify(wrong))
  t.equal(ring.hasFile, false)
})

t.test(
  'operations 35: a key outside ASCII is compared without an exception, and matches when it is the right one',
  async t => {
    const ring = createKeyRing(settings)
    const find = (headers: Record<string, string>, query: Record<string, string> = {}) => {
      const presented = findApiKey(headers, query, { isBearerTaken: false })
      return presented === undefined ? undefined : ring.find(presented)?.name
    }
    t.equal(find({ 'x-api-key': Buffer.from('ключ').toString('latin1') }), 'unicode')
    t.equal(find({}, { key: 'ключ' }), 'unicode')
    t.equal(find({ 'x-api-key': 'ÿÿ' }), undefined)
  }
)

t.test('without any key nothing is found', async t => {
  const none = createKeyRing(parseSettings({}))
  t.equal(none.find(''), undefined)
  t.equal(none.find('undefined'), undefined)
})

t.test('keys 1: each secret of a keys file admits, and each near miss does not', async t => {
  const ring = createKeyRing(
    settings,
    writeKeySet({ keys: [{ name: 'ci', secrets: ['first-secret', 'next-secret'] }] })
  )
  t.equal(ring.find('first-secret')?.name, 'ci')
  t.equal(ring.find('next-secret')?.name, 'ci')
  t.equal(ring.find('k1')?.name, 'default', 'beside those of the settings')
  for (const wrong of ['first-secre', 'first-secret ', 'First-secret', 'first-secretnext-secret', 'ci']) {
    t.equal(ring.find(wrong), undefined, wrong)
  }
  t.equal(ring.find(ring.find('first-secret')?.name ?? ''), undefined, 'a name is no secret')
})

t.test(
  'keys 2: another keys file takes the place of the one before it, also for secrets that have matched',
  async t => {
    const ring = createKeyRing(settings, writeKeySet({ keys: [{ name: 'ci', secrets: ['old-secret', 'new-secret'] }] }))
    t.ok(ring.find('old-secret') && ring.find('new-secret') && ring.find('k1'))
    const revision = `sha256:${'b'.repeat(64)}`
    ring.replace(writeKeySet({ keys: [{ name: 'ci', secrets: ['new-secret'], isEnabled: false }], revision }))
    t.equal(ring.find('old-secret'), undefined)
    t.equal(ring.find('new-secret')?.isEnabled, false)
    t.equal(ring.find('k1')?.name, 'default')
    t.equal(ring.revision, revision)
    t.equal(ring.findByName('ci'), ring.find('new-secret'))
  }
)

t.test('a key may be used until it expires, unless it is disabled', async t => {
  const keys = [
    { name: 'ending', secrets: ['1'], expiresAtMs: 1000 },
    { name: 'off', secrets: ['2'], isEnabled: false, expiresAtMs: 1000 }
  ]
  const ring = createKeyRing(settings, writeKeySet({ keys }))
  const stateOf = (name: string, nowMs: number) => {
    const key = ring.findByName(name)
    return key && readKeyState(key, nowMs)
  }
  t.equal(stateOf('ending', 999), 'active')
  t.equal(stateOf('ending', 1000), 'expired')
  t.equal(stateOf('off', 999), 'disabled')
  t.equal(stateOf('off', 1000), 'disabled')
  t.equal(stateOf('default', Number.MAX_SAFE_INTEGER), 'active')
})

t.test('keys 4: a key has its own models and limits and those of its group', async t => {
  const groups = [
    { name: 'team', models: ['a/*'], limits: { tokensPerMinute: 1, budget: { amount: 1, period: 'day' as const } } }
  ]
  const keys = [
    { name: 'both', group: 'team', models: ['a/b'], limits: { requestsPerMinute: 1, concurrentRequests: 1 } },
    { name: 'grouped', group: 'team' },
    { name: 'free' }
  ]
  const ring = createKeyRing(settings, writeKeySet({ keys, groups }))
  t.same(ring.findByName('both'), {
    name: 'both',
    group: 'team',
    scope: [['a/b'], ['a/*']],
    limitNames: new Set(['requests_per_minute', 'concurrent_requests', 'tokens_per_minute', 'budget']),
    hasLimits: true,
    limits: {
      key: { requestsPerMinute: 1, concurrentRequests: 1 },
      group: { tokensPerMinute: 1, budget: { amount: 1, period: 'day' } }
    },
    expiresAtMs: undefined,
    isEnabled: true
  })
  t.match(ring.findByName('grouped'), { scope: [['a/*']], hasLimits: true })
  t.match(ring.findByName('free'), { scope: undefined, hasLimits: false })
})
