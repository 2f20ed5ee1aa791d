// A limit of running requests that hosts share (keys.md 3): this host holds slots at the place, and its workers hold those.
import { LEASE_AGE_MAX_MS } from '../../../shared/limits/leases.ts'
import { type CountedLimit, type CountedLimitOptions, SLOT_RETRY_MS, shortage } from '../counted-limit.ts'
import { createSlotLimit } from '../slot-limit.ts'
import type { ExchangeMember } from './exchanges.ts'
import { batchFromPlace, createSharedLimit, type SharedLimitDependencies } from './shared-limit.ts'
import { createWants } from './wants.ts'

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

  const member: ExchangeMember = {
    ask(nowMs) {
      const { sum: wanted, upToId } = wants.begin()
      sentUpToId = upToId
      const extra = wanted > 0 ? batchFromPlace(local, remaining - wanted) : 0
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

  return createSharedLimit(local, outage, {
    free: () => held - leased(),
    check({ amount, nowMs, mustAnswer, questionId }) {
      if (mustAnswer || (answeredUpToId ?? 0) >= questionId)
        return shortage(SLOT_RETRY_MS, local.expectedUntilMs(nowMs))
      wants.add(questionId, amount)
      exchanges.request(member)
      return { kind: 'asking' }
    },
    take: local.take,
    giveBack(returned) {
      local.giveBack(returned)
      exchanges.watch(member)
    },
    overrun: local.overrun,
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
  })
}
