import { pino } from 'pino'
import t from 'tap'
import { handleMessage } from '../../../shared/ipc/handlers.ts'
import {
  createMessage,
  type SupervisorMessageContent,
  type WorkerMessageContent
} from '../../../shared/ipc/messages.ts'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import type { LeaseAmounts } from '../../../shared/limits/leases.ts'
import { createLimitsService } from '../../../supervisor/limits/limits-service.ts'
import { keySetOf } from '../../support/limit-keys.ts'
import { createVirtualTime } from '../../support/virtual-time.ts'

type LimitsContent = Extract<
  WorkerMessageContent,
  { kind: 'limits-lease' | 'limits-lease-cancelled' | 'limits-settle' | 'keys-usage' }
>

function openBroker(keys: KeySet, workers = 1) {
  const time = createVirtualTime()
  const sent: Array<SupervisorMessageContent & { owner: number }> = []
  const service = createLimitsService(
    {
      log: pino({ enabled: false }),
      place: undefined,
      clock: { nowMs: () => time.nowMs, epochMs: () => time.nowMs },
      timers: time,
      send: (owner, message) => sent.push({ ...message, owner })
    },
    { keys, workers, countsAll: false, onOutage: 'local' }
  )
  let lastRequestId = 0
  const post = (owner: number, message: LimitsContent) =>
    handleMessage(service.handlers, createMessage(message), { owner })
  return {
    time,
    service,
    post,
    /** Asks, and returns the id of the question. */
    ask(owner: number, amounts: Partial<LeaseAmounts>, key = 'ci') {
      lastRequestId += 1
      const all = { requests: 0, tokens: 0, slots: 0, ...amounts }
      post(owner, { kind: 'limits-lease', requestId: lastRequestId, key, amounts: all })
      return lastRequestId
    },
    settle(owner: number, settlement: { freedSlots?: number; unusedRequests?: number; grantedAtMs: number }) {
      const rest = { key: 'ci', unusedRequests: 0, unusedTokens: 0, freedSlots: 0, costNanos: 0 }
      post(owner, { kind: 'limits-settle', settlements: [{ ...rest, ...settlement }] })
    },
    answerTo: (requestId: number) => sent.find(message => 'requestId' in message && message.requestId === requestId),
    used: () => service.usage()[0]?.limits[0]?.usedAmount
  }
}

t.test('questions for the same limit are answered in their order, and the others do not wait for them', async t => {
  const keys = keySetOf({ ci: { requestsPerMinute: 40 }, web: { requestsPerMinute: 40 } })
  const { time, ask, settle, answerTo } = openBroker(keys)
  t.match(answerTo(ask(1, { requests: 1 })), { kind: 'limits-granted', amounts: { requests: 3 } })
  t.match(answerTo(ask(2, { requests: 36 })), { kind: 'limits-granted' })
  const large = ask(3, { requests: 3 })
  const small = ask(4, { requests: 1 })
  t.match(answerTo(ask(4, { requests: 1 }, 'web')), { kind: 'limits-granted' })
  t.equal(answerTo(large), undefined)
  t.equal(answerTo(small), undefined, 'one is left, and an earlier question wants it')
  settle(1, { unusedRequests: 2, grantedAtMs: 0 })
  t.match(answerTo(large), { kind: 'limits-granted', amounts: { requests: 3 } })
  await time.advance(200)
  t.match(answerTo(small), { kind: 'limits-refused', refusal: { limit: 'requests_per_minute' } })
})

t.test('a question waits no longer than unused leases live', async t => {
  const { time, ask, answerTo } = openBroker(keySetOf({ ci: { concurrentRequests: 20 } }))
  ask(1, { slots: 1 })
  ask(2, { slots: 18 })
  const waiting = ask(3, { slots: 1 })
  await time.advance(199)
  t.equal(answerTo(waiting), undefined)
  await time.advance(2)
  t.match(answerTo(waiting), { kind: 'limits-refused', refusal: { retryAfterMs: 1000 } })
})

t.test('a worker that asks again has given its lease back, so no question waits for it', async t => {
  const { ask, answerTo } = openBroker(keySetOf({ ci: { requestsPerMinute: 20 } }))
  t.match(answerTo(ask(1, { requests: 1 })), { amounts: { requests: 2 } })
  t.match(answerTo(ask(1, { requests: 18 })), { kind: 'limits-granted' })
  t.match(answerTo(ask(2, { requests: 1 })), { kind: 'limits-refused' })
})

t.test('a cancel takes a question out of its queue, and gives a grant back that it has crossed', async t => {
  const { time, ask, post, answerTo, used } = openBroker(keySetOf({ ci: { requestsPerMinute: 40 } }))
  const granted = ask(1, { requests: 1 })
  t.equal(used(), 3)
  post(1, { kind: 'limits-lease-cancelled', requestId: granted })
  t.equal(used(), 0)
  post(1, { kind: 'limits-lease-cancelled', requestId: granted })
  t.equal(used(), 0, 'once')
  ask(1, { requests: 1 })
  ask(2, { requests: 37 })
  const waiting = ask(3, { requests: 1 })
  post(3, { kind: 'limits-lease-cancelled', requestId: waiting })
  await time.advance(1_000)
  t.equal(answerTo(waiting), undefined)
})

t.test('keys 9: a worker that dies leaves its questions, and frees its slots for those that wait', async t => {
  const { service, time, ask, answerTo, used } = openBroker(keySetOf({ ci: { concurrentRequests: 20 } }))
  ask(1, { slots: 1 })
  ask(2, { slots: 18 })
  const [left, waiting] = [ask(3, { slots: 1 }), ask(4, { slots: 2 })]
  service.releaseOwner(3)
  service.releaseOwner(2)
  t.match(answerTo(waiting), { kind: 'limits-granted' })
  t.equal(answerTo(left), undefined)
  await time.advance(1_000)
  t.equal(used(), 4)
})

t.test('a reload answers waiting questions under the limits of then', async t => {
  const { service, ask, answerTo } = openBroker(
    keySetOf({ ci: { requestsPerMinute: 20 }, web: { requestsPerMinute: 20 } })
  )
  ask(1, { requests: 1 })
  ask(2, { requests: 18 })
  const waiting = ask(3, { requests: 5 })
  t.equal(answerTo(waiting), undefined)
  service.replaceKeys(keySetOf({ ci: { requestsPerMinute: 30 } }))
  t.match(answerTo(waiting), { kind: 'limits-granted' })
})

t.test('what keys use is answered to a worker', async t => {
  const { ask, post, answerTo } = openBroker(keySetOf({ ci: { concurrentRequests: 2 }, free: {} }))
  ask(1, { slots: 1 })
  post(1, { kind: 'keys-usage', requestId: 99 })
  t.match(answerTo(99), { kind: 'keys-usage-listed', owner: 1, usages: [{ key: 'ci', limits: [{ usedAmount: 1 }] }] })
})

t.test('so many questions wait and no more: a further one is answered at once', async t => {
  const { ask, answerTo } = openBroker(keySetOf({ ci: { concurrentRequests: 20 } }))
  ask(1, { slots: 1 })
  ask(2, { slots: 18 })
  const waiting = Array.from({ length: 1_000 }, (_, index) => ask(3 + index, { slots: 1 }))
  t.ok(waiting.every(requestId => answerTo(requestId) === undefined))
  t.match(answerTo(ask(2_000, { slots: 1 })), { kind: 'limits-refused' })
})
