// Decides on leases of the limits of keys, and takes back what was not used (keys.md 2 and 3). It has no timers: who asks passes in how
// long a question may wait.
import type { KeySet } from '../../shared/keys/key-set.ts'
import {
  type KeyUsage,
  LEASE_AGE_MAX_MS,
  type LeaseAmounts,
  type LeaseRefusal,
  type Meters,
  type Settlement
} from '../../shared/limits/leases.ts'
import type { Budget } from './budget.ts'
import type { CountedLimit } from './counted-limit.ts'
import { createKeyLimits, type KeyLimits } from './key-limits.ts'
import { createLastGrants } from './last-grants.ts'
import { listUsage } from './usage.ts'

/** Requests that a lease holds beyond the asked ones where no limit counts them: a key with a budget alone. */
const UNCOUNTED_BATCH = 20

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
}

export interface DecideOptions {
  /** The lease holds what was asked for and no more: others wait for the same limits. */
  readonly isExact: boolean
  /** The question waits no longer, whatever workers may still give back. */
  readonly mustAnswer: boolean
  /** Limits that earlier questions wait for. */
  readonly blocked: ReadonlySet<CountedLimit>
}

export type Decision =
  | { readonly kind: 'granted'; readonly amounts: LeaseAmounts; readonly grantedAtMs: number; readonly meters: Meters }
  | { readonly kind: 'refused'; readonly refusal: LeaseRefusal; readonly meters: Meters }
  /** Workers may give back enough until then. */
  | { readonly kind: 'waiting'; readonly untilMs: number; readonly limits: readonly CountedLimit[] }

export interface Ledger {
  /** Questions of different domains do not depend on each other; undefined for a key without limits. */
  domainOf(key: string): string | undefined
  decide(request: LeaseRequest, options: DecideOptions): Decision
  settle(owner: number, settlement: Settlement): void
  /** Takes back what a worker process that has exited held. */
  releaseOwner(owner: number): void
  replaceKeys(keys: KeySet): void
  usage(): KeyUsage[]
}

interface Shortage {
  readonly limit: CountedLimit
  readonly retryAfterMs: number
  readonly returnsUntilMs: number | undefined
}

export function createLedger(
  { clock }: { clock: LedgerClock },
  { keys, workers }: { keys: KeySet | undefined; workers: number }
): Ledger {
  const table = createKeyLimits(keys, Number.NEGATIVE_INFINITY)
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
    const extra = isAlone ? NOTHING : readExtra(amounts, { held, workers, nowMs })
    for (const limit of held.counted) {
      const more = extra[limit.amountName]
      limit.take({ owner, amount: amounts[limit.amountName] + more, extra: more, nowMs })
    }
    lastGrants.remember({ owner, key, grantedAtMs: nowMs, extra })
    return { kind: 'granted', amounts: addAmounts(amounts, extra), grantedAtMs: nowMs, meters: readMeters(held, nowMs) }
  }

  return {
    domainOf: key => table.find(key)?.domain,
    decide(request, { isExact, mustAnswer, blocked }) {
      const nowMs = clock.nowMs()
      const held = table.find(request.key)
      if (held === undefined) return { kind: 'granted', amounts: request.amounts, grantedAtMs: nowMs, meters: {} }
      const exhausted = findExhausted(held.budgets, clock.epochMs())
      if (exhausted !== undefined) return { kind: 'refused', refusal: exhausted, meters: readMeters(held, nowMs) }
      const amounts = boundAmounts(request.amounts, held.counted)
      const needed = held.counted.filter(({ amountName }) => amounts[amountName] > 0)
      const isBehind = needed.some(limit => blocked.has(limit))
      if (isBehind && !mustAnswer) return { kind: 'waiting', untilMs: Number.POSITIVE_INFINITY, limits: [] }
      const shortages = listShortages(needed, { amounts, blocked, nowMs })
      const worst = shortages.reduce<Shortage | undefined>(worseOf, undefined)
      if (worst === undefined) return grant({ ...request, amounts }, held, isExact)
      if (!mustAnswer && shortages.every(({ returnsUntilMs }) => returnsUntilMs !== undefined)) {
        const untilMs = Math.max(...shortages.map(({ returnsUntilMs }) => returnsUntilMs ?? nowMs))
        return { kind: 'waiting', untilMs, limits: shortages.map(({ limit }) => limit) }
      }
      const { limit, retryAfterMs } = worst
      const refusal = { limit: limit.name, holder: limit.holder, retryAfterMs }
      return { kind: 'refused', refusal, meters: readMeters(held, nowMs) }
    },
    settle(owner, settlement) {
      const { key, grantedAtMs, unusedRequests, unusedTokens, freedSlots, costNanos } = settlement
      const held = table.findAt(key, grantedAtMs)
      if (held === undefined) return
      lastGrants.reduce(owner, settlement)
      const unused = { requests: unusedRequests, tokens: Math.max(0, unusedTokens), slots: freedSlots }
      const overrun = Math.max(0, -unusedTokens)
      for (const limit of held.counted) {
        const amount = unused[limit.amountName]
        if (amount > 0) limit.giveBack({ owner, amount, grantedAtMs })
        if (overrun > 0 && limit.amountName === 'tokens') limit.overrun(overrun, clock.nowMs())
      }
      if (costNanos === 0) return
      for (const budget of held.budgets) budget.spend(costNanos, clock.epochMs())
    },
    releaseOwner(owner) {
      const nowMs = clock.nowMs()
      for (const limit of table.counted()) limit.releaseOwner(owner)
      for (const { key, grantedAtMs, extra } of lastGrants.takeAll(owner, nowMs)) {
        for (const limit of table.findAt(key, grantedAtMs)?.counted ?? []) {
          // The slots are free already.
          if (limit.amountName !== 'slots') limit.giveBack({ owner, amount: extra[limit.amountName], grantedAtMs })
        }
      }
    },
    replaceKeys(next) {
      // What was granted until now belongs to the earlier limits, also within one reading of the clock.
      table.replace(next, Math.max(clock.nowMs(), nextAfter(lastGrantMs)))
      for (const key of lastUsed.keys()) if (table.find(key) === undefined) lastUsed.delete(key)
    },
    usage: () =>
      listUsage(table.list(), { nowMs: clock.nowMs(), epochMs: clock.epochMs(), lastUsed: key => lastUsed.get(key) })
  }
}

