// The processes beside supervisor and workers, and which of them the settings ask for.
import { type MemoryPlan, planMemory, readMemoryLimit } from './memory-plan.ts'
import type { Settings } from './settings.ts'
import { planSinks } from './traffic/sinks.ts'

export const SERVICE_NAMES = ['writer', 'store', 'limits'] as const
export type ServiceName = (typeof SERVICE_NAMES)[number]

/** The processes that these settings need beside workers. */
export function listServices(settings: Settings): ServiceName[] {
  const needed = {
    writer: needsWriter(settings),
    store: settings.responsesStoreDsn !== undefined,
    limits: settings.limitsRedisUrl !== undefined && settings.keysFile !== undefined
  }
  return SERVICE_NAMES.filter(name => needed[name])
}

/** Records have to be stored, or the admin API asks for stored ones. */
function needsWriter(settings: Settings): boolean {
  const { sinks, relational } = planSinks(settings)
  return sinks.length > 0 || (settings.adminApiEnabled && relational !== undefined)
}

/** How the memory limit of this process, if any, is divided among the processes of a gateway with these settings. */
export function planGatewayMemory(settings: Settings, limitBytes = readMemoryLimit()): MemoryPlan | undefined {
  const { workers, poolThreads, trafficLogEnabled, trafficLogCaptureContent } = settings
  return planMemory({
    limitBytes,
    workers,
    services: listServices(settings).length,
    threadsPerWorker: poolThreads,
    keepsContent: trafficLogEnabled && trafficLogCaptureContent
  })
}
