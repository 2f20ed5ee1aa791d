// Admits the requests of keys with limits, and settles them (keys.md 2 and 3). The counters are the supervisor's; a worker holds leases of
// them, and sends what it has to say in one message per turn of the event loop.
import { LEASE_AGE_MAX_MS, type LeaseAmounts, type LeaseSource, type Settlement } from '../../shared/limits/leases.ts'
import { type LimitTimers, systemTimers } from '../../shared/limits/timers.ts'
import type { GatewayError } from '../normalized/index.ts'
import type { TokenEstimate } from './estimate-tokens.ts'
import { KeyAccount, type Refused, type Reservation, type Waiter } from './key-account.ts'
import type { LimitState } from './limit-state.ts'
import { refuseRequest, refuseUnavailable } from './refusals.ts'
import { type LimitedKey, type RequestEnd, RequestLimits, readRequestLimits } from './request-limits.ts'
import { createSettlements } from './settlements.ts'

/** The longest that a request waits: the supervisor answers each question sooner, and a request may be part of several. */
const WAIT_MAX_MS = 4_000

/** Requests that wait in one worker; more are refused. */
const WAITING_MAX = 10_000

export interface Limiter {
  /** The limits of a request of this key, which has some. */
  open(key: LimitedKey): RequestLimits
  /**
   * Takes what the request needs; undefined where that was done at once. A request that has it already takes nothing more. Rejects with
   * `rate_limit_exceeded`, `budget_exceeded`, `limits_unavailable`, and the reason of `signal`.
   */
  admit(state: LimitState, estimate: TokenEstimate | undefined, signal: AbortSignal): Promise<void> | undefined
  /** The request has ended. A second call does nothing. */
  settle(request: RequestLimits, end: RequestEnd): void
  /** Gives everything back and admits no further request. */
  close(): void
}

export interface LimiterOptions {
  readonly source: LeaseSource
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  readonly timers?: LimitTimers
}

export function createLimiter({ source, monotonicMs, nowMs, timers = systemTimers }: LimiterOptions): Limiter {
  const accounts = new Map<string, KeyAccount>()
  const settlements = createSettlements()
  /** Accounts with requests that wait for the end of this turn. */
  const asking = new Set<KeyAccount>()
  /** Accounts whose lease will become old. */
  const holding = new Set<KeyAccount>()
  let waiting = 0
  let isTurnPlanned = false
  let cancelSweep: (() => void) | undefined
  let isClosed = false

  function flush(): void {
    if (!settlements.isEmpty) source.settle(settlements.take())
  }

  function planTurn(): void {
    if (isTurnPlanned) return
    isTurnPlanned = true
    timers.defer(endTurn)
  }

  function endTurn(): void {
    isTurnPlanned = false
    const accountsToAsk = [...asking]
    asking.clear()
    for (const account of accountsToAsk) account.ask()
    flush()
  }

  /** Old leases and what is left to settle go out together. */
  function planSweep(): void {
    cancelSweep ??= timers.after(LEASE_AGE_MAX_MS, sweep)
  }

  function sweep(): void {
    cancelSweep = undefined
    const now = monotonicMs()
    for (const account of holding) {
      const { oldAtMs } = account
      if (oldAtMs !== undefined && oldAtMs > now) continue
      account.giveBack()
      holding.delete(account)
    }
    flush()
    if (holding.size > 0) planSweep()
  }

  function giveAllBack(): void {
    for (const account of holding) account.giveBack()
    holding.clear()
    flush()
  }

  function findAccount(name: string): KeyAccount {
    const known = accounts.get(name)
    if (known !== undefined) return known
    const account: KeyAccount = new KeyAccount({
      name,
      lease(key, amounts, signal) {
        // What this question gives back is counted before it.
        flush()
        return source.lease(key, amounts, signal)
      },
      nowMs: monotonicMs,
      giveBack: reservation => settlements.add(writeUnused(name, reservation)),
      onHeld() {
        holding.add(account)
        if (isClosed) giveAllBack()
        else planSweep()
      },
      leaseAgeMaxMs: LEASE_AGE_MAX_MS
    })
    accounts.set(name, account)
    return account
  }

  async function wait(request: RequestLimits, amounts: LeaseAmounts, signal: AbortSignal): Promise<void> {
    const account = findAccount(request.key)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let isOver = false
    function end(): void {
      isOver = true
      cancelDeadline()
      signal.removeEventListener('abort', onAbort)
    }
    function leave(reason: unknown): void {
      if (isOver) return
      end()
      account.leave()
      reject(reason)
    }
    const onAbort = () => leave(signal.reason)
    const cancelDeadline = timers.after(WAIT_MAX_MS, () => leave(refuseUnavailable()))
    signal.addEventListener('abort', onAbort)
    const waiter: Waiter = {
      amounts,
      get isOver() {
        return isOver
      },
      admit(reservation) {
        end()
        request.admitted(reservation)
        resolve()
      },
      refuse(answer) {
        if (isOver) return
        end()
        reject(writeRefusal(request, amounts, answer))
      }
    }
    account.wait(waiter)
    asking.add(account)
    planTurn()
    waiting += 1
    try {
      await promise
    } finally {
      waiting -= 1
    }
  }

  function writeRefusal({ limitedKey }: RequestLimits, { tokens }: LeaseAmounts, answer: Refused): GatewayError {
    if (answer.kind === 'unavailable') return refuseUnavailable()
    return refuseRequest({ key: limitedKey, refusal: answer.refusal, tokens, nowMs: nowMs() })
  }

  return {
    open: key => new RequestLimits(key, findAccount(key.name)),
    admit(state, estimate, signal) {
      const request = readRequestLimits(state)
      if (request === undefined || request.reserved !== undefined) return undefined
      if (isClosed || waiting >= WAITING_MAX) return Promise.reject(refuseUnavailable())
      if (signal.aborted) return Promise.reject(signal.reason)
      const amounts = request.countAmounts(estimate)
      const reservation = findAccount(request.key).take(amounts)
      if (reservation === undefined) return wait(request, amounts, signal)
      request.admitted(reservation)
      return undefined
    },
    settle(request, end) {
      const settlement = request.settle(end)
      if (settlement === undefined) return
      settlements.add(settlement)
      if (isClosed) flush()
      else if (settlement.freedSlots > 0 || settlement.costNanos > 0) planTurn()
      else planSweep()
    },
    close() {
      isClosed = true
      cancelSweep?.()
      giveAllBack()
    }
  }
}

function writeUnused(key: string, { amounts, grantedAtMs }: Reservation): Settlement {
  const { requests, tokens, slots } = amounts
  return { key, grantedAtMs, unusedRequests: requests, unusedTokens: tokens, freedSlots: slots, costNanos: 0 }
}
