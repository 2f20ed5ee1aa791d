// The only list of routes that depend on the settings. Each is loaded only when the settings ask for it.
import type { FastifyInstance } from 'fastify'
import type { Settings } from '../../shared/settings.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** Mounts the routes of one feature. */
export type RegisterRoutes = (app: FastifyInstance, runtime: WorkerRuntime) => void

/**
 * Resolves with a function for each feature that the settings switch on, in the order in which they are mounted: the documentation
 * first, because it lists the routes that are mounted after it.
 */
export async function loadOptionalRoutes(settings: Pick<Settings, 'mode'>): Promise<RegisterRoutes[]> {
  const registers: RegisterRoutes[] = []
  if (settings.mode === 'DEV') {
    const { registerDocsRoutes } = await import('./docs.ts')
    const { registerLogRoutes } = await import('./logs/register.ts')
    registers.push(registerDocsRoutes, registerLogRoutes)
  }
  return registers
}
