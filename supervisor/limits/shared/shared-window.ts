// A limit per minute that hosts share (keys.md 3): this host takes leases from the place, and grants its workers theirs from those.
import { LEASE_AGE_MAX_MS, type Meter } from '../../../shared/limits/leases.ts'
import type { CounterAnswer, CounterQuestion } from '../../../shared/limits/shared-counters.ts'
import { type CountedLimit, type CountedLimitOptions, type Shortage, shortage } from '../counted-limit.ts'
import { createWindowLimit } from '../window-limit.ts'
import { createDatedAmounts } from './dated-amounts.ts'
import type { ExchangeMember } from './exchanges.ts'
import { createLeasePool } from './lease-pool.ts'
import { batchFromPlace, createSharedLimit, type SharedLimitDependencies } from './shared-limit.ts'
import { createWants } from './wants.ts'

type WindowAnswer = Extract<CounterAnswer, { kind: 'window' }>

interface LastAnswer extends WindowAnswer {
  readonly take: number
  readonly sentAtMs: number
  /** Questions up to this one had come before. */
  readonly upToId: number
}

export function createSharedWindow(
  options: CountedLimitOptions,
  { exchanges, outage }: SharedLimitDependencies
): CountedLimit {
  /** What this host has granted: it counts in an outage. */
  const local = createWindowLimit(options)
  const pool = createLeasePool()
  const wants = createWants()
  const givenBack = createDatedAmounts()
  /** Used beyond what was taken from the place: overruns, and what was granted in an outage. */
  const usedBeyond = createDatedAmounts()
  let sent: Pick<LastAnswer, 'take' | 'sentAtMs' | 'upToId'> | undefined
  let last: LastAnswer | undefined

  const isShort = ({ granted, take }: LastAnswer) => granted < take
  const describeShortage = (nowMs: number, retryAfterMs: number): Shortage =>
    shortage(Math.max(1, retryAfterMs), local.expectedUntilMs(nowMs))

  const member: ExchangeMember = {
    ask(nowMs) {
      pool.expire(nowMs, givenBack)
      const { sum: wanted, upToId } = wants.begin()
      const extra =
        wanted > 0 && last !== undefined && !isShort(last) ? batchFromPlace(local, last.remaining - wanted) : 0
      const back = givenBack.takeAll(nowMs)
      const used = usedBeyond.takeAll(nowMs).map(({ amount, ageMs }) => ({ amount: -amount, ageMs }))
      if (wanted === 0 && back.length === 0 && used.length === 0) return undefined
      sent = { take: wanted + extra, sentAtMs: nowMs, upToId }
      return createQuestion(sent.take, [...back, ...used])
    },
    answer(answer) {
      wants.end()
      if (answer?.kind === 'window' && sent !== undefined) {
        last = { ...answer, ...sent }
        pool.add(answer.granted, sent.sentAtMs)
        exchanges.watch(member)
      }
      sent = undefined
    },
    probe: () => createQuestion(0, []),
    sweep(nowMs) {
      if (outage.isOut) return false
      pool.expire(nowMs, givenBack)
      if (!givenBack.isEmpty || !usedBeyond.isEmpty) exchanges.request(member)
      return pool.amount > 0
    }
  }
  outage.onOver(() => {
    wants.clear()
    pool.clear(givenBack)
    exchanges.watch(member)
  })

  function createQuestion(
    take: number,
    amounts: Extract<CounterQuestion, { kind: 'window' }>['givenBack']
  ): CounterQuestion {
    return { kind: 'window', counter: options.id, limit: local.limit, take, givenBack: amounts }
  }

  return createSharedLimit(local, outage, {
    free: () => pool.amount,
    check({ amount, nowMs, mustAnswer, questionId }) {
      const answer = last !== undefined && last.upToId >= questionId && isShort(last) ? last : undefined
      if (answer !== undefined && amount >= answer.take) return describeShortage(nowMs, answer.retryAfterMs)
      if (mustAnswer) return describeShortage(nowMs, last?.retryAfterMs ?? LEASE_AGE_MAX_MS)
      // After a short answer each question is asked for alone, so that its time to wait is exact.
      if (answer === undefined || wants.isEmpty) wants.add(questionId, amount)
      exchanges.request(member)
      return { kind: 'asking' }
    },
    take(grant) {
      local.take(grant)
      if (outage.isOut) usedBeyond.add(grant.amount, grant.nowMs)
      else pool.take(grant.amount)
    },
    giveBack(returned) {
      const { amount, grantedAtMs, nowMs } = returned
      local.giveBack(returned)
      if (outage.isOut && grantedAtMs >= outage.sinceMs) usedBeyond.remove(amount, grantedAtMs)
      else if (!outage.isOut && nowMs - grantedAtMs < LEASE_AGE_MAX_MS) pool.add(amount, grantedAtMs)
      else givenBack.add(amount, grantedAtMs)
      exchanges.watch(member)
    },
    overrun(amount, nowMs) {
      local.overrun(amount, nowMs)
      usedBeyond.add(amount, nowMs)
      exchanges.watch(member)
    },
    releaseOwner: local.releaseOwner,
    used(nowMs) {
      const meter = readMeter(nowMs)
      return outage.isOut ? local.used(nowMs) : Math.max(0, local.limit - meter.remaining)
    },
    meter: nowMs => (outage.isOut ? local.meter(nowMs) : readMeter(nowMs))
  })

  /** As of the last answer, with what this host holds and has not granted. */
  function readMeter(nowMs: number): Meter {
    if (last === undefined) return local.meter(nowMs)
    const resetMs = Math.max(0, Math.ceil(last.sentAtMs + last.resetMs - nowMs))
    const remaining = resetMs === 0 ? local.limit : Math.min(local.limit, last.remaining + pool.amount)
    return { limit: local.limit, remaining, resetMs }
  }
}
