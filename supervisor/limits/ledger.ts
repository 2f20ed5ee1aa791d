// Decides on leases of the limits of keys, and takes back what was not used (keys.md 2 and 3). It has no timers: the
// lease broker decides how long a question waits.
import type { KeySet } from '../../shared/keys/key-set.ts'
import { addAmounts, NO_AMOUNTS } from '../../shared/limits/amounts.ts'
import {
  type KeyUsage,
  LEASE_AGE_MAX_MS,
  type LeaseAmounts,
  type LeaseRefusal,
  type Meters,
  type Settlement
} from '../../shared/limits/leases.ts'
import type { Budget } from './budget.ts'
import { type CountedLimit, type Shortage, shortage } from './counted-limit.ts'
import { createKeyLimits, type KeyLimits, type LimitFactory } from './key-limits.ts'
import { createLastGrants } from './last-grants.ts'
import { listUsage } from './usage.ts'

export interface LedgerClock {
  /** Never goes back: of windows and grants. */
  nowMs(): number
  /** Milliseconds since the epoch: of periods. */
  epochMs(): number
}

export interface LeaseRequest {
  readonly owner: number
  readonly key: string
  readonly amounts: LeaseAmounts
  /** Later questions have higher ones. */
  readonly questionId: number
}

export interface DecideOptions {
  /** The lease holds what was asked for and no more: others wait for the same limits. */
  readonly isExact: boolean
  /** The question is answered now, also where workers may still give back what it needs. */
  readonly mustAnswer: boolean
  /** Limits that earlier questions wait for. */
  readonly blocked: ReadonlySet<CountedLimit>
}

export type Decision =
  | { readonly kind: 'granted'; readonly amounts: LeaseAmounts; readonly grantedAtMs: number; readonly meters: Meters }
  | { readonly kind: 'refused'; readonly refusal: LeaseRefusal; readonly meters: Meters }
  | { readonly kind: 'unavailable' }
  /** Workers may give back enough until then, or a shared place is being asked. */
  | { readonly kind: 'waiting'; readonly untilMs: number; readonly limits: readonly CountedLimit[] }

export interface Ledger {
  /** Questions of different domains do not depend on each other; undefined for a key without limits. */
  domainOf(key: string): string | undefined
  /** A worker asks for a key: what it held before is used up, or given back. */
  forgetLease(owner: number, key: string): void
  decide(request: LeaseRequest, options: DecideOptions): Decision
  settle(owner: number, settlement: Settlement): void
  /** Takes back what a worker process that has exited held. */
  releaseOwner(owner: number): void
  replaceKeys(keys: KeySet): void
  usage(): KeyUsage[]
  /** Whether a shared place is being asked what was spent of a budget: before that, `usage` has it as it was last read. */
  isReadingSpend(): boolean
}

export interface LedgerOptions {
  readonly keys: KeySet | undefined
  readonly workers: number
}

interface LimitShortage extends Shortage {
  readonly limit: CountedLimit
}

