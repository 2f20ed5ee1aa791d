// Leads every planned request to its provider: facts, limits of the key, model slot, executor, call context. Chat, embeddings and
// token counts share this function, so that slot and executor are released on every path.

import { isInventoryFresh, isListed } from '../../shared/catalog/catalog.ts'
import type { ExecutionPlan } from '../bridge/resolve-route.ts'
import type { ControlChannel } from '../control/control-channel.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { TokenEstimate } from '../limits/estimate-tokens.ts'
import { GatewayError } from '../normalized/index.ts'
import type { CallContext, Executor } from '../providers/types.ts'
import type { Targeting } from '../translation/targeting.ts'
import { type CallContextOptions, createCallContext } from './call-context.ts'
import { type ChosenTarget, executeOnTarget, TARGET_CLOSED } from './execute-on-target.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'
import { admitToLimits, watchAttempts } from './key-limits.ts'
import { acquireModelSlot } from './model-slot.ts'

export interface ExecutionOptions extends CallContextOptions {
  isStream?: boolean
  /** The model as the client wrote it; undefined where it named none. */
  requestedModel: string | undefined
  /** False for calls that neither the per-model concurrency limit nor the limits of keys count. */
  takesSlot?: boolean
}

/** The call as it goes to the executor: an alias with several deployments has it written for its first one. */
export type PlaceCall = ChosenTarget['place']

/** A planned request, and what its call needs to be sent to another one of the deployments of its alias. */
export interface PlannedRequest {
  context: RequestContext
  plan: ExecutionPlan
  targeting?: Targeting | undefined
  /** Of a request of a key with a limit of tokens. */
  tokenEstimate?: TokenEstimate | undefined
}

/**
 * Runs `work` with the executor of the plan's profile and the request's credential. Raises `unknown_model_alias`, the errors of the
 * key's limits, `model_concurrency_limit`, `invalid_upstream_authorization`, `gateway_not_ready` and the errors of `work`. Where nothing
 * was sent to the chosen deployment of an alias with several, `work` runs again for another one.
 */
export async function execute<Result>(
  runtime: ExecutionRuntime,
  { context, plan, targeting, tokenEstimate }: PlannedRequest,
  options: ExecutionOptions,
  work: (executor: Executor, call: CallContext, place: PlaceCall) => Promise<Result>
): Promise<Result> {
  const { targets } = plan
  if (targets === undefined || targeting === undefined) {
    const planned = { context, plan, tokenEstimate }
    return executePlan(runtime, planned, options, (executor, call) => work(executor, call, asWritten))
  }
  // Once for all targets, and before one of them counts the request as its own.
  if (options.takesSlot !== false) await admitEarly(runtime, { context, plan, tokenEstimate }, options)
  return executeOnTarget(runtime, { context, plan, targets, targeting }, chosen =>
    executePlan(runtime, { context, plan: chosen.plan, chosen }, options, (executor, call) =>
      work(executor, call, chosen.place)
    )
  )
}

const asWritten: PlaceCall = call => call

async function executePlan<Result>(
  runtime: ExecutionRuntime,
  { context, plan, tokenEstimate, chosen }: Omit<PlannedRequest, 'targeting'> & { chosen?: ChosenTarget },
  options: ExecutionOptions,
  work: (executor: Executor, call: CallContext) => Promise<Result>
): Promise<Result> {
  notePlan(runtime, { context, plan }, { ...options, isTarget: chosen !== undefined })
  if (plan.isUndeclared === true) assertListed(runtime.control, plan)
  const admission = options.takesSlot === false ? undefined : admitToLimits(runtime, { context, tokenEstimate })
  if (admission !== undefined) await admission
  const takesSlot = options.takesSlot !== false && runtime.control.slotLimit(plan.slotKey) !== undefined
  const releaseSlot = takesSlot ? await acquireModelSlot(runtime, plan, context) : undefined
  try {
    if (chosen?.isOpen() === false) throw TARGET_CLOSED
    const { executor, release } = runtime.executors.acquire(plan.profileId, context.authorization)
    try {
      const hooks = watchAttempts(context, chosen?.hooks)
      return await work(executor, createCallContext(runtime, context, options, executor, { plan, hooks }))
    } finally {
      release()
    }
  } finally {
    releaseSlot?.()
  }
}

/** Admits a request to the limits of its key before it is executed. One that is refused is observed with its plan. */
export async function admitEarly(
  runtime: Pick<ExecutionRuntime, 'limiter' | 'control'>,
  { context, plan, tokenEstimate }: PlannedRequest,
  options: Pick<ExecutionOptions, 'requestedModel' | 'isStream'>
): Promise<void> {
  try {
    await admitToLimits(runtime, { context, tokenEstimate })
  } catch (error) {
    notePlan(runtime, { context, plan }, options)
    throw error
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
