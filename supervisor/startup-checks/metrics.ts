// Where metrics are read.
import { isFixedPath } from '../../shared/fixed-paths.ts'
import type { Settings } from '../../shared/settings.ts'
import type { Findings } from './findings.ts'

export function checkMetricsPort({ metricsPort, metricsEnabled, port }: Settings, findings: Findings): void {
  const setting = 'GATEWAY_METRICS_PORT'
  if (metricsPort === undefined) return
  if (!metricsEnabled) findings.warn(`${setting} has no effect while GATEWAY_METRICS_ENABLED is off.`)
  else if (metricsPort === port && port !== 0) findings.refuse(setting, 'must be another port than GATEWAY_PORT')
}

export function checkMetricsPath({ metricsEnabled, metricsPort, metricsPath }: Settings, findings: Findings): void {
  // A listener of their own has no other paths.
  if (!metricsEnabled || metricsPort !== undefined || !isFixedPath(metricsPath)) return
  findings.refuse('GATEWAY_METRICS_PATH', 'is the path of another route')
}