export function createLedger(
  { clock, factory }: { clock: LedgerClock; factory: LimitFactory },
  { keys, workers }: LedgerOptions
): Ledger {
  const table = createKeyLimits(factory, { keys, nowMs: Number.NEGATIVE_INFINITY })
  const lastGrants = createLastGrants()
  /** Of keys with limits, in milliseconds since the epoch. */
  const lastUsed = new Map<string, number>()
  let lastGrantMs = Number.NEGATIVE_INFINITY

  function grant({ owner, key, amounts }: LeaseRequest, held: KeyLimits, isExact: boolean): Decision {
    const nowMs = clock.nowMs()
    const epochMs = clock.epochMs()
    lastUsed.set(key, epochMs)
    lastGrantMs = nowMs
    const isAlone = isExact || held.budgets.some(budget => budget.isNearEnd(epochMs))
    const extra = isAlone ? NO_AMOUNTS : readExtra(amounts, { held, workers, nowMs })
    for (const limit of held.counted) {
      const more = extra[limit.amountName]
      limit.take({ owner, key, amount: amounts[limit.amountName] + more, extra: more, nowMs })
    }
    lastGrants.remember({ owner, key, grantedAtMs: nowMs, extra })
    return { kind: 'granted', amounts: addAmounts(amounts, extra), grantedAtMs: nowMs, meters: readMeters(held, nowMs) }
  }

  function refuse(refusal: LeaseRefusal, held: KeyLimits): Decision {
    return { kind: 'refused', refusal, meters: readMeters(held, clock.nowMs()) }
  }

  /** Undefined where all budgets have something left. */
  function decideBudgets(held: KeyLimits, mustAnswer: boolean): Decision | undefined {
    if (held.budgets.length === 0) return undefined
    const want = { epochMs: clock.epochMs(), nowMs: clock.nowMs(), mustAnswer }
    const states = held.budgets.map(budget => ({ budget, state: budget.check(want) }))
    const exhausted = states.flatMap(({ budget, state }) =>
      state === 'exhausted' ? [describeExhausted(budget, want.epochMs)] : []
    )
    const longest = findLongest(exhausted)
    if (longest !== undefined) return refuse(longest, held)
    if (states.some(({ state }) => state === 'unavailable')) return { kind: 'unavailable' }
    return states.some(({ state }) => state === 'asking') ? WAITING : undefined
  }

  return {
    domainOf: key => table.find(key)?.domain,
    forgetLease(owner, key) {
      for (const limit of table.find(key)?.counted ?? []) limit.forgetLease({ owner, key })
    },
    decide(request, { isExact, mustAnswer, blocked }) {
      const { amounts, questionId } = request
      const nowMs = clock.nowMs()
      const held = table.find(request.key)
      if (held === undefined) return { kind: 'granted', amounts, grantedAtMs: nowMs, meters: {} }
      const budgets = decideBudgets(held, mustAnswer)
      if (budgets !== undefined) return budgets
      const needed = held.counted.filter(({ amountName }) => amounts[amountName] > 0)
      if (!mustAnswer && needed.some(limit => blocked.has(limit))) return WAITING
      const shortages: LimitShortage[] = []
      const asking: CountedLimit[] = []
      for (const limit of needed) {
        const state = limit.check({ amount: amounts[limit.amountName], nowMs, questionId, mustAnswer })
        if (state.kind === 'unavailable') return state
        if (state.kind === 'asking') asking.push(limit)
        else if (state.kind === 'short') shortages.push({ limit, ...state })
        // Earlier questions take it first.
        else if (blocked.has(limit)) shortages.push({ limit, ...BEHIND_OTHERS })
      }
      const worst = findLongest(shortages)
      const mayFit = !mustAnswer && shortages.every(({ returnsUntilMs }) => returnsUntilMs !== undefined)
      if (worst !== undefined && !mayFit) {
        const { limit, retryAfterMs } = worst
        return refuse({ limit: limit.name, holder: limit.holder, retryAfterMs }, held)
      }
      if (worst === undefined && asking.length === 0) return grant(request, held, isExact)
      const untilMs = Math.max(...shortages.map(({ returnsUntilMs }) => returnsUntilMs ?? nowMs))
      return {
        kind: 'waiting',
        untilMs: shortages.length > 0 ? untilMs : Number.POSITIVE_INFINITY,
        limits: [...asking, ...shortages.map(({ limit }) => limit)]
      }
    },
    settle(owner, settlement) {
      const { key, grantedAtMs, unusedRequests, unusedTokens, freedSlots, costNanos } = settlement
      const held = table.findAt(key, grantedAtMs)
      if (held === undefined) return
      lastGrants.reduce(owner, settlement)
      const nowMs = clock.nowMs()
      const unused = { requests: unusedRequests, tokens: Math.max(0, unusedTokens), slots: freedSlots }
      const overrun = Math.max(0, -unusedTokens)
      for (const limit of held.counted) {
        const amount = unused[limit.amountName]
        if (amount > 0) limit.giveBack({ owner, amount, grantedAtMs, nowMs })
        if (overrun > 0 && limit.amountName === 'tokens') limit.overrun(overrun, nowMs)
      }
      if (costNanos === 0) return
      for (const budget of held.budgets) budget.spend(costNanos, clock.epochMs())
    },
    releaseOwner(owner) {
      const nowMs = clock.nowMs()
      for (const limit of table.counted()) limit.releaseOwner(owner, nowMs)
      for (const { key, grantedAtMs, extra } of lastGrants.takeAll(owner, nowMs)) {
        for (const limit of table.findAt(key, grantedAtMs)?.counted ?? []) {
          limit.forgetLease({ owner, key })
          const amount = extra[limit.amountName]
          // The slots are free already.
          if (limit.amountName !== 'slots' && amount > 0) limit.giveBack({ owner, amount, grantedAtMs, nowMs })
        }
      }
    },
    replaceKeys(next) {
      // What was granted until now belongs to the earlier limits, also within one reading of the clock.
      table.replace(next, Math.max(clock.nowMs(), nextAfter(lastGrantMs)))
      for (const key of lastUsed.keys()) if (table.find(key) === undefined) lastUsed.delete(key)
    },
    usage: () =>
      listUsage(table.list(), { nowMs: clock.nowMs(), epochMs: clock.epochMs(), lastUsed: key => lastUsed.get(key) }),
    isReadingSpend() {
      const want = { epochMs: clock.epochMs(), nowMs: clock.nowMs(), mustAnswer: false }
      const budgets = new Set(Array.from(table.list(), held => held.budgets).flat())
      // Every budget is checked, so that one exchange asks for all of them.
      return [...budgets].filter(budget => budget.check(want) === 'asking').length > 0
    }
  }
}

