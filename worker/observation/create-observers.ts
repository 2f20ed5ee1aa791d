// The only list of observers. Each is loaded only when the settings ask for it.
import type { Logger } from '../../shared/logging.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import type { ProfileSet } from '../../shared/profile.ts'
import type { Settings } from '../../shared/settings.ts'
import type { ControlChannel } from '../control/control-channel.ts'
import type { RequestObserver } from './observer.ts'

/** Where requests are counted, and where the names of models come from. */
interface MetricsSources {
  registry: MetricRegistry
  profiles: ProfileSet
  control: Pick<ControlChannel, 'catalogSnapshot'>
}

/** Resolves with the observers that the settings switch on, in the order in which they are notified. */
export async function createObservers(dependencies: {
  settings: Pick<Settings, 'accessLog' | 'metricsPath' | 'metricsMaxModels'>
  log: Logger
  metrics?: MetricsSources | undefined
}): Promise<RequestObserver[]> {
  const { settings, log, metrics } = dependencies
  const observers: RequestObserver[] = []
  if (settings.accessLog) {
    const { createAccessLog } = await import('./access-log.ts')
    observers.push(createAccessLog({ log, metricsPath: settings.metricsPath }))
  }
  if (metrics !== undefined) {
    const { createMetricsObserver } = await import('./metrics/observer.ts')
    const { createModelLabel } = await import('./metrics/model-label.ts')
    const labelModel = createModelLabel(metrics, { namesMax: settings.metricsMaxModels })
    observers.push(createMetricsObserver({ registry: metrics.registry, labelModel }))
  }
  return observers
}
