// The last gate before a provider is called: a host-wide slot for the model, taken before any header is sent, so that a full
// model is a 429 and never a broken stream (operations.md 3.7, field lesson N8).

import { limitOf, slotLimitsFrom } from '../../shared/model-slots.ts'
import type { SlotGrant } from '../control-channel.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import type { WorkerRuntime } from '../runtime.ts'

export interface ModelSlot {
  /** Gives the slot back, after the last byte of the answer. */
  release(): void
}

/**
 * Waits for a slot; a model without a limit has one at once. Raises `model_concurrency_limit` when none came in time, or the reason
 * that ended the request meanwhile.
 */
export function admitToModel(
  runtime: WorkerRuntime,
  key: string,
  context: RequestContext
): ModelSlot | Promise<ModelSlot> {
  const answer = runtime.control.acquireSlot(key, context.signal)
  return answer instanceof Promise
    ? answer.then(release => requireSlot(release, runtime, key, context))
    : requireSlot(answer, runtime, key, context)
}

function requireSlot(release: SlotGrant, runtime: WorkerRuntime, key: string, context: RequestContext): ModelSlot {
  if (release !== null) return { release }
  if (context.signal.aborted) throw context.signal.reason
  const limit = limitOf(slotLimitsFrom(runtime.settings), key)
  runtime.log.warn(
    { event: 'model_concurrency_timeout', provider: 'native', model: key, limit, request_id: context.requestId },
    `Concurrency limit reached for model ${key}: ${limit}`
  )
  throw new GatewayError('model_concurrency_limit', { param: 'model', retryAfter: '1' })
}
