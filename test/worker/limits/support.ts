// A source of leases that answers when the test says so, a clock that the test moves, and requests of one key.
import type { Limits } from '../../../shared/keys/key-set.ts'
import type { LeaseAmounts, LeaseAnswer, LimitName, Meters, Settlement } from '../../../shared/limits/leases.ts'
import { createLimiter, type Limiter } from '../../../worker/limits/limiter.ts'
import type { LimitedKey, RequestEnd, RequestLimits } from '../../../worker/limits/request-limits.ts'

export interface Question {
  readonly key: string
  readonly amounts: LeaseAmounts
  readonly signal: AbortSignal
  answer(answer: LeaseAnswer): void
}

export interface LimiterBench {
  readonly limiter: Limiter
  /** In the order in which they came; settlements and questions together. */
  readonly log: string[]
  readonly questions: Question[]
  readonly settlements: Settlement[]
  /** Moves the clock, and runs what is due. */
  advance(ms: number): void
  /** Ends the turn, and lets promises run. */
  endTurn(): Promise<void>
}

export function openBench(): LimiterBench {
  const log: string[] = []
  const questions: Question[] = []
  const settlements: Settlement[] = []
  let nowMs = 1_000
  let timers: Array<{ atMs: number; run: () => void }> = []
  let turn: Array<() => void> = []
  const limiter = createLimiter({
    source: {
      lease(key, amounts, signal) {
        log.push(`lease ${key} ${show(amounts)}`)
        const { promise, resolve, reject } = Promise.withResolvers<LeaseAnswer>()
        signal.addEventListener('abort', () => reject(signal.reason))
        questions.push({ key, amounts, signal, answer: resolve })
        return promise
      },
      settle(batch) {
        log.push(`settle ${batch.map(({ key }) => key).join(',')}`)
        settlements.push(...batch)
      }
    },
    monotonicMs: () => nowMs,
    nowMs: () => Date.UTC(2026, 10, 30),
    timers: {
      after(ms, run) {
        const timer = { atMs: nowMs + ms, run }
        timers.push(timer)
        return () => {
          timers = timers.filter(other => other !== timer)
        }
      },
      defer: run => turn.push(run)
    }
  })
  return {
    limiter,
    log,
    questions,
    settlements,
    advance(ms) {
      nowMs += ms
      const due = timers.filter(({ atMs }) => atMs <= nowMs)
      timers = timers.filter(timer => !due.includes(timer))
      for (const { run } of due) run()
    },
    async endTurn() {
      const runs = turn
      turn = []
      for (const run of runs) run()
      await new Promise(resolve => setImmediate(resolve))
    }
  }
}

function show({ requests, tokens, slots }: LeaseAmounts): string {
  return `${requests}/${tokens}/${slots}`
}

export function limitedKey(
  limits: Limits,
  { name = 'ci', group = {} }: { name?: string; group?: Limits } = {}
): LimitedKey {
  const has = (limit: keyof Limits) => limits[limit] !== undefined || group[limit] !== undefined
  const limitNames = new Set<LimitName>()
  if (has('requestsPerMinute')) limitNames.add('requests_per_minute')
  if (has('tokensPerMinute')) limitNames.add('tokens_per_minute')
  if (has('concurrentRequests')) limitNames.add('concurrent_requests')
  if (has('budget')) limitNames.add('budget')
  return { name, limitNames, limits: { key: limits, group } }
}

export interface GrantOptions {
  readonly amounts: Partial<LeaseAmounts>
  readonly meters?: Meters
  readonly grantedAtMs?: number
}

export function granted({ amounts, meters = {}, grantedAtMs = 7 }: GrantOptions): LeaseAnswer {
  return { kind: 'granted', amounts: { requests: 0, tokens: 0, slots: 0, ...amounts }, grantedAtMs, meters }
}

export function refused(
  limit: LimitName,
  { retryAfterMs = 1_500, meters = {} }: { retryAfterMs?: number | null; meters?: Meters } = {}
): LeaseAnswer {
  return { kind: 'refused', refusal: { limit, holder: 'key', retryAfterMs }, meters }
}

export const END: RequestEnd = {
  inputTokens: undefined,
  outputTokens: undefined,
  totalTokens: undefined,
  isWhole: true,
  costNanos: 0
}

export interface StartedRequest {
  readonly request: RequestLimits
  readonly abortion: AbortController
  /** `admitted`, or the code of the error; undefined while it waits. */
  outcome: string | undefined
  error: unknown
}

/** Asks for the admission of one request. */
export function start(
  { limiter }: LimiterBench,
  key: LimitedKey,
  tokens?: { input: number; output: number }
): StartedRequest {
  const request = limiter.open(key)
  const abortion = new AbortController()
  const started: StartedRequest = { request, abortion, outcome: undefined, error: undefined }
  const admission = limiter.admit(request, tokens, abortion.signal)
  if (admission === undefined) started.outcome = 'admitted'
  else {
    admission.then(
      () => {
        started.outcome = 'admitted'
      },
      (error: unknown) => {
        started.error = error
        started.outcome = (error as { code?: string }).code ?? 'left'
      }
    )
  }
  return started
}
