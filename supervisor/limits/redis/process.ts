// The process of shared limits as a service of the supervisor: holds the connection to Redis or Valkey, and closes it.
import { readRedisUrl } from '../../../shared/limits/redis-url.ts'
import { listLimitsSecrets, readLimitsSettings } from '../../../shared/settings/limits-settings.ts'
import type { RunningService, Service, ServiceFailure, ServiceStart } from '../../processes/service-process.ts'
import { createRedisCounters } from './client.ts'
import { COUNTER_TIMES } from './exchange-format.ts'

/** The process of shared limits. A server that is away does not end it: the first requests find an outage then. */
export function createLimitsProcess(): Service {
  return { name: 'limits', title: 'process of shared limits', start: startLimits, explainFailure }
}

class AddressError extends Error {}

async function startLimits({ settings: transferred, gatewayId, openLog }: ServiceStart): Promise<RunningService> {
  const settings = readLimitsSettings(transferred)
  const log = openLog(settings, listLimitsSecrets(settings))
  // The supervisor starts this process only where it is set, and the preflight has refused every other form.
  const address = readRedisUrl(settings.limitsRedisUrl?.reveal() ?? '')
  if (address === undefined) throw new AddressError('GATEWAY_LIMITS_REDIS_URL is no address of Redis')
  const counters = createRedisCounters(
    { log, nowMs: () => performance.now(), random: Math.random },
    { address, prefix: settings.limitsPrefix, gatewayId, times: COUNTER_TIMES }
  )
  await counters.tried
  return { counters, close: () => counters.close() }
}

function explainFailure(error: unknown): ServiceFailure | undefined {
  return error instanceof AddressError ? { reason: 'configuration', detail: error.message } : undefined
}