const BEHIND_OTHERS = shortage(LEASE_AGE_MAX_MS)
/** For earlier questions, or for the shared place. */
const WAITING: Decision = { kind: 'waiting', untilMs: Number.POSITIVE_INFINITY, limits: [] }

/** A moment after this one that a clock of microseconds does not read. */
function nextAfter(nowMs: number): number {
  return nowMs + 1e-4
}

/** What a lease may hold beyond what was asked for: of each amount as much as the tightest limit allows. */
function readExtra(
  amounts: LeaseAmounts,
  { held, workers, nowMs }: { held: KeyLimits; workers: number; nowMs: number }
): LeaseAmounts {
  const extra = { ...NO_AMOUNTS }
  const counted = new Set<keyof LeaseAmounts>()
  for (const limit of held.counted) {
    const { amountName } = limit
    if (amounts[amountName] === 0) continue
    const batch = limit.batch(amounts[amountName], { workers, nowMs })
    extra[amountName] = counted.has(amountName) ? Math.min(extra[amountName], batch) : batch
    counted.add(amountName)
  }
  // One amount without a rest makes the worker ask for each request: then the rest of the others would only be held.
  return [...counted].some(name => extra[name] === 0) ? NO_AMOUNTS : extra
}

/** The one with the longest wait: all have to end. Undefined for none. */
function findLongest<Wait extends Pick<LeaseRefusal, 'retryAfterMs'>>(waits: readonly Wait[]): Wait | undefined {
  const lengthOf = ({ retryAfterMs }: Wait) => retryAfterMs ?? Number.POSITIVE_INFINITY
  let longest: Wait | undefined
  for (const wait of waits) if (longest === undefined || lengthOf(wait) > lengthOf(longest)) longest = wait
  return longest
}

function describeExhausted(budget: Budget, epochMs: number): LeaseRefusal {
  const { endsAtMs } = budget.period(epochMs)
  return {
    limit: 'budget',
    holder: budget.holder,
    retryAfterMs: endsAtMs === null ? null : Math.ceil(endsAtMs - epochMs)
  }
}

/** Of each window the tightest limit: the key's own or that of its group. */
function readMeters({ counted }: KeyLimits, nowMs: number): Meters {
  const meters: { -readonly [Name in keyof Meters]: Meters[Name] } = {}
  for (const limit of counted) {
    const { amountName } = limit
    if (amountName === 'slots') continue
    const meter = limit.meter(nowMs)
    const known = meters[amountName]
    if (known === undefined || meter.remaining < known.remaining) meters[amountName] = meter
  }
  return meters
}
