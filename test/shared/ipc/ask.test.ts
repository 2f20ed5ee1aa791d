import { getEventListeners } from 'node:events'
import { mock } from 'node:test'
import t from 'tap'
import { createAsker } from '../../../shared/ipc/ask.ts'

type Request =
  | { readonly kind: 'weigh'; readonly requestId: number; readonly what: string }
  | { readonly kind: 'count'; readonly requestId: number }
type Reply =
  | { readonly kind: 'weight'; readonly requestId: number; readonly grams: number }
  | { readonly kind: 'no-weight'; readonly requestId: number }
  | { readonly kind: 'weighing'; readonly requestId: number; readonly percent: number }
  | { readonly kind: 'counted'; readonly requestId: number }

const pairs = { weigh: ['weight', 'no-weight'], count: ['counted'] } as const

function createScales() {
  const sent: Request[] = []
  return { sent, asker: createAsker<Request, Reply, typeof pairs>(pairs, request => sent.push(request)) }
}

t.test('each request gets the reply with its id, in any order of the replies', async t => {
  const { sent, asker } = createScales()
  const apple = asker.ask({ kind: 'weigh', what: 'apple' })
  const pear = asker.ask({ kind: 'weigh', what: 'pear' })
  t.same(sent, [
    { kind: 'weigh', what: 'apple', requestId: 1 },
    { kind: 'weigh', what: 'pear', requestId: 2 }
  ])
  asker.receive({ kind: 'weight', requestId: 2, grams: 180 })
  asker.receive({ kind: 'no-weight', requestId: 1 })
  t.same(await apple, { kind: 'no-weight', requestId: 1 })
  t.same(await pear, { kind: 'weight', requestId: 2, grams: 180 })
})

t.test('a reply that comes while the request is being sent is not lost', async t => {
  const asker = createAsker<Request, Reply, typeof pairs>(pairs, ({ requestId }) =>
    asker.receive({ kind: 'counted', requestId })
  )
  t.match(await asker.ask({ kind: 'count' }), { kind: 'counted' })
})

t.test('an interim message does not end the wait', async t => {
  const { asker } = createScales()
  const interim: unknown[] = []
  const weighed = asker.ask({ kind: 'weigh', what: 'apple' }, { onInterim: message => interim.push(message) })
  asker.receive({ kind: 'weighing', requestId: 1, percent: 50 })
  asker.receive({ kind: 'weight', requestId: 1, grams: 120 })
  asker.receive({ kind: 'weighing', requestId: 1, percent: 100 })
  t.match(await weighed, { grams: 120 })
  t.same(interim, [{ kind: 'weighing', requestId: 1, percent: 50 }], 'none after the reply')
})

t.test('an abort ends the wait and reports the id; a later reply is ignored', async t => {
  const { asker } = createScales()
  const leaving = new AbortController()
  const abandoned: number[] = []
  const options = { signal: leaving.signal, onAbandoned: (requestId: number) => abandoned.push(requestId) }
  const counted = asker.ask({ kind: 'count' }, options)
  leaving.abort()
  t.same(await counted, { kind: 'unanswered', reason: 'aborted' })
  t.same(abandoned, [1])
  asker.receive({ kind: 'counted', requestId: 1 })
})

t.test('an aborted signal sends nothing, and a signal that outlives the reply keeps no listener', async t => {
  const { sent, asker } = createScales()
  t.same(await asker.ask({ kind: 'count' }, { signal: AbortSignal.abort() }), {
    kind: 'unanswered',
    reason: 'aborted'
  })
  t.same(sent, [])
  const { signal } = new AbortController()
  const counted = asker.ask({ kind: 'count' }, { signal })
  t.equal(getEventListeners(signal, 'abort').length, 1)
  asker.receive({ kind: 'counted', requestId: 1 })
  await counted
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

t.test('a deadline ends the wait and reports the id; a reply in time stops the clock', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { asker } = createScales()
  const abandoned: number[] = []
  const options = { timeoutMs: 1000, onAbandoned: (requestId: number) => abandoned.push(requestId) }
  const late = asker.ask({ kind: 'count' }, options)
  const early = asker.ask({ kind: 'count' }, options)
  mock.timers.tick(999)
  asker.receive({ kind: 'counted', requestId: 2 })
  mock.timers.tick(1)
  t.same(await late, { kind: 'unanswered', reason: 'timeout' })
  t.match(await early, { kind: 'counted' })
  t.same(abandoned, [1])
})

t.test('a closed channel ends every wait, and each later one at once without a message', async t => {
  const { sent, asker } = createScales()
  const abandoned: number[] = []
  const waits = [1, 2].map(() => asker.ask({ kind: 'count' }, { onAbandoned: id => abandoned.push(id) }))
  asker.close()
  for (const wait of waits) t.same(await wait, { kind: 'unanswered', reason: 'closed' })
  t.same(abandoned, [], 'there is no other end to report to')
  t.match(await asker.ask({ kind: 'count' }), { reason: 'closed' })
  t.equal(sent.length, 2)
})
