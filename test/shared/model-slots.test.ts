import t from 'tap'
import {
  createSlotKey,
  createSlotPool,
  foldModelName,
  limitOf,
  type SlotLimits,
  type SlotOutcome,
  slotLimitsFrom
} from '../../shared/model-slots.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'
import { parseSettings } from '../../shared/settings.ts'
import { aliasOf, edgeProfile } from '../support/profile-sets.ts'

const limits: SlotLimits = {
  perModel: new Map([
    ['one', 1],
    ['two', 2]
  ]),
  otherwise: undefined,
  acquireTimeoutMs: undefined
}

function createAsker(overrides: Partial<SlotLimits> = {}) {
  const pool = createSlotPool({ ...limits, ...overrides })
  let requestId = 0
  const ask = (owner: number, key: string) => {
    requestId += 1
    const ticket = { owner, requestId }
    const outcomes: SlotOutcome[] = []
    pool.acquire(ticket, key, outcome => outcomes.push(outcome))
    return { ticket, outcomes }
  }
  return { pool, ask }
}

t.test('limits come from settings, a listed model before the default', async t => {
  const settings = parseSettings({
    GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":3}',
    GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '7',
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0.2'
  })
  const read = slotLimitsFrom(settings, [])
  t.equal(limitOf(read, 'one'), 3)
  t.equal(limitOf(read, 'other'), 7)
  t.equal(limitOf(read, 'toString'), 7)
  t.equal(read.acquireTimeoutMs, 200)
  t.equal(limitOf(slotLimitsFrom(parseSettings({}), []), 'one'), undefined)
  t.equal(slotLimitsFrom(parseSettings({}), []).acquireTimeoutMs, undefined)
})

t.test('a model without a limit is granted at once and leaves nothing behind', async t => {
  const { pool, ask } = createAsker()
  t.same(ask(1, 'free').outcomes, ['granted'])
  t.same(pool.counts(), { held: 0, waiting: 0 })
})

t.test('the limit counts over all owners, and each model on its own', async t => {
  const { pool, ask } = createAsker()
  t.same(ask(1, 'two').outcomes, ['granted'])
  t.same(ask(2, 'two').outcomes, ['granted'])
  t.same(ask(3, 'two').outcomes, [])
  t.same(ask(3, 'one').outcomes, ['granted'])
  t.same(pool.counts(), { held: 3, waiting: 1 })
})

t.test('the ticket that waited longest is granted next', async t => {
  const { pool, ask } = createAsker()
  const first = ask(1, 'one')
  const second = ask(2, 'one')
  const third = ask(1, 'one')
  pool.release(first.ticket)
  t.same([second.outcomes, third.outcomes], [['granted'], []])
  pool.release(second.ticket)
  t.same(third.outcomes, ['granted'])
  pool.release(third.ticket)
  t.same(pool.counts(), { held: 0, waiting: 0 })
})

t.test('releasing a ticket twice, or an unknown one, frees nothing that is not held', async t => {
  const { pool, ask } = createAsker()
  const first = ask(1, 'one')
  pool.release(first.ticket)
  pool.release(first.ticket)
  pool.release({ owner: 9, requestId: 9 })
  t.same(ask(1, 'one').outcomes, ['granted'])
  t.same(ask(1, 'one').outcomes, [])
})

t.test('a waiting ticket that is released leaves the queue', async t => {
  const { pool, ask } = createAsker()
  const first = ask(1, 'one')
  const second = ask(1, 'one')
  const third = ask(1, 'one')
  pool.release(second.ticket)
  pool.release(first.ticket)
  t.same(second.outcomes, [])
  t.same(third.outcomes, ['granted'])
})

t.test('the slots and waiting tickets of an exited worker are released', async t => {
  const { pool, ask } = createAsker()
  ask(1, 'two')
  ask(1, 'two')
  const own = ask(1, 'two')
  const other = ask(2, 'two')
  pool.releaseOwner(1)
  t.same(own.outcomes.includes('refused'), false)
  t.same(other.outcomes, ['granted'])
  t.same(pool.counts(), { held: 1, waiting: 0 })
  pool.releaseOwner(1)
})

t.test('a timeout of zero refuses at once', async t => {
  const { ask } = createAsker({ acquireTimeoutMs: 0 })
  t.same(ask(1, 'one').outcomes, ['granted'])
  t.same(ask(1, 'one').outcomes, ['refused'])
})

t.test('a waiter is refused after its timeout and leaves the queue', async t => {
  const pool = createSlotPool({ ...limits, acquireTimeoutMs: 5 })
  // The pool's own timer does not hold a process, so the test does.
  const hold = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(hold))
  pool.acquire({ owner: 1, requestId: 1 }, 'one', () => undefined)
  const outcome = await new Promise(resolve => pool.acquire({ owner: 1, requestId: 2 }, 'one', resolve))
  t.equal(outcome, 'refused')
  t.same(pool.counts(), { held: 1, waiting: 0 })
})

