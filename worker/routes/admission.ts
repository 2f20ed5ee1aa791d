// The last gate before a provider is called: a host-wide slot for the model, taken before any header is sent, so that a full
// model is a 429 and never a broken stream (operations.md 3.7, field lesson N8).

import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import type { WorkerRuntime } from '../runtime.ts'

export interface ModelSlot {
  /** Gives the slot back, after the last byte of the answer. */
  release(): void
}

/** Waits for a slot. Raises `model_concurrency_limit` when none came in time, or the reason that ended the request meanwhile. */
export async function admitToModel(runtime: WorkerRuntime, key: string, context: RequestContext): Promise<ModelSlot> {
  const release = await runtime.control.acquireSlot(key, context.signal)
  if (release !== null) return { release }
  context.signal.throwIfAborted()
  runtime.log.warn(
    { event: 'model_concurrency_timeout', provider: 'native', model: key, request_id: context.requestId },
    'Concurrency limit reached for a model'
  )
  throw new GatewayError('model_concurrency_limit', { param: 'model', retryAfter: '1' })
}
