// The last check before a provider is called: a host-wide slot for the model, taken before any header is sent, so that a model at
// its concurrency limit is a 429 and never a broken stream (operations.md 3.7, field lesson N8).

import { limitOf, slotLimitsFrom } from '../../shared/model-slots.ts'
import type { ExecutionPlan } from '../bridge/resolve-route.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'

/**
 * Waits for a slot and resolves with the function that gives it back; a model without a limit waits for nothing.
 * Raises `model_concurrency_limit` when none was free in time, or the reason that ended the request meanwhile.
 */
export async function acquireModelSlot(
  runtime: ExecutionRuntime,
  { slotKey, providerKind }: ExecutionPlan,
  context: RequestContext
): Promise<() => void> {
  const release = await runtime.control.acquireSlot(slotKey, context.signal)
  if (release !== null) return release
  if (context.signal.aborted) throw context.signal.reason
  const limit = limitOf(slotLimitsFrom(runtime.settings), slotKey)
  const fields = { event: 'model_concurrency_timeout', provider: providerKind, model: slotKey, limit }
  runtime.log.warn(
    { ...fields, request_id: context.requestId },
    `Concurrency limit reached for model ${slotKey}: ${limit}`
  )
  throw new GatewayError('model_concurrency_limit', { param: 'model', retryAfter: '1' })
}
