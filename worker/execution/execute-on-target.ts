// Leads a request of an alias with several deployments to one of them (decisions.md 116). The target is chosen before anything is sent;
// only where nothing was sent another one is chosen, within the time of the request.

import { type ExecutionPlan, planTarget, type TargetRoute } from '../bridge/resolve-route.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import { readRetryAfter } from '../providers/http/retry.ts'
import type { CallContext } from '../providers/types.ts'
import type { TargetLease } from '../targets/target-pool.ts'
import type { Targeting } from '../translation/targeting.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'
import { retarget, type WrittenForFirst } from './retarget.ts'

/** What a request has of the target that was chosen. */
export interface ChosenTarget {
  /** The plan with the target's profile and model. */
  readonly plan: ExecutionPlan
  /** False when the target has begun to rest while the request waited for a slot. */
  readonly isOpen: () => boolean
  readonly hooks: Pick<CallContext, 'onHead' | 'onOutcome' | 'onUpstreamCallStarted'>
  /** The call as it is written for the target. */
  readonly place: <Call extends WrittenForFirst>(call: Call) => Call
}

/** Raised by `run` when its target is not open any more. */
export const TARGET_CLOSED = Symbol('target closed')

export interface TargetedRequest {
  context: RequestContext
  plan: ExecutionPlan
  targets: readonly TargetRoute[]
  targeting: Targeting
}

/** Errors of a request that waited for a connection in vain: no byte of it was sent. */
const BUSY_CODES: ReadonlySet<string> = new Set(['provider_connections_exhausted', 'gateway_overloaded'])

/**
 * Runs a request on one target, and on the next one as long as nothing was sent. Raises the error of the last target that was tried.
 * @param run raises `TARGET_CLOSED` for a target that is not open any more.
 */
export async function executeOnTarget<Result>(
  runtime: Pick<ExecutionRuntime, 'targets' | 'clock'>,
  { context, plan, targets, targeting }: TargetedRequest,
  run: (chosen: ChosenTarget) => Promise<Result>
): Promise<Result> {
  const tried = new Set<TargetRoute>()
  const conversation = describeTalk(targeting, context)
  let failure: unknown
  for (;;) {
    const lease = await runtime.targets.acquire(targets, { conversation, tried })
    if (lease === undefined) throw failure ?? new GatewayError('provider_failure', { cause: 'no_target' })
    const { target } = lease
    const watch = watchCalls(lease, runtime)
    const targetPlan = planTarget(plan, target)
    try {
      return await run({
        plan: targetPlan,
        isOpen: lease.isOpen,
        hooks: watch.hooks,
        place: call => retarget(call, targeting, { plan: targetPlan, targets, target })
      })
    } catch (thrown) {
      if (thrown === TARGET_CLOSED) continue
      if (context.isAborted || !watch.isUnsent(thrown)) throw thrown
      failure = thrown
      tried.add(target)
    } finally {
      lease.release()
    }
  }
}

/** Turns of one conversation of one client have the same text; requests that belong to none have no text. */
function describeTalk({ conversation }: Targeting, { apiKeyHash }: RequestContext): string | undefined {
  return conversation === undefined ? undefined : `${conversation} ${apiKeyHash ?? ''}`
}

interface CallWatch {
  hooks: ChosenTarget['hooks']
  /** Whether the provider cannot have seen anything of the request that failed so. */
  isUnsent(thrown: unknown): boolean
}

/** Reports all attempts of a request to the lease, and counts those of which nothing was sent. */
function watchCalls(lease: TargetLease, { clock }: Pick<ExecutionRuntime, 'clock'>): CallWatch {
  let started = 0
  let unsent = 0
  let hasNoCredential = false
  return {
    hooks: {
      onUpstreamCallStarted() {
        started += 1
      },
      onHead: status => lease.reportHead(status),
      onOutcome({ failure, status, retryAfter, wasSent }) {
        if (failure === 'credential_error') hasNoCredential = true
        else if (!wasSent) unsent += 1
        const retryAfterMs = retryAfter === undefined ? undefined : readRetryAfter(retryAfter, clock.nowMs())
        lease.reportEnd({ failure, status, retryAfterMs, wasSent })
      }
    },
    isUnsent(thrown) {
      if (started > unsent) return false
      return started > 0 || hasNoCredential || (GatewayError.is(thrown) && BUSY_CODES.has(thrown.code))
    }
  }
}
