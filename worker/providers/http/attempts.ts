// The attempts of one call: which credential each attempt has, and whether another attempt follows
// a failure. A refused credential is renewed once; retries are counted separately from that renewal
// (upstream.md 1.6 and 2.3).

import type { Logger } from '../../../shared/logging.ts'
import { type GatewayError, toGatewayError } from '../../normalized/index.ts'
import type { CallContext, UpstreamOperation } from '../types.ts'
import { delay, throwIfAborted } from './abort.ts'
import { CallFailure, timeoutFailure } from './call-failure.ts'
import { type AttemptProgress, describeOutcome, type OutcomeListener } from './call-outcome.ts'
import type { Credential, CredentialSource } from './credential.ts'
import { reportCallFailure } from './failure-report.ts'
import { decideRetry, type RetryPolicy } from './retry.ts'

export interface AttemptsOptions {
  /** Names the profile in logs and outcomes. */
  profileId: string
  credentials: CredentialSource
  retryPolicy: RetryPolicy
  /** Aborted when the executor closes: no call that fails afterwards is retried. */
  lifetime: AbortSignal
  log: Logger
  /** Called once for each attempt that ended, before the call settles; not for one that was cancelled. */
  onOutcome?: OutcomeListener | undefined
  /** Milliseconds since the epoch. */
  now: () => number
  /** 0 up to 1. */
  random: () => number
  /** Of a call with all of its attempts; absent or 0: no limit. */
  totalMs?: number
  /** Aborted when a shutdown begins: no retry begins then, and a call that waits for one ends. */
  draining?: AbortSignal | undefined
}

export interface Attempt {
  readonly credential: Credential
  /** Retries before this attempt. An attempt with a renewed credential has the number of the one before it. */
  readonly number: number
  /** Kept by the client, for the outcome. */
  progress: AttemptProgress
  /** What is left of the time of the whole call; undefined where nothing limits that. */
  readonly remainingMs: number | undefined
  /** Of the whole call: one stale connection of it is replaced. */
  readonly replacement: { isUsed: boolean }
}

/**
 * Counts the attempts of one call. The caller loops: `tryBegin` or `begin`, send, and `end` with what came of it; after any failure
 * `recover`.
 */
export class Attempts {
  readonly #options: AttemptsOptions
  readonly #context: CallContext
  readonly #operation: UpstreamOperation
  #number = 0
  /** The attempt that runs or ran last; undefined until it has its credential. */
  #attempt: Attempt | undefined
  /** The attempt has begun, and `end` has not been called for it. */
  #isRunning = false
  #isRenewed = false
  readonly #startedMs: number
  readonly #replacement = { isUsed: false }

  constructor(options: AttemptsOptions, context: CallContext, operation: UpstreamOperation) {
    this.#options = options
    this.#context = context
    this.#operation = operation
    this.#startedMs = performance.now()
  }

  /**
   * Begins the next attempt where its credential is at hand; undefined when `begin` has to be awaited. What both throw goes through
   * `recover` like the failure of an exchange.
   */
  tryBegin(): Attempt | undefined {
    this.#prepare()
    const credential = this.#options.credentials.find(this.#context)
    return credential === undefined ? undefined : this.#beginWith(credential)
  }

  /** Acquires the credential of the next attempt. */
  async begin(): Promise<Attempt> {
    this.#prepare()
    return this.#beginWith(await this.#options.credentials.acquire(this.#context))
  }

  /** Discards the credential of the last attempt. Raises the reason of an aborted request. */
  #prepare(): void {
    this.#attempt = undefined
    throwIfAborted(this.#context.signal)
    this.#isRunning = true
  }

  #beginWith(credential: Credential): Attempt {
    const remainingMs = this.#readRemainingMs()
    const replacement = this.#replacement
    this.#attempt = { credential, number: this.#number, remainingMs, replacement, progress: 'queued' }
    if (remainingMs !== undefined && remainingMs <= 0) {
      throw timeoutFailure('the call', this.#options.totalMs ?? 0, { isRetryable: false })
    }
    return this.#attempt
  }

  #readRemainingMs(): number | undefined {
    const { totalMs = 0 } = this.#options
    return totalMs === 0 ? undefined : this.#startedMs + totalMs - performance.now()
  }

  /**
   * Ends the attempt that runs and reports its outcome. What a cancelled request or a closing executor ends says nothing about the
   * provider.
   * @param thrown its failure; undefined for a success.
   */
  end(thrown?: unknown): void {
    const { onOutcome, profileId, lifetime } = this.#options
    if (!this.#isRunning) return
    this.#isRunning = false
    const { onOutcome: onOwnOutcome, signal } = this.#context
    if (onOutcome === undefined && onOwnOutcome === undefined) return
    if (signal.aborted || (thrown !== undefined && lifetime.aborted)) return
    // An attempt without a credential did not get it.
    const outcome = describeOutcome(profileId, this.#attempt?.progress ?? 'authorizing', thrown)
    if (outcome === undefined) return
    onOutcome?.(outcome)
    onOwnOutcome?.(outcome)
  }

  /**
   * Resolves when another attempt is to be made: at once with a renewed credential, or after the delay of a retry. Otherwise rejects
   * with the `GatewayError` of the call, after the one log line of a failed call.
   * @param canRetry false once the client has seen something of the response.
   */
  async recover(thrown: unknown, { canRetry }: { canRetry: boolean }): Promise<void> {
    if (!(thrown instanceof CallFailure)) throw toGatewayError(thrown)
    if (this.#canRenew(thrown)) {
      this.#isRenewed = true
      return
    }
    const retry = canRetry ? this.#decideRetry(thrown) : undefined
    if (retry === undefined) throw this.#report(thrown)
    await delay(retry.delayMs, this.#context.signal, this.#options.draining)
    if (this.#isShutdown) throw this.#report(thrown)
    this.#number += 1
    this.#isRenewed = false
  }

  #report(failure: CallFailure): GatewayError {
    const attempts = this.#number + 1
    reportCallFailure(this.#options, failure, this.#context, { operation: this.#operation, attempts })
    return failure.error
  }

  get #isShutdown(): boolean {
    return this.#options.lifetime.aborted || this.#options.draining?.aborted === true
  }

  /**
   * Whether a refusal was about a held credential that can be replaced: once for each number. A
   * refused credential is discarded in any case, so that the next call does not begin with it
   * (decisions.md 47).
   */
  #canRenew({ status }: CallFailure): boolean {
    const credential = this.#attempt?.credential
    if (status !== 401 || credential === undefined) return false
    const isReplaceable = this.#options.credentials.reject(credential)
    return isReplaceable && !credential.isFresh && !this.#isRenewed
  }

  #decideRetry(failure: CallFailure): { delayMs: number } | undefined {
    const { retryPolicy, now, random } = this.#options
    if (this.#isShutdown) return undefined
    const retry = decideRetry(failure, this.#number, retryPolicy, { nowMs: now(), random })
    const remainingMs = this.#readRemainingMs() ?? Number.POSITIVE_INFINITY
    return retry === undefined || retry.delayMs >= remainingMs ? undefined : retry
  }
}