const NOTHING: LeaseAmounts = { requests: 0, tokens: 0, slots: 0 }

/** A moment after this one that a clock of microseconds does not read. */
function nextAfter(nowMs: number): number {
  return nowMs + 1e-4
}

/** An estimate above a whole limit takes the whole limit, so that it is admitted once the window is empty. */
function boundAmounts(amounts: LeaseAmounts, counted: readonly CountedLimit[]): LeaseAmounts {
  const bounded = { ...amounts }
  for (const { amountName, limit } of counted) bounded[amountName] = Math.min(bounded[amountName], limit)
  return bounded
}

function addAmounts(left: LeaseAmounts, right: LeaseAmounts): LeaseAmounts {
  return {
    requests: left.requests + right.requests,
    tokens: left.tokens + right.tokens,
    slots: left.slots + right.slots
  }
}

/** What a lease may hold beyond what was asked for: of each amount as much as the tightest limit allows. */
function readExtra(
  amounts: LeaseAmounts,
  { held, workers, nowMs }: { held: KeyLimits; workers: number; nowMs: number }
): LeaseAmounts {
  const extra = { ...NOTHING }
  const counted = new Set<keyof LeaseAmounts>()
  for (const limit of held.counted) {
    const { amountName } = limit
    if (amounts[amountName] === 0) continue
    const batch = limit.batch(amounts[amountName], { workers, nowMs })
    extra[amountName] = counted.has(amountName) ? Math.min(extra[amountName], batch) : batch
    counted.add(amountName)
  }
  // One amount without a rest makes the worker ask for each request: then the rest of the others would only be held.
  if ([...counted].some(name => extra[name] === 0)) return NOTHING
  if (amounts.requests > 0 && !counted.has('requests')) extra.requests = UNCOUNTED_BATCH
  return extra
}

/** Limits that lack what is needed, or have earlier questions that wait for them. */
function listShortages(
  limits: readonly CountedLimit[],
  { amounts, blocked, nowMs }: { amounts: LeaseAmounts; blocked: DecideOptions['blocked']; nowMs: number }
): Shortage[] {
  return limits.flatMap((limit): Shortage[] => {
    const availability = limit.check(amounts[limit.amountName], nowMs)
    if (availability.kind === 'short') return [{ limit, ...availability }]
    return blocked.has(limit) ? [{ limit, retryAfterMs: LEASE_AGE_MAX_MS, returnsUntilMs: undefined }] : []
  })
}

function worseOf(worst: Shortage | undefined, shortage: Shortage): Shortage {
  return worst === undefined || shortage.retryAfterMs > worst.retryAfterMs ? shortage : worst
}

/** The exhausted budget that ends last. */
function findExhausted(budgets: readonly Budget[], epochMs: number): LeaseRefusal | undefined {
  let worst: LeaseRefusal | undefined
  for (const budget of budgets) {
    if (!budget.isExhausted(epochMs)) continue
    const { endsAtMs } = budget.period(epochMs)
    const retryAfterMs = endsAtMs === null ? null : Math.ceil(endsAtMs - epochMs)
    const isWorse =
      worst === undefined || retryAfterMs === null || (worst.retryAfterMs !== null && retryAfterMs > worst.retryAfterMs)
    if (isWorse) worst = { limit: 'budget', holder: budget.holder, retryAfterMs }
  }
  return worst
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
