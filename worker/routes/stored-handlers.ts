// The handlers of the operations on stored things. They are loaded with the first request: without a store no request reaches them, and
// nothing of them is loaded (memory.md 7, case 17).

import type { OperationHandler, OperationHandlers } from '../http/mount-operations.ts'
import { GatewayError } from '../normalized/index.ts'
import { type StoredOperationId, storedOperations } from '../operations/stored.ts'
import { importOnce } from '../performance/import-once.ts'
import type { StoredRuntime, WorkerRuntime } from './worker-runtime.ts'

export function createStoredHandlers(runtime: WorkerRuntime): OperationHandlers<StoredOperationId> {
  const { memory: store } = runtime
  const load = importOnce(async () => {
    if (store === undefined) throw new GatewayError('unknown_url')
    return loadHandlers({ ...runtime, store })
  })
  const entries = storedOperations.map(({ id }): [StoredOperationId, OperationHandler] => [
    id,
    async (request, reply, path) => (await load())[id](request, reply, path)
  ])
  return Object.fromEntries(entries) as OperationHandlers<StoredOperationId>
}

async function loadHandlers(runtime: StoredRuntime): Promise<OperationHandlers<StoredOperationId>> {
  const [{ createStoredResponseHandlers }, { createConversationHandlers }] = await Promise.all([
    import('./stored-responses.ts'),
    import('./conversations.ts')
  ])
  return { ...createStoredResponseHandlers(runtime), ...createConversationHandlers(runtime) }
}
