// The limits of one request: what was taken for it, and what it has used of that when it ends (keys.md 2).
import type { KeyLimits } from '../../shared/keys/key-limits.ts'
import type { LeaseAmounts, LimitName, Meters, Settlement } from '../../shared/limits/leases.ts'
import { computeCostNanos, type Price, settleWholes } from '../../shared/prices.ts'
import { joinUsage, type NormalizedEvent, type NormalizedUsage } from '../normalized/index.ts'
import { countAmounts } from './amounts.ts'
import { GeneratedTokens, type TokenEstimate } from './estimate-tokens.ts'
import type { KeyAccount, Reservation } from './key-account.ts'
import type { LimitState, RunningLimitState } from './limit-state.ts'

/** A key as the key ring has it. */
export interface LimitedKey {
  readonly name: string
  readonly limitNames: ReadonlySet<LimitName>
  readonly limits: KeyLimits
}

/** What is known of a request when it has ended. */
export interface RequestEnd {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly totalTokens: number | undefined
  /** The whole response was generated: what the provider counted last is all of it. */
  readonly isWhole: boolean
  /** Of what the provider has counted; 0 where nothing is known of it. */
  readonly costNanos: number
  /** Of the model, for what the provider has not counted; undefined where it has none. */
  readonly price?: Price | undefined
}

const NO_ESTIMATE: TokenEstimate = { input: 0, output: 0 }

const NO_USAGE: NormalizedUsage = {
  inputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  totalTokens: null
}

export class RequestLimits implements RunningLimitState {
  readonly limitedKey: LimitedKey
  readonly #account: KeyAccount
  readonly #generated = new GeneratedTokens()
  #estimate = NO_ESTIMATE
  /** What the provider has counted of the input before the first content. */
  #startedInputTokens: number | undefined
  /** All counts of the provider so far; undefined before the first ones. */
  #usage: NormalizedUsage | undefined
  #reservation: Reservation | undefined
  #isFinished = false
  #attempts = 0
  /** Attempts of which the provider has generated nothing: not sent, or refused by its status. */
  #vainAttempts = 0

  constructor(limitedKey: LimitedKey, account: KeyAccount) {
    this.limitedKey = limitedKey
    this.#account = account
  }

  get key(): string {
    return this.limitedKey.name
  }

  get countsTokens(): boolean {
    return this.limitedKey.limitNames.has('tokens_per_minute')
  }

  get hasBudget(): boolean {
    return this.limitedKey.limitNames.has('budget')
  }

  get needsEstimate(): boolean {
    return this.countsTokens || this.hasBudget
  }

  get reserved(): LeaseAmounts | undefined {
    return this.#reservation?.amounts
  }

  readMeters(): Meters | undefined {
    return this.#account.readMeters()
  }

  /** What is to be taken for the request. */
  countAmounts(estimate: TokenEstimate = NO_ESTIMATE): LeaseAmounts {
    this.#estimate = estimate
    return countAmounts(this.limitedKey.limitNames, this.#boundEstimate(estimate))
  }

  /**
   * A request takes a whole limit at most: an output limit is only a bound, and the response is settled by what it has. Else a key with a
   * small limit could never send the requests of clients that ask for the most.
   */
  #boundEstimate({ input, output }: TokenEstimate): number {
    const { key, group } = this.limitedKey.limits
    const { tokensPerMinute: own = Number.POSITIVE_INFINITY } = key
    const { tokensPerMinute: shared = Number.POSITIVE_INFINITY } = group
    return Math.min(input + output, own, shared)
  }

  admitted(reservation: Reservation): void {
    this.#reservation = reservation
  }

  attemptStarted(): void {
    this.#attempts += 1
  }

  attemptEnded({ wasSent, status = 200 }: { wasSent: boolean; status: number | undefined }): void {
    // One that ends without having begun waited for a connection or a credential.
    if (!wasSent || status >= 400) this.#vainAttempts = Math.min(this.#attempts, this.#vainAttempts + 1)
  }

