// When a target rests and when it comes back (decisions.md 116): a state machine without a clock of its own. Failures are counted in this
// worker; rests come from all workers.

import { REST_MS_MAX, REST_ROUND_MAX, type TargetRest } from '../../shared/profile/target-rests.ts'

/** What a response, or its absence, says of a target. */
export type Verdict =
  /** The provider takes requests. Errors of the client's own request are such responses too. */
  | { readonly kind: 'healthy' }
  /** The connection could not be made, or broke before the response began. */
  | { readonly kind: 'unreachable' }
  /** 429. */
  | { readonly kind: 'limited'; readonly retryAfterMs: number | undefined }
  /** 5xx. */
  | { readonly kind: 'server-error' }

/**
 * How the request was sent: to a target in health, as the trial of one whose rest is over, or to a resting one because all targets
 * rest.
 */
export type SendMode = 'ordinary' | 'trial' | 'forced'

export interface TargetHealth {
  /** 5xx in a row, while the target does not rest. */
  readonly serverErrors: number
  /** Absent for a target in health. */
  readonly rest?: Rest
}

export interface Rest {
  readonly sinceMs: number
  readonly untilMs: number
  /** How many rests in a row this is. */
  readonly round: number
}

/** What the other workers are told. */
export type HealthChange =
  | { readonly kind: 'rested'; readonly restMs: number; readonly round: number }
  | { readonly kind: 'restored' }

export interface Judged {
  readonly health: TargetHealth
  readonly change?: HealthChange
}

/** So many 5xx in a row let a target rest: one or two may be about their requests. */
export const SERVER_ERRORS_MAX = 3

const REST_MS_FIRST = 1_000
/** The longest rest that no provider asked for. */
const REST_MS_DOUBLED_MAX = 60_000

/** A rest that grew by less is not told to the operator. */
const NOTABLE_MS = 1_000

export const HEALTHY: TargetHealth = Object.freeze({ serverErrors: 0 })

/** The state after a response. Nothing else but `applyRest` and `restore` changes it. */
export function judge(
  health: TargetHealth,
  verdict: Verdict,
  { mode, nowMs }: { mode: SendMode; nowMs: number }
): Judged {
  const { rest } = health
  if (verdict.kind === 'healthy') {
    if (rest === undefined) return health.serverErrors === 0 ? { health } : { health: HEALTHY }
    // A request that was sent before the rest says nothing of the target's state now.
    return mode === 'ordinary' ? { health } : { health: HEALTHY, change: { kind: 'restored' } }
  }
  if (rest !== undefined && mode !== 'trial') return lengthen(rest, health, verdict, nowMs)
  const serverErrors = verdict.kind === 'server-error' ? health.serverErrors + 1 : health.serverErrors
  if (mode !== 'trial' && verdict.kind === 'server-error' && serverErrors < SERVER_ERRORS_MAX) {
    return { health: { serverErrors } }
  }
  const round = Math.min((rest?.round ?? 0) + 1, REST_ROUND_MAX)
  return startRest(findRestMs(verdict, round), round, nowMs)
}

/** Requests that were on their way when the rest began fail as well: they make it longer only where the provider says so. */
function lengthen(rest: Rest, health: TargetHealth, verdict: Verdict, nowMs: number): Judged {
  const askedMs = verdict.kind === 'limited' ? readAsked(verdict.retryAfterMs) : undefined
  if (askedMs === undefined || nowMs + askedMs <= rest.untilMs) return { health }
  return {
    health: { ...health, rest: { ...rest, untilMs: nowMs + askedMs } },
    change: { kind: 'rested', restMs: askedMs, round: rest.round }
  }
}

/**
 * Whether a change of a rest is worth a line in the log: it began, began anew, ended, or grew by a second. The requests that were on their
 * way when a provider began to answer 429 arrive one after the other, and each moves the end by a little.
 */
export function isNotable(before: Rest | undefined, after: Rest | undefined): boolean {
  if (before === undefined || after === undefined || before.round !== after.round) return true
  return after.sinceMs !== before.sinceMs || after.untilMs - before.untilMs >= NOTABLE_MS
}

function startRest(restMs: number, round: number, nowMs: number): Judged {
  return {
    health: { serverErrors: 0, rest: { sinceMs: nowMs, untilMs: nowMs + restMs, round } },
    change: { kind: 'rested', restMs, round }
  }
}

function findRestMs(verdict: Verdict, round: number): number {
  const askedMs = verdict.kind === 'limited' ? readAsked(verdict.retryAfterMs) : undefined
  return askedMs ?? Math.min(REST_MS_DOUBLED_MAX, REST_MS_FIRST * 2 ** (round - 1))
}

/** 0 asks for nothing. */
function readAsked(retryAfterMs: number | undefined): number | undefined {
  return retryAfterMs === undefined || retryAfterMs <= 0 ? undefined : Math.min(retryAfterMs, REST_MS_MAX)
}

/** The state after another worker's report. */
export function applyRest(
  health: TargetHealth,
  { restMs, round }: Omit<TargetRest, 'target'>,
  nowMs: number
): TargetHealth {
  const { rest } = health
  const untilMs = nowMs + restMs
  return {
    serverErrors: 0,
    rest: {
      sinceMs: rest?.sinceMs ?? nowMs,
      untilMs: Math.max(untilMs, rest?.untilMs ?? 0),
      round: Math.max(round, rest?.round ?? 0)
    }
  }
}

/** Whether a target gets requests (`healthy`), none (`resting`), or its one trial (`due`). */
export type TargetState = 'healthy' | 'resting' | 'due'

export function findState({ rest }: TargetHealth, nowMs: number): TargetState {
  if (rest === undefined) return 'healthy'
  return rest.untilMs > nowMs ? 'resting' : 'due'
}
