// Leads every planned request to its provider: facts, model slot, executor, call context. Chat, embeddings and token counts share this
// function, so that slot and executor are released on every path.

import { isInventoryFresh, isListed } from '../../shared/catalog.ts'
import type { ExecutionPlan } from '../bridge/resolve-route.ts'
import type { ControlChannel } from '../control/control-channel.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import type { CallContext, Executor } from '../providers/types.ts'
import type { Targeting } from '../translation/targeting.ts'
import { type CallContextOptions, createCallContext } from './call-context.ts'
import { type ChosenTarget, executeOnTarget, TARGET_CLOSED } from './execute-on-target.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'
import { acquireModelSlot } from './model-slot.ts'

export interface ExecutionOptions extends CallContextOptions {
  isStream?: boolean
  /** The model as the client wrote it; undefined where it named none. */
  requestedModel: string | undefined
  /** False for calls that the per-model concurrency limit does not count. */
  takesSlot?: boolean
}

/** The call as it goes to the executor: an alias with several deployments has it written for its first one. */
export type PlaceCall = ChosenTarget['place']

/** A planned request, and what its call needs to be sent to another one of the deployments of its alias. */
export interface PlannedRequest {
  context: RequestContext
  plan: ExecutionPlan
  targeting?: Targeting | undefined
}

/**
 * Runs `work` with the executor of the plan's profile and the request's credential. Raises `unknown_model_alias`,
 * `model_concurrency_limit`, `invalid_upstream_authorization`, `gateway_not_ready` and the errors of `work`. Where nothing was sent to the
 * chosen deployment of an alias with several, `work` runs again for another one.
 */
export async function execute<Result>(
  runtime: ExecutionRuntime,
  { context, plan, targeting }: PlannedRequest,
  options: ExecutionOptions,
  work: (executor: Executor, call: CallContext, place: PlaceCall) => Promise<Result>
): Promise<Result> {
  const { targets } = plan
  if (targets === undefined || targeting === undefined) {
    return executePlan(runtime, { context, plan }, options, (executor, call) => work(executor, call, asWritten))
  }
  return executeOnTarget(runtime, { context, plan, targets, targeting }, chosen =>
    executePlan(runtime, { context, plan: chosen.plan, chosen }, options, (executor, call) =>
      work(executor, call, chosen.place)
    )
  )
}

const asWritten: PlaceCall = call => call

async function executePlan<Result>(
  runtime: ExecutionRuntime,
  { context, plan, chosen }: { context: RequestContext; plan: ExecutionPlan; chosen?: ChosenTarget },
  options: ExecutionOptions,
  work: (executor: Executor, call: CallContext) => Promise<Result>
): Promise<Result> {
  notePlan(runtime, { context, plan }, { ...options, isTarget: chosen !== undefined })
  if (plan.isUndeclared === true) assertListed(runtime.control, plan)
  const takesSlot = options.takesSlot !== false && runtime.control.slotLimit(plan.slotKey) !== undefined
  const releaseSlot = takesSlot ? await acquireModelSlot(runtime, plan, context) : undefined
  try {
    if (chosen?.isOpen() === false) throw TARGET_CLOSED
    const { executor, release } = runtime.executors.acquire(plan.profileId, context.authorization)
    try {
      const hooks = chosen && { hooks: chosen.hooks }
      return await work(executor, createCallContext(runtime, context, options, executor, { plan, ...hooks }))
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
    isTokenEstimate = false,
    isTarget = false
  }: Pick<ExecutionOptions, 'requestedModel' | 'isStream'> & { isTokenEstimate?: boolean; isTarget?: boolean }
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
    ...(isTokenEstimate && { isTokenEstimate }),
    ...(isTarget && { isTarget })
  })
}

/**
 * Refuses a model that no alias declares and that the fresh inventory of its profile does not have
 * (bridge.md 7.2). The check is here because the threads of the translation do not know the
 * catalog.
 */
export function assertListed(
  control: Pick<ControlChannel, 'catalogSnapshot'>,
  { publicModel, profileId }: ExecutionPlan
): void {
  const snapshot = control.catalogSnapshot()
  if (snapshot === undefined || !isInventoryFresh(snapshot, profileId, Date.now())) return
  if (isListed(snapshot, publicModel)) return
  throw new GatewayError('unknown_model_alias', { param: 'model', cause: 'model_not_listed' })
}
