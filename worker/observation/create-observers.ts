// The only list of observers. Each is loaded only when the settings ask for it.
import type { Logger } from '../../shared/logging.ts'
import type { Settings } from '../../shared/settings.ts'
import type { RequestObserver } from './observer.ts'

/** Resolves with the observers that the settings switch on, in the order in which they are notified. */
export async function createObservers(dependencies: {
  settings: Pick<Settings, 'accessLog' | 'metricsPath'>
  log: Logger
}): Promise<RequestObserver[]> {
  const { settings, log } = dependencies
  const observers: RequestObserver[] = []
  if (settings.accessLog) {
    const { createAccessLog } = await import('./access-log.ts')
    observers.push(createAccessLog({ log, metricsPath: settings.metricsPath }))
  }
  return observers
}
