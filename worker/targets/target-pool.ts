// The targets of all aliases in this worker: which of them rest, how many calls run on each, and which one a request gets
// (decisions.md 116). Rests are told to the other workers through `RestChannel`.

import { createTargetKey, type TargetRest } from '../../shared/profile/target-rests.ts'
import { type Candidate, type Choice, chooseTarget } from './choose-target.ts'
import { type AttemptEnd, readVerdict } from './read-verdict.ts'
import {
  applyRest,
  findState,
  HEALTHY,
  isNotable,
  judge,
  type SendMode,
  type TargetHealth,
  type TargetState,
  type Verdict
} from './target-health.ts'

/** One of the deployments that an alias names. */
export interface Target {
  readonly profileId: string
  readonly upstreamModel: string
  readonly weight: number
  readonly priority: number
}

/** What all workers of the host are told, and what a worker asks for. Nothing of it throws. */
export interface RestChannel {
  reportRest(rest: TargetRest): void
  reportRestored(target: string): void
  /** Whether this worker may send the trial of a target whose rest is over. */
  beginTrial(target: string): Promise<boolean>
  /** The trial ended without a result. */
  endTrial(target: string): void
}

export interface TargetPoolDependencies {
  channel: RestChannel
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
  /** 0 up to 1. */
  random: () => number
  /** Called for each rest and return that this worker found, for its log; not for a rest that grew by less than a second. */
  onChanged?: ((change: TargetChange) => void) | undefined
}

export type TargetChange = Target & { readonly restMs: number | undefined }

export interface TargetRequest {
  /** `describeConversation` and the client's key; undefined for a request that belongs to no conversation. */
  readonly conversation: string | undefined
  /** Targets that this request has tried: nothing was sent to them. */
  readonly tried: ReadonlySet<Target>
}

/** A target that a request is sent to. */
export interface TargetLease<One extends Target = Target> {
  readonly target: One
  /** Whether the target still takes this request: it may have begun to rest while the request waited. */
  isOpen(): boolean
  /** The provider's response has begun. */
  reportHead(status: number): void
  /** An attempt ended and was not cancelled. */
  reportEnd(end: AttemptEnd): void
  /** The request is over. Has to be called once. */
  release(): void
}

export interface TargetPool {
  /**
   * Chooses a target; undefined where all were tried. Resolves later only where the supervisor is asked for a trial. The request counts as
   * running until `release`.
   */
  acquire<One extends Target>(
    targets: readonly One[],
    request: TargetRequest
  ): TargetLease<One> | undefined | Promise<TargetLease<One> | undefined>
  /** Whether a target gets requests now, none, or its one trial. */
  stateOf(target: Pick<Target, 'profileId' | 'upstreamModel'>): TargetState
  /** Another worker found a rest. */
  applyRest(rest: TargetRest): void
  /** Another worker found that the target is back. */
  applyRestored(target: string): void
}

interface Entry {
  health: TargetHealth
  running: number
  /** This worker asks for the trial, or sends it. */
  isTried: boolean
}

