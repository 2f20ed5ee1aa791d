// Leads every planned request to its provider: facts, model slot, executor, call context. Chat, embeddings and token counts share this
// function, so that slot and executor are released on every path.

import type { ExecutionPlan } from '../bridge/resolve-route.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { CallContext, Executor } from '../providers/types.ts'
import { type CallContextOptions, createCallContext } from './call-context.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'
import { acquireModelSlot } from './model-slot.ts'

export interface ExecutionOptions extends CallContextOptions {
  isStream?: boolean
  /** False for calls that the per-model concurrency limit does not count. */
  takesSlot?: boolean
}

/**
 * Runs `work` with the executor of the plan's profile and the request's credential. Raises `model_concurrency_limit`,
 * `invalid_upstream_authorization`, `gateway_not_ready` and the errors of `work`.
 */
export async function execute<Result>(
  runtime: ExecutionRuntime,
  { context, plan }: { context: RequestContext; plan: ExecutionPlan },
  options: ExecutionOptions,
  work: (executor: Executor, call: CallContext) => Promise<Result>
): Promise<Result> {
  notePlan(context, plan, options.isStream)
  const takesSlot = options.takesSlot !== false && runtime.control.slotLimit(plan.slotKey) !== undefined
  const releaseSlot = takesSlot ? await acquireModelSlot(runtime, plan, context) : undefined
  try {
    const { executor, release } = runtime.executors.acquire(plan.profileId, context.authorization)
    try {
      return await work(executor, createCallContext(runtime, context, options))
    } finally {
      release()
    }
  } finally {
    releaseSlot?.()
  }
}

/** Reports the facts of a plan to all observers of the request. */
export function notePlan(context: RequestContext, plan: ExecutionPlan, isStream = false): void {
  const { providerKind, profileId, publicModel } = plan
  context.planned({ model: publicModel, providerKind, profileId, isStream })
}