  generated(events: readonly NormalizedEvent[]): void {
    const [first] = events
    if (first?.type === 'start') this.#startedInputTokens = first.usage?.inputTokens ?? undefined
    if (events.at(-1)?.type === 'finish') this.#isFinished = true
    this.#generated.add(events)
  }

  /** Counts of the provider; one that is missing leaves an earlier one in place. */
  reported(usage: NormalizedUsage): void {
    this.#usage = joinUsage(this.#usage, usage)
  }

  /** What the request gives back, once; undefined where nothing was taken, or nothing is to be said. */
  settle(end: RequestEnd): Settlement | undefined {
    const reservation = this.#reservation
    if (reservation === undefined) return undefined
    this.#reservation = undefined
    const { tokens, slots } = reservation.amounts
    const unusedTokens = this.countsTokens ? tokens - this.#countUsed(end) : 0
    const costNanos = this.hasBudget ? this.#countCost(end) : 0
    this.#account.noteUnused(unusedTokens)
    if (unusedTokens === 0 && slots === 0 && costNanos === 0) return undefined
    const { grantedAtMs } = reservation
    return { key: this.key, grantedAtMs, unusedRequests: 0, unusedTokens, freedSlots: slots, costNanos }
  }

  /** Whether the provider has got nothing of the request, or refused it. */
  #isVain({ inputTokens, outputTokens, totalTokens }: RequestEnd): boolean {
    const isReported = inputTokens !== undefined || outputTokens !== undefined || totalTokens !== undefined
    return !isReported && this.#generated.tokens === 0 && this.#attempts <= this.#vainAttempts
  }

  /** Some clients close their connection at the last event. */
  #checkWhole({ isWhole }: RequestEnd): boolean {
    return isWhole || this.#isFinished
  }

  /** Else a client could use a budget without end, by leaving before the provider counts. */
  #countCost(end: RequestEnd): number {
    const { costNanos, price } = end
    if (price === undefined || this.#isVain(end)) return costNanos
    const reported = this.#usage ?? NO_USAGE
    const isWhole = this.#checkWhole(end)
    const { input, output } = settleWholes(reported)
    if (isWhole && input !== undefined && output !== undefined) return costNanos
    return computeCostNanos(this.#completeUsage(reported, isWhole), price) ?? costNanos
  }

  /** The same counts as `#countUsed` has, beside the parts that the provider has counted. */
  #completeUsage(reported: NormalizedUsage, isWhole: boolean): NormalizedUsage {
    const { tokens: generated } = this.#generated
    const { input, output } = settleWholes(reported)
    const { totalTokens } = reported
    const inputTokens = input ?? this.#startedInputTokens ?? this.#estimate.input
    if (!isWhole) return { ...reported, inputTokens, outputTokens: Math.max(output ?? 0, generated) }
    if (totalTokens === null) return { ...reported, inputTokens, outputTokens: output ?? generated }
    // The total alone was reported: what it has beside the input is the output.
    return { ...reported, inputTokens: Math.min(inputTokens, totalTokens) }
  }

  #countUsed(end: RequestEnd): number {
    if (this.#isVain(end)) return 0
    const { inputTokens, outputTokens, totalTokens } = end
    const isWhole = this.#checkWhole(end)
    const { tokens: generated } = this.#generated
    if (isWhole && totalTokens !== undefined) return totalTokens
    const input = inputTokens ?? this.#startedInputTokens ?? this.#estimate.input
    // What a provider has counted before its stream broke off does not have the rest.
    const output = isWhole ? (outputTokens ?? generated) : Math.max(outputTokens ?? 0, generated)
    return input + output
  }
}

/** What the limiter has written into a request; undefined for a request of a key without limits. */
export function readRequestLimits(state: LimitState | undefined): RequestLimits | undefined {
  return state instanceof RequestLimits ? state : undefined
}
