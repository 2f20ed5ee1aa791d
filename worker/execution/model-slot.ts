// Takes a host-wide slot for the model, as the last check before the provider is called. No
// response header has been sent by then, so a model at its concurrency limit is reported with
// status 429 and never within a stream (operations.md 3.7, field-lessons.md N8).

import type { ExecutionPlan } from '../bridge/resolve-route.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'

/**
 * Waits for a slot and resolves with the function that gives it back; for a model without a limit it resolves without waiting.
 * Raises `model_concurrency_limit` when no slot became free in time, or the reason of the abort when the request ended first.
 */
export async function acquireModelSlot(
  runtime: ExecutionRuntime,
  { slotKey, providerKind, upstreamModel }: ExecutionPlan,
  context: RequestContext
): Promise<() => void> {
  const release = await runtime.control.acquireSlot(slotKey, context.signal)
  if (release !== null) return release
  if (context.signal.aborted) throw context.signal.reason
  const limit = runtime.control.slotLimit(slotKey)
  const model = upstreamModel ?? slotKey
  const fields = { event: 'model_concurrency_timeout', provider: providerKind, model, limit }
  runtime.log.warn({ ...fields, ...context.logIds }, `Concurrency limit reached for model ${model}: ${limit}`)
  throw new GatewayError('model_concurrency_limit', { param: 'model', retryAfter: '1' })
}