/** Creates a pool whose targets are all in health. */
export function createTargetPool(dependencies: TargetPoolDependencies): TargetPool {
  const { channel, nowMs, random, onChanged } = dependencies
  // Bounded by the profile file: only its targets are asked for.
  const entries = new Map<string, Entry>()

  function findEntry(key: string): Entry {
    const known = entries.get(key)
    if (known !== undefined) return known
    const entry: Entry = { health: HEALTHY, running: 0, isTried: false }
    entries.set(key, entry)
    return entry
  }

  function applyKnownRest({ target, restMs, round }: TargetRest): void {
    const entry = findEntry(target)
    entry.health = applyRest(entry.health, { restMs, round }, nowMs())
  }

  function choose<One extends Target>(
    targets: readonly One[],
    { conversation, tried }: TargetRequest
  ): Choice<Candidate & { target: One }> | undefined {
    const now = nowMs()
    const candidates = targets
      .filter(target => !tried.has(target))
      .map(target => {
        const key = createTargetKey(target.profileId, target.upstreamModel)
        const { health, running, isTried } = findEntry(key)
        const state = findState(health, now)
        return {
          target,
          key,
          weight: target.weight,
          priority: target.priority,
          state: state === 'due' && isTried ? ('resting' as const) : state,
          restsSinceMs: health.rest?.sinceMs ?? 0,
          running
        }
      })
    return chooseTarget(candidates, { conversation, random })
  }

  /** Asks for the trial of one target after the other, until one is granted or another target is chosen. */
  async function acquireTrial<One extends Target>(
    trial: { key: string; target: One },
    targets: readonly One[],
    request: TargetRequest
  ): Promise<TargetLease<One> | undefined> {
    const refused: Entry[] = []
    let { key, target } = trial
    for (;;) {
      const entry = findEntry(key)
      // Until this request has chosen, the target counts as tried, so that it is not asked for again.
      entry.isTried = true
      const isGranted = await channel.beginTrial(key)
      const other = isGranted ? undefined : choose(targets, request)
      if (!isGranted) refused.push(entry)
      if (other?.mode === 'trial') {
        ;({ key, target } = other.target)
        continue
      }
      for (const one of refused) one.isTried = false
      if (isGranted) return lend(target, key, 'trial')
      return other && lend(other.target.target, other.target.key, other.mode)
    }
  }

  function lend<One extends Target>(target: One, key: string, mode: SendMode): TargetLease<One> {
    const entry = findEntry(key)
    entry.running += 1
    let sent = mode
    let isReleased = false
    /** The response to the attempt that runs has begun. */
    let hasBegun = false

    function report(verdict: Verdict): void {
      const before = entry.health.rest
      const judged = judge(entry.health, verdict, { mode: sent, nowMs: nowMs() })
      entry.health = judged.health
      endTrial(judged.change !== undefined)
      // What this request still sends to a target that rests by now is no request of before the rest.
      if (entry.health.rest !== undefined && verdict.kind !== 'healthy') sent = 'forced'
      const { change } = judged
      if (change === undefined) return
      if (change.kind === 'restored') channel.reportRestored(key)
      else channel.reportRest({ target: key, restMs: change.restMs, round: change.round })
      if (!isNotable(before, entry.health.rest)) return
      onChanged?.({ ...target, restMs: change.kind === 'rested' ? change.restMs : undefined })
    }

    /** @param isReported its result ends it for the other workers. */
    function endTrial(isReported: boolean): void {
      if (sent !== 'trial') return
      sent = 'ordinary'
      entry.isTried = false
      if (!isReported) channel.endTrial(key)
    }

    return {
      target,
      isOpen: () => sent !== 'ordinary' || entry.health.rest === undefined,
      reportHead(status) {
        if (status >= 400) return
        hasBegun = true
        report({ kind: 'healthy' })
      },
      reportEnd(end) {
        // A response that began well and broke off says nothing: long streams are cut by all kinds of boxes between.
        const isCut = hasBegun && end.failure !== undefined && end.status === undefined
        hasBegun = false
        const verdict = isCut ? undefined : readVerdict(end)
        if (verdict !== undefined) report(verdict)
      },
      release() {
        if (isReleased) return
        isReleased = true
        entry.running -= 1
        endTrial(false)
      }
    }
  }

  return {
    acquire(targets, request) {
      const choice = choose(targets, request)
      if (choice === undefined) return undefined
      const { target, key } = choice.target
      return choice.mode === 'trial' ? acquireTrial({ key, target }, targets, request) : lend(target, key, choice.mode)
    },
    stateOf: ({ profileId, upstreamModel }) => {
      const entry = entries.get(createTargetKey(profileId, upstreamModel))
      return entry === undefined ? 'healthy' : findState(entry.health, nowMs())
    },
    applyRest: applyKnownRest,
    applyRestored(target) {
      findEntry(target).health = HEALTHY
    }
  }
}
