// A place of shared counters in memory that answers as the scripts of Redis do (keys.md 3), for tests with their own clock.
import type { CounterAnswer, CounterQuestion, SharedCounters } from '../../shared/limits/shared-counters.ts'
import type { VirtualTime } from './virtual-time.ts'

const BUCKET_MS = 100
const WINDOW_MS = 60_000
const EXCHANGE_MS_MAX = 250

type Question<Kind extends CounterQuestion['kind']> = Extract<CounterQuestion, { kind: Kind }>

export interface SharedCountersDouble {
  /** The place as one host sees it. */
  connect(host: string): SharedCounters
  /** Milliseconds that an exchange takes. */
  latencyMs: number
  /** Exchanges get no answer: `lost` ones are carried out all the same. */
  outage: 'none' | 'down' | 'lost'
  /** Of all hosts. */
  readonly exchanges: ReadonlyArray<{ readonly host: string; readonly questions: readonly CounterQuestion[] }>
  spent(counter: string, period: string): number
}

export function createSharedCountersDouble(time: VirtualTime): SharedCountersDouble {
  /** Amounts by bucket, by counter. */
  const windows = new Map<string, Map<number, number>>()
  /** Slots by host, by counter. */
  const slots = new Map<string, Map<string, number>>()
  const spends = new Map<string, number>()
  const carriedOut = new Set<string>()
  const exchanges: Array<{ host: string; questions: readonly CounterQuestion[] }> = []

  function answerWindow({ counter, limit, take, givenBack }: Question<'window'>): CounterAnswer {
    const now = time.nowMs
    const current = Math.floor(now / BUCKET_MS)
    const first = Math.floor((now - WINDOW_MS) / BUCKET_MS)
    const buckets = windows.get(counter) ?? new Map<number, number>()
    windows.set(counter, buckets)
    for (const bucket of buckets.keys()) if (bucket < first) buckets.delete(bucket)
    for (const { amount, ageMs } of givenBack) {
      const bucket = Math.floor((now - ageMs) / BUCKET_MS)
      if (bucket < first) continue
      if (amount < 0) buckets.set(bucket, (buckets.get(bucket) ?? 0) - amount)
      else free(buckets, { amount, bucket, first, current })
    }
    const used = [...buckets.values()].reduce((sum, amount) => sum + amount, 0)
    const granted = Math.max(0, Math.min(take, limit - used))
    const leftAt = (bucket: number) => Math.max(0, (bucket + 1) * BUCKET_MS + WINDOW_MS - now)
    const sorted = [...buckets].filter(([, amount]) => amount > 0).sort(([left], [right]) => left - right)
    let retryAfterMs = 0
    let rest = used
    for (const [bucket, amount] of granted < take ? sorted : []) {
      rest -= amount
      retryAfterMs = leftAt(bucket)
      if (rest + take <= limit) break
    }
    if (granted > 0) buckets.set(current, (buckets.get(current) ?? 0) + granted)
    const newest = granted > 0 ? current : sorted.at(-1)?.[0]
    const resetMs = newest === undefined ? 0 : leftAt(newest)
    return { kind: 'window', granted, remaining: Math.max(0, limit - used - granted), retryAfterMs, resetMs }
  }

  function answerSlots(host: string, { counter, limit, hold }: Question<'slots'>): CounterAnswer {
    const byHost = slots.get(counter) ?? new Map<string, number>()
    slots.set(counter, byHost)
    const mine = byHost.get(host) ?? 0
    const others = [...byHost.values()].reduce((sum, amount) => sum + amount, 0) - mine
    const held = Math.max(0, Math.min(hold, mine), Math.min(hold, limit - others))
    byHost.set(host, held)
    return { kind: 'slots', held, remaining: Math.max(0, limit - others - held) }
  }

  function answerSpend({ counter, period, addNanos }: Question<'spend'>, isRepeated: boolean): CounterAnswer {
    const id = `${counter} ${period}`
    const spentNanos = (spends.get(id) ?? 0) + (isRepeated ? 0 : addNanos)
    spends.set(id, spentNanos)
    return { kind: 'spend', spentNanos }
  }

  const double: SharedCountersDouble = {
    latencyMs: 1,
    outage: 'none',
    exchanges,
    spent: (counter, period) => spends.get(`${counter} ${period}`) ?? 0,
    connect: host => ({
      async exchange(exchangeId, questions) {
        exchanges.push({ host, questions })
        const { outage, latencyMs } = double
        const isLate = latencyMs > EXCHANGE_MS_MAX
        await time.sleep(Math.min(latencyMs, EXCHANGE_MS_MAX))
        if (outage === 'down') return undefined
        const id = `${host} ${exchangeId}`
        const isRepeated = carriedOut.has(id)
        carriedOut.add(id)
        const answers = questions.map(question => {
          if (question.kind === 'window') return answerWindow(question)
          return question.kind === 'slots' ? answerSlots(host, question) : answerSpend(question, isRepeated)
        })
        return outage === 'lost' || isLate ? undefined : answers
      }
    })
  }
  return double
}

/** Takes an amount back, from the right bucket first: the age may be of a moment later or earlier. */
function free(
  buckets: Map<number, number>,
  { amount, bucket, first, current }: { amount: number; bucket: number; first: number; current: number }
): void {
  let left = amount
  const take = (candidate: number) => {
    const freed = Math.min(buckets.get(candidate) ?? 0, left)
    if (freed > 0) buckets.set(candidate, (buckets.get(candidate) ?? 0) - freed)
    left -= freed
  }
  for (let candidate = Math.max(first, bucket - 1); candidate <= current && left > 0; candidate += 1) take(candidate)
  for (let candidate = bucket - 2; candidate >= first && left > 0; candidate -= 1) take(candidate)
}
