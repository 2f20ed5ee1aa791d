// Every route of a worker, mounted in one list.

import type { FastifyInstance } from 'fastify'
import { registerBridgeRoutes } from './bridge.ts'
import { registerCompletionsRoutes } from './completions.ts'
import { registerContentRoutes } from './content.ts'
import { registerMessagesRoutes } from './messages.ts'
import { registerModelRoutes } from './models.ts'
import { registerResponsesRoutes } from './responses.ts'
import { registerSystemRoutes } from './system.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** Mounts the system routes, the routes of each protocol family, and the model routes that families share. */
export function registerRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  registerSystemRoutes(app, runtime)
  registerBridgeRoutes(app, runtime)
  registerCompletionsRoutes(app, runtime)
  registerResponsesRoutes(app, runtime)
  registerMessagesRoutes(app, runtime)
  registerContentRoutes(app, runtime)
  registerModelRoutes(app, runtime)
}