t.test('the queue is bounded', async t => {
  const { pool, ask } = createAsker()
  ask(1, 'one')
  for (let count = 0; count < 1024; count += 1) ask(1, 'one')
  t.same(ask(1, 'one').outcomes, ['refused'])
  t.equal(pool.counts().waiting, 1024)
})

t.test('closing refuses all waiting tickets', async t => {
  const { pool, ask } = createAsker()
  ask(1, 'one')
  const waiting = ask(1, 'one')
  pool.close()
  t.same(waiting.outcomes, ['refused'])
})

t.test('cost 15: all spellings of a model have one key, and the lower of their limits counts', async t => {
  const spellings = [
    'GigaChat-2',
    'GigaChat-2:2.0.28.2',
    'GigaChat-2:latest',
    'models/GIGACHAT-2',
    ' models/models/gigachat-2:1 '
  ]
  for (const spelling of spellings) t.equal(foldModelName(spelling), 'gigachat-2', spelling)
  for (const other of ['GigaChat-2-Max', 'llama3:8b', 'a/GigaChat-2']) t.not(foldModelName(other), 'gigachat-2', other)
  const limits = slotLimitsFrom(
    parseSettings({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"GigaChat-2":3,"gigachat-2:2.0":2,"assistant:7":1}' }),
    []
  )
  t.equal(limitOf(limits, 'gigachat-2'), 2)
  t.equal(limitOf(limits, 'assistant:7'), 1, 'the key of an assistant is not folded')
})

/** A profile whose aliases are given as `alias: upstream model`. */
function profileOf(profileId: string, models: Record<string, string>, enabled = true): ProviderProfile {
  const aliases = Object.entries(models).map(([alias, model]) => aliasOf(alias, model, { enabled }))
  return edgeProfile(aliases, { profileId })
}

t.test(
  'a limit may be named by the alias, counts for each profile, and is shared by all aliases of a model',
  async t => {
    const limits = slotLimitsFrom(
      parseSettings({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"Bridge/A":2,"big:1.0":5,"off":1}' }),
      [
        profileOf('p1', { 'bridge/a': 'mini', 'bridge/b': 'mini', 'bridge/c': 'big' }),
        profileOf('p2', { 'bridge/d': 'mini', 'bridge/e': 'BIG' }),
        profileOf('p3', { off: 'mini' }, false)
      ]
    )
    t.equal(limitOf(limits, createSlotKey('p1', 'mini')), 2)
    t.equal(limitOf(limits, createSlotKey('p1', 'models/MINI:1.2')), 2, 'spellings are folded')
    t.equal(limitOf(limits, createSlotKey('p2', 'mini')), undefined)
    t.equal(limitOf(limits, createSlotKey('p3', 'mini')), undefined, 'a disabled alias names nothing')
    t.equal(limitOf(limits, createSlotKey('p1', 'big')), 5)
    t.equal(limitOf(limits, createSlotKey('p2', 'big')), 5)
    const pool = createSlotPool({ ...limits, acquireTimeoutMs: 0 })
    const outcomes: SlotOutcome[] = []
    const ask = (requestId: number, key: string) =>
      pool.acquire({ owner: 1, requestId }, key, outcome => outcomes.push(outcome))
    for (const requestId of [1, 2, 3, 4, 5]) ask(requestId, createSlotKey('p1', 'big'))
    ask(6, createSlotKey('p2', 'big'))
    t.same(outcomes, Array(6).fill('granted'), 'two profiles with one upstream name count apart')
    ask(7, createSlotKey('p1', 'big'))
    t.equal(outcomes.at(-1), 'refused')
  }
)

t.test('of several limits of one model the lowest counts', async t => {
  const settings = parseSettings({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"bridge/a":4,"bridge/b":3,"mini":9}' })
  const limits = slotLimitsFrom(settings, [profileOf('p1', { 'bridge/a': 'mini', 'bridge/b': 'mini' })])
  t.equal(limitOf(limits, createSlotKey('p1', 'mini')), 3)
})

t.test('the usage names every model of which a slot is held, wanted or was refused', async t => {
  const { pool, ask } = createAsker({ acquireTimeoutMs: 0 })
  t.same(pool.usage(), [])
  const first = ask(1, 'one')
  ask(2, 'one')
  ask(2, 'two')
  t.same(pool.usage(), [
    { key: 'one', limit: 1, held: 1, waiting: 0, refused: 1 },
    { key: 'two', limit: 2, held: 1, waiting: 0, refused: 0 }
  ])
  pool.releaseOwner(2)
  pool.release(first.ticket)
  t.same(pool.usage(), [{ key: 'one', limit: 1, held: 0, waiting: 0, refused: 1 }])
})
