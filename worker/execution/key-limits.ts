// The limits of a request's key, on its way to the provider (keys.md 2): admission before the model slot, and which attempts the
// provider has received. Requests of keys without limits are not counted.

import type { RequestContext } from '../http/request-context.ts'
import type { TokenEstimate } from '../limits/estimate-tokens.ts'
import type { ChosenTarget } from './execute-on-target.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'

/**
 * Takes what the request needs, unless it has that already. Raises `rate_limit_exceeded`, `budget_exceeded`, `limits_unavailable`, and the
 * reason of the abort when the request ended first.
 */
export function admitToLimits(
  { limiter }: Pick<ExecutionRuntime, 'limiter'>,
  { context, tokenEstimate }: { context: RequestContext; tokenEstimate: TokenEstimate | undefined }
): Promise<void> | undefined {
  const { limitState, signal } = context
  return limitState && limiter?.admit(limitState, tokenEstimate, signal)
}

/** The hooks of a call, which tell the request's limits what the provider has seen of it. */
export function watchAttempts(
  { limitState }: RequestContext,
  hooks: ChosenTarget['hooks'] | undefined
): ChosenTarget['hooks'] | undefined {
  if (limitState === undefined) return hooks
  return {
    ...hooks,
    onUpstreamCallStarted() {
      hooks?.onUpstreamCallStarted?.()
      limitState.attemptStarted()
    },
    onOutcome(outcome) {
      hooks?.onOutcome?.(outcome)
      limitState.attemptEnded(outcome)
    }
  }
}
