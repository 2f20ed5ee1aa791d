// One limit of a key or of a group that requests take from: a window of a minute, or the slots of running requests (keys.md 2).
import { LEASE_AGE_MAX_MS, type LeaseAmounts, type LimitName, type Meter } from '../../shared/limits/leases.ts'
import { createSlidingWindow } from './sliding-window.ts'

/** A lease that is older has been given back, also by a worker whose timer was late and whose message was under way. */
const RETURN_WAIT_MS = 2 * LEASE_AGE_MAX_MS
const SLOT_RETRY_MS = 1_000
/** The share of a limit that one lease may hold beyond what its request needs. */
const BATCH_SHARE = 0.05

export type LimitHolder = 'key' | 'group'
export type CountedLimitName = Exclude<LimitName, 'budget'>

/** The member of a lease that each limit counts. */
const AMOUNT_NAMES = {
  requests_per_minute: 'requests',
  tokens_per_minute: 'tokens',
  concurrent_requests: 'slots'
} as const satisfies Record<CountedLimitName, keyof LeaseAmounts>

/** Whether an amount can be taken now. */
export type Availability =
  | { readonly kind: 'free' }
  /** `returnsUntilMs`: until then workers may give back what they have not used; undefined where they hold nothing of that kind. */
  | { readonly kind: 'short'; readonly retryAfterMs: number; readonly returnsUntilMs: number | undefined }

export interface Grant {
  readonly owner: number
  readonly amount: number
  /** What the request that asked does not need itself. */
  readonly extra: number
  readonly nowMs: number
}

export interface GivenBack {
  readonly owner: number
  readonly amount: number
  readonly grantedAtMs: number
}

/** What is used is counted, and what is granted counts as used. */
export interface CountedLimit {
  readonly name: CountedLimitName
  readonly holder: LimitHolder
  readonly amountName: keyof LeaseAmounts
  /** A new limit keeps what is used. */
  limit: number
  check(amount: number, nowMs: number): Availability
  /** What a lease of one of `workers` may hold beyond `amount`. */
  batch(amount: number, options: { workers: number; nowMs: number }): number
  take(grant: Grant): void
  giveBack(returned: GivenBack): void
  /** Counts what was used beyond a reservation. */
  overrun(amount: number, nowMs: number): void
  releaseOwner(owner: number): void
  used(nowMs: number): number
  /** Of a window alone. */
  meter(nowMs: number): Meter
}

export interface CountedLimitOptions {
  readonly name: CountedLimitName
  readonly holder: LimitHolder
  readonly limit: number
}

export function createCountedLimit(options: CountedLimitOptions): CountedLimit {
  return options.name === 'concurrent_requests' ? createSlotLimit(options) : createWindowLimit(options)
}

function createWindowLimit({ name, holder, limit }: CountedLimitOptions): CountedLimit {
  const window = createSlidingWindow()
  const returns = createExpectedReturns()
  const counted: CountedLimit = {
    name,
    holder,
    amountName: AMOUNT_NAMES[name],
    limit,
    check(amount, nowMs) {
      const retryAfterMs = Math.ceil(window.msUntil(Math.max(0, counted.limit - amount), nowMs))
      if (retryAfterMs === 0) return { kind: 'free' }
      return { kind: 'short', retryAfterMs, returnsUntilMs: returns.untilMs(nowMs) }
    },
    batch: (amount, { workers, nowMs }) => batchOf(counted.limit, counted.limit - window.used(nowMs) - amount, workers),
    take({ amount, extra, nowMs }) {
      window.add(amount, nowMs)
      if (extra > 0) returns.expect(nowMs)
    },
    giveBack: ({ amount, grantedAtMs }) => window.remove(amount, grantedAtMs),
    overrun: (amount, nowMs) => window.add(amount, nowMs),
    releaseOwner: () => undefined,
    used: window.used,
    meter: nowMs => ({
      limit: counted.limit,
      remaining: Math.max(0, counted.limit - window.used(nowMs)),
      resetMs: Math.ceil(window.msUntil(0, nowMs))
    })
  }
  return counted
}

function createSlotLimit({ name, holder, limit }: CountedLimitOptions): CountedLimit {
  const heldBy = new Map<number, number>()
  const returns = createExpectedReturns()
  let held = 0

  /** At most what the owner holds: what was granted before this limit existed is not counted in it. */
  function free(owner: number, amount: number): void {
    const owned = heldBy.get(owner) ?? 0
    const freed = Math.min(amount, owned)
    held -= freed
    if (freed === owned) heldBy.delete(owner)
    else heldBy.set(owner, owned - freed)
  }

  const counted: CountedLimit = {
    name,
    holder,
    amountName: AMOUNT_NAMES[name],
    limit,
    check(amount, nowMs) {
      if (held + amount <= counted.limit) return { kind: 'free' }
      return { kind: 'short', retryAfterMs: SLOT_RETRY_MS, returnsUntilMs: returns.untilMs(nowMs) }
    },
    batch: (amount, { workers }) => batchOf(counted.limit, counted.limit - held - amount, workers),
    take({ owner, amount, extra, nowMs }) {
      held += amount
      heldBy.set(owner, (heldBy.get(owner) ?? 0) + amount)
      if (extra > 0) returns.expect(nowMs)
    },
    giveBack: ({ owner, amount }) => free(owner, amount),
    overrun: () => undefined,
    releaseOwner: owner => free(owner, heldBy.get(owner) ?? 0),
    used: () => held,
    meter: () => ({ limit: counted.limit, remaining: Math.max(0, counted.limit - held), resetMs: 0 })
  }
  return counted
}

function batchOf(limit: number, remaining: number, workers: number): number {
  const most = Math.max(1, Math.floor(limit * BATCH_SHARE))
  return Math.max(0, Math.min(most, Math.floor(remaining / (2 * workers))))
}

/** Until when leases with something unused may come back. */
function createExpectedReturns() {
  let lastGrantMs = Number.NEGATIVE_INFINITY
  return {
    expect(nowMs: number): void {
      lastGrantMs = nowMs
    },
    untilMs(nowMs: number): number | undefined {
      const endMs = lastGrantMs + RETURN_WAIT_MS
      return endMs > nowMs ? endMs : undefined
    }
  }
}
