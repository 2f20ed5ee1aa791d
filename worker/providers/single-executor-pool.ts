// The executor pool of a provider with a single credential, the gateway's. All kinds except native use it.

import { GatewayError } from '../normalized/index.ts'
import type { Executor, ExecutorPool } from './types.ts'

/**
 * A pool of one executor. `acquire` raises `invalid_upstream_authorization` for an authorization
 * that a client brought: it is meant for the native upstream, and no other provider must see it
 * (bridge.md 8.2).
 */
export function createSingleExecutorPool(executor: Executor): ExecutorPool {
  let isClosed = false
  const lease = { executor, release: () => undefined }
  return {
    acquire(authorization) {
      if (isClosed) throw shuttingDown()
      if (authorization.type !== 'server') throw new GatewayError('invalid_upstream_authorization')
      return lease
    },
    certificates: () => executor.certificates?.(),
    close() {
      isClosed = true
      return executor.close()
    },
    destroy() {
      isClosed = true
      return executor.destroy()
    }
  }
}

/** The error of a pool that was closed. */
export function shuttingDown(): GatewayError {
  return new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down', retryAfter: '1' })
}
