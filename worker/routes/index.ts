// Every route of a worker, mounted in one list. Routes that depend on the settings are loaded only
// when the settings ask for them.

import type { FastifyInstance } from 'fastify'
import { mountOperations } from '../http/mount-operations.ts'
import { registerBridgeRoutes } from './bridge.ts'
import type { ServedOperations } from './operation-handlers.ts'
import { registerSystemRoutes } from './system.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/**
 * Mounts the system routes, the operations of the client protocols, and the routes of each feature
 * that the settings switch on. Rejects with `SettingsError` where a configured path is the path of
 * another route.
 */
export async function registerRoutes(
  app: FastifyInstance,
  runtime: WorkerRuntime,
  createHandlers: ServedOperations['createHandlers']
): Promise<void> {
  const { settings, metrics, memory } = runtime
  if (settings.mode === 'DEV') {
    // First, because it lists the routes that are mounted after it.
    const { registerDocsRoutes } = await import('./docs.ts')
    registerDocsRoutes(app, runtime)
  }
  registerSystemRoutes(app, runtime)
  registerBridgeRoutes(app, runtime)
  mountOperations(app, runtime.operations, createHandlers(runtime))
  if (settings.mode === 'DEV') {
    const { registerLogRoutes } = await import('./logs/register.ts')
    registerLogRoutes(app, runtime)
  }
  if (settings.adminApiEnabled) {
    const [{ registerAdminRoutes }, { registerKeyRoutes }, { registerAdminUiRoutes }] = await Promise.all([
      import('./admin.ts'),
      import('./admin-keys.ts'),
      import('./admin-ui.ts')
    ])
    registerAdminRoutes(app, runtime)
    registerKeyRoutes(app, runtime)
    registerAdminUiRoutes(app)
    if (memory !== undefined) {
      const { registerThreadRoutes } = await import('./admin-threads.ts')
      registerThreadRoutes(app, runtime, memory)
    }
  }
  if (settings.debugTranslateEnabled) {
    const { registerDebugRoutes } = await import('./debug.ts')
    registerDebugRoutes(app, runtime)
  }
  // A listener of their own keeps scrapes off this port. Last, because the path is the operator's
  // choice.
  if (metrics !== undefined && settings.metricsPort === undefined) {
    const { registerMetricsRoute } = await import('./metrics.ts')
    registerMetricsRoute(app, { metrics, path: settings.metricsPath })
  }
}
