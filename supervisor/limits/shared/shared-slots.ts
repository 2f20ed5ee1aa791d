// A limit of running requests that hosts share (keys.md 3): this host holds slots at the place, and its workers hold those.
import { LEASE_AGE_MAX_MS } from '../../../shared/limits/leases.ts'
import { batchOf, type CountedLimit, type CountedLimitOptions, type Shortage, SLOT_RETRY_MS } from '../counted-limit.ts'
import { createSlotLimit } from '../slot-limit.ts'
import type { ExchangeMember } from './exchanges.ts'
import type { SharedLimitDependencies } from './shared-window.ts'
import { createWants } from './wants.ts'

/** As of windows: a lease holds an eighth of what remains at most. */
const SHARERS = 4

export function createSharedSlots(
  options: CountedLimitOptions,
  { exchanges, outage }: SharedLimitDependencies
): CountedLimit {
  const local = createSlotLimit(options)
  const wants = createWants()
  /** What the place has for this host. */
  let held = 0
  /** What the place was asked for last: it grants that later too, where it could not at once. */
  let asked = 0
  let remaining = 0
  let sentAtMs = Number.NEGATIVE_INFINITY
  /** Questions up to this one had come before the exchange that runs, and before the last one that was answered. */
  let sentUpToId = 0
  let answeredUpToId: number | undefined

  const leased = () => local.used(0)
  const describeShortage = (nowMs: number): Shortage => ({
    kind: 'short',
    retryAfterMs: SLOT_RETRY_MS,
    returnsUntilMs: local.expectedUntilMs(nowMs)
  })

  const member: ExchangeMember = {
    ask(nowMs) {
      const { sum: wanted, upToId } = wants.begin()
      sentUpToId = upToId
      const extra = wanted > 0 ? batchOf(local.limit, remaining - wanted, SHARERS) : 0
      asked = Math.min(local.limit, leased() + wanted + extra)
      sentAtMs = nowMs
      return createQuestion(asked)
    },
    answer(answer) {
      wants.end()
      if (answer?.kind === 'slots') {
        held = answer.held
        remaining = answer.remaining
        answeredUpToId = sentUpToId
      }
      exchanges.watch(member)
    },
    probe: () => createQuestion(leased()),
    sweep(nowMs) {
      if (outage.isOut) return false
      const isMore = Math.max(asked, held) > leased()
      if (isMore && nowMs - sentAtMs >= LEASE_AGE_MAX_MS) exchanges.request(member)
      return isMore
    }
  }
  outage.onOver(() => {
    wants.clear()
    asked = Number.POSITIVE_INFINITY
    exchanges.watch(member)
  })

  function createQuestion(hold: number) {
    return { kind: 'slots' as const, counter: options.id, limit: local.limit, hold }
  }

  return {
    name: local.name,
    holder: local.holder,
    amountName: local.amountName,
    get limit() {
      return local.limit
    },
    set limit(limit) {
      local.limit = limit
    },
    check(want) {
      const { amount, nowMs, mustAnswer, questionId } = want
      if (outage.isOut) return outage.mode === 'local' ? local.check(want) : { kind: 'unavailable' }
      if (amount > local.limit) return { kind: 'short', retryAfterMs: null, returnsUntilMs: undefined }
      if (leased() + amount <= held) return { kind: 'free' }
      if (mustAnswer || (answeredUpToId ?? 0) >= questionId) return describeShortage(nowMs)
      wants.add(questionId, amount)
      exchanges.request(member)
      return { kind: 'asking' }
    },
    batch(amount, { workers, nowMs }) {
      if (outage.isOut) return local.batch(amount, { workers, nowMs })
      return batchOf(local.limit, 2 * (held - leased() - amount), workers)
    },
    take: local.take,
    giveBack(returned) {
      local.giveBack(returned)
      exchanges.watch(member)
    },
    overrun: local.overrun,
    forgetLease: local.forgetLease,
    releaseOwner(owner, nowMs) {
      local.releaseOwner(owner, nowMs)
      exchanges.watch(member)
    },
    used() {
      if (outage.isOut || answeredUpToId === undefined) return leased()
      // What other hosts hold, and what runs here.
      return Math.max(0, local.limit - remaining - held) + leased()
    },
    meter: local.meter
  }
}
