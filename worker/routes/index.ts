// Every route of a worker, mounted in one list.
import type { FastifyInstance } from 'fastify'
import type { WorkerRuntime } from '../runtime.ts'
import { registerCompletionsRoutes } from './completions.ts'
import { registerSystemRoutes } from './system.ts'

/** Mounts what the worker serves. The protocol families follow the system routes, one line each. */
export function registerRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  registerSystemRoutes(app, runtime)
  registerCompletionsRoutes(app, runtime)
}
