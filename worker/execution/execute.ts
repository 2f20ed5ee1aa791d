// Leads every planned request to its provider: facts, model slot, executor, call context. Chat, embeddings and token counts share this
// function, so that slot and executor are released on every path.

import { isInventoryFresh, isListed } from '../../shared/catalog.ts'
import type { ExecutionPlan } from '../bridge/resolve-route.ts'
import type { ControlChannel } from '../control/control-channel.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import type { CallContext, Executor } from '../providers/types.ts'
import { type CallContextOptions, createCallContext } from './call-context.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'
import { acquireModelSlot } from './model-slot.ts'

export interface ExecutionOptions extends CallContextOptions {
  isStream?: boolean
  /** The model as the client wrote it; undefined where it named none. */
  requestedModel: string | undefined
  /** False for calls that the per-model concurrency limit does not count. */
  takesSlot?: boolean
}

/**
 * Runs `work` with the executor of the plan's profile and the request's credential. Raises `unknown_model_alias`,
 * `model_concurrency_limit`, `invalid_upstream_authorization`, `gateway_not_ready` and the errors of `work`.
 */
export async function execute<Result>(
  runtime: ExecutionRuntime,
  { context, plan }: { context: RequestContext; plan: ExecutionPlan },
  options: ExecutionOptions,
  work: (executor: Executor, call: CallContext) => Promise<Result>
): Promise<Result> {
  notePlan(runtime, { context, plan }, options)
  if (plan.isUndeclared === true) assertListed(runtime.control, plan)
  const takesSlot = options.takesSlot !== false && runtime.control.slotLimit(plan.slotKey) !== undefined
  const releaseSlot = takesSlot ? await acquireModelSlot(runtime, plan, context) : undefined
  try {
    const { executor, release } = runtime.executors.acquire(plan.profileId, context.authorization)
    try {
      return await work(executor, createCallContext(runtime, context, options, executor, plan))
    } finally {
      release()
    }
  } finally {
    releaseSlot?.()
  }
}

/** Reports the facts of a plan to all observers of the request. */
export function notePlan(
  { control }: Pick<ExecutionRuntime, 'control'>,
  { context, plan }: { context: RequestContext; plan: ExecutionPlan },
  {
    requestedModel,
    isStream = false,
    isTokenEstimate = false
  }: Pick<ExecutionOptions, 'requestedModel' | 'isStream'> & { isTokenEstimate?: boolean }
): void {
  const { providerKind, profileId, publicModel, upstreamModel, evidence, admission } = plan
  context.planned({
    model: publicModel,
    requestedModel,
    upstreamModel,
    providerKind,
    profileId,
    isStream,
    ...(evidence && { evidence }),
    ...(admission && { admission }),
    ...(plan.isUndeclared === true && { inventoryRevision: control.catalogSnapshot()?.inventoryRevision }),
    ...(isTokenEstimate && { isTokenEstimate })
  })
}

/**
 * Refuses a model that no alias declares and that the fresh inventory of its profile does not have
 * (bridge.md 7.2). The check is here because the threads of the translation do not know the
 * catalog.
 */
function assertListed(
  control: Pick<ControlChannel, 'catalogSnapshot'>,
  { publicModel, profileId }: ExecutionPlan
): void {
  const snapshot = control.catalogSnapshot()
  if (snapshot === undefined || !isInventoryFresh(snapshot, profileId, Date.now())) return
  if (isListed(snapshot, publicModel)) return
  throw new GatewayError('unknown_model_alias', { param: 'model', cause: 'model_not_listed' })
}
