// Several calls for one request of a client, of which each has a part of the response.

import { GatewayError } from '../normalized/index.ts'
import type { CallContext, Executor, ResourceCall, ResourceResponse } from '../providers/types.ts'
import { makeRequest } from './make-request.ts'

/** A client's request takes no more connections at once. */
const CALLS_AT_ONCE_MAX = 4

/** The responses together are held in memory. */
const RESPONSE_BYTES_MAX = 128 * 1024 * 1024

/**
 * Makes the calls, a few at a time, and resolves with their responses in the order of the calls. The first failure aborts the calls that
 * run, and is raised once all of them have ended.
 */
export async function requestAll(
  executor: Executor,
  calls: readonly ResourceCall[],
  context: CallContext
): Promise<ResourceResponse[]> {
  const abortion = new AbortController()
  const signal = AbortSignal.any([context.signal, abortion.signal])
  const responses: ResourceResponse[] = []
  const failures: unknown[] = []
  let next = 0
  let bytes = 0

  async function work(): Promise<void> {
    while (next < calls.length && failures.length === 0) {
      const index = next++
      const response = await makeRequest(
        executor,
        calls[index] as ResourceCall,
        { ...context, signal },
        async one => one
      )
      bytes += response.bytes.byteLength
      if (bytes > RESPONSE_BYTES_MAX) throw new GatewayError('provider_protocol_error', { cause: 'response_too_large' })
      responses[index] = response
    }
  }

  const workers = Array.from({ length: Math.min(CALLS_AT_ONCE_MAX, calls.length) }, () =>
    work().catch(thrown => {
      failures.push(thrown)
      abortion.abort(thrown)
    })
  )
  await Promise.all(workers)
  if (failures.length > 0) throw failures[0]
  return responses
}
