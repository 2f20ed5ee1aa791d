// The rests of all targets on this host, and who may try a target whose rest is over (decisions.md 116). The supervisor keeps it; it
// judges no response, it only merges what the workers report.

import { REST_MS_MAX, REST_ROUND_MAX, type TargetRest } from './target-rests.ts'

/** A worker process. A respawned one is another owner. */
export type Owner = number

export interface RestBoard {
  /** A worker's target rests, or its trial failed. Ends the trial of this worker. */
  rest(owner: Owner, rest: TargetRest): void
  /** The trial succeeded, or any request that was sent during the rest. */
  restore(owner: Owner, target: string): void
  /** Whether this worker may try a target: its rest is over and no other worker tries it. It ends with `rest`, `restore` or `endTrial`. */
  beginTrial(owner: Owner, target: string): boolean
  /** The trial ended without a result, such as a client disconnect. */
  endTrial(owner: Owner, target: string): void
  /** The rests of now. */
  list(): TargetRest[]
  /** A worker exited: what it tried may be tried by another one. */
  releaseOwner(owner: Owner): void
}

export interface RestBoardDependencies {
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
  /** A target rests, or rests longer: told to all workers. */
  onRested: (rest: TargetRest) => void
  /** A target is back: told to all workers. */
  onRestored: (target: string) => void
}

interface Entry {
  untilMs: number
  round: number
  /** The worker that tries the target now. */
  triedBy: Owner | undefined
}

/**
 * Creates an empty board.
 * @param targets the keys of all targets; others are ignored, so that the board is bounded by the profile file.
 */
export function createRestBoard(dependencies: RestBoardDependencies, targets: ReadonlySet<string>): RestBoard {
  const { nowMs, onRested, onRestored } = dependencies
  const entries = new Map<string, Entry>()

  function write(target: string, { untilMs, round }: Entry): TargetRest {
    return { target, restMs: Math.max(0, Math.ceil(untilMs - nowMs())), round }
  }

  function endTrial(owner: Owner, target: string): void {
    const entry = entries.get(target)
    if (entry?.triedBy === owner) entry.triedBy = undefined
  }

  return {
    rest(owner, { target, restMs, round }) {
      if (!targets.has(target)) return
      endTrial(owner, target)
      const untilMs = nowMs() + Math.min(restMs, REST_MS_MAX)
      const known = entries.get(target)
      const entry: Entry = {
        // Workers that fail at the same time report the same outage: the longest rest holds.
        untilMs: Math.max(untilMs, known?.untilMs ?? 0),
        round: Math.min(Math.max(round, known?.round ?? 0), REST_ROUND_MAX),
        triedBy: known?.triedBy
      }
      entries.set(target, entry)
      onRested(write(target, entry))
    },
    restore(_, target) {
      if (entries.delete(target)) onRestored(target)
    },
    beginTrial(owner, target) {
      if (!targets.has(target)) return false
      const entry = entries.get(target)
      // The target came back while the worker asked.
      if (entry === undefined) return true
      if (entry.triedBy !== undefined || entry.untilMs > nowMs()) return false
      entry.triedBy = owner
      return true
    },
    endTrial,
    list: () => [...entries].map(([target, entry]) => write(target, entry)),
    releaseOwner(owner) {
      for (const entry of entries.values()) if (entry.triedBy === owner) entry.triedBy = undefined
    }
  }
}
