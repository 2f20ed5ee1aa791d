import t from 'tap'
import {
  addHealth,
  addOutcome,
  createHealth,
  createHealthBoard,
  FAILURE_CLASSES_MAX,
  type ProviderHealth,
  type SeenOutcome
} from '../../shared/provider-health.ts'

const outcomeOf = (failure?: string): SeenOutcome => ({
  profileId: 'p',
  failure,
  isOfClient: failure === 'http_400' || failure === 'http_404'
})

/** The health after these ends of calls, one in each millisecond from `startMs` on. */
function run(failures: ReadonlyArray<string | undefined>, startMs = 1): ProviderHealth {
  return failures.reduce<ProviderHealth>(
    (health, failure, index) => addOutcome(health, outcomeOf(failure), startMs + index),
    createHealth('p')
  )
}

t.test('a success ends the failures in a row, and the last failure of each class stays', async t => {
  const health = run(['timeout', 'http_503', 'timeout', undefined, 'connect_error'])
  t.match(health, { lastSuccessAtMs: 4, consecutiveFailures: 1 })
  t.same(health.lastFailures, [
    { failure: 'connect_error', atMs: 5 },
    { failure: 'timeout', atMs: 3 },
    { failure: 'http_503', atMs: 2 }
  ])
})

t.test('a mistake of a client is no failure in a row, and no success', async t => {
  const health = run(['timeout', 'http_400', 'http_404', 'http_429'])
  t.match(health, { lastSuccessAtMs: null, consecutiveFailures: 2 })
  t.equal(health.lastFailures.length, 4)
})

t.test('the classes are bounded: the oldest one goes', async t => {
  const failures = Array.from({ length: FAILURE_CLASSES_MAX + 4 }, (_, index) => `http_${500 + index}`)
  const { lastFailures } = run(failures)
  t.equal(lastFailures.length, FAILURE_CLASSES_MAX)
  t.equal(lastFailures[0]?.failure, failures.at(-1))
  t.notOk(lastFailures.some(({ failure }) => failure === failures[0]))
})

t.test('reports of several workers add up', async t => {
  const first = run(['timeout', 'timeout'], 10)
  t.match(addHealth(run(['timeout']), first), { consecutiveFailures: 3, lastSuccessAtMs: null })
  const recovered = addHealth(first, run([undefined, 'http_500'], 20))
  t.match(recovered, { consecutiveFailures: 1, lastSuccessAtMs: 20 })
  const late = addHealth(recovered, run([undefined, 'timeout'], 5))
  t.match(late, { consecutiveFailures: 2, lastSuccessAtMs: 20 }, 'an earlier success changes nothing')
  t.match(late.lastFailures, [
    { failure: 'http_500', atMs: 21 },
    { failure: 'timeout', atMs: 11 }
  ])
})

t.test('the certificate of the newest connection is shown', async t => {
  const seen = (expiresAtMs: number, seenAtMs: number): ProviderHealth => ({
    ...createHealth('p'),
    certificates: { provider: { expiresAtMs, seenAtMs }, client: null }
  })
  t.same(addHealth(seen(100, 1), seen(900, 2)).certificates, seen(900, 2).certificates)
  t.same(addHealth(seen(900, 2), seen(100, 1)).certificates, seen(900, 2).certificates)
  t.same(addHealth(seen(900, 2), createHealth('p')).certificates, seen(900, 2).certificates)
})

t.test('a board has each profile of the gateway and no other', async t => {
  const board = createHealthBoard(['a', 'p'])
  const before = board.list()
  board.add([run(['timeout']), { ...run(['timeout']), profileId: 'constructor' }])
  t.same(
    board.list().map(({ profileId, consecutiveFailures }) => [profileId, consecutiveFailures]),
    [
      ['a', 0],
      ['p', 1]
    ]
  )
  t.not(board.list(), before)
})
