// The handlers of the operations in `worker/operations/table.ts`, by id: an entry without a handler
// is a type error here.

import type { OperationHandlers } from '../http/mount-operations.ts'
import type { Operation } from '../operations/operation.ts'
import { type OperationId, operations } from '../operations/table.ts'
import { createCompletionsHandlers } from './completions.ts'
import { createContentHandlers } from './content.ts'
import { createMessagesHandlers } from './messages.ts'
import { createModelHandlers } from './models.ts'
import { createResponsesHandlers } from './responses.ts'
import { createStoredHandlers } from './stored-handlers.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** A table of operations, and what handles them. */
export interface ServedOperations<Id extends string = string> {
  readonly table: readonly Operation<Id>[]
  readonly createHandlers: (runtime: WorkerRuntime) => OperationHandlers<Id>
}

/** The operations of the product. */
export const servedOperations: ServedOperations<OperationId> = { table: operations, createHandlers }

function createHandlers(runtime: WorkerRuntime): OperationHandlers<OperationId> {
  return {
    ...createCompletionsHandlers(runtime),
    ...createResponsesHandlers(runtime),
    ...createStoredHandlers(runtime),
    ...createMessagesHandlers(runtime),
    ...createContentHandlers(runtime),
    ...createModelHandlers(runtime)
  }
}
