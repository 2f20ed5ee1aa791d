// Opens the metrics of a gateway that is about to start, and the listener of their own where one is configured.
import { createKeyRing } from '../../shared/keys/key-ring.ts'
import type { Logger } from '../../shared/logging.ts'
import { readCommit, readVersion } from '../../shared/version.ts'
import type { KeysSource } from '../keys/keys-in-force.ts'
import { toListenFailure } from '../lifecycle/start-failure.ts'
import { writeAddress } from '../listening/address.ts'
import type { RuntimePlan } from '../plan/runtime-plan.ts'
import { listenForScrapes, type MetricsListener } from './listener.ts'
import { createSupervisorMetrics, type SupervisorMetrics } from './supervisor-metrics.ts'

export interface OpenMetrics {
  readonly metrics: SupervisorMetrics
  close(): Promise<void>
}

/** What no label may say (operations.md 7.5). */
function describeBuild(): string {
  return `llm-gateway ${readVersion()}, Node ${process.version}, commit ${readCommit() ?? 'unknown'}.`
}

/** Rejects with `StartFailure` when the port of the metrics cannot be used. */
export async function openMetrics(
  { log, keys }: { log: Logger; keys: KeysSource },
  { settings }: Pick<RuntimePlan, 'settings'>
): Promise<OpenMetrics> {
  const helpTexts = { gateway_build_info: describeBuild() }
  const metrics = createSupervisorMetrics({ log, nowMs: Date.now }, { modelsMax: settings.metricsMaxModels, helpTexts })
  const { metricsPort: port, metricsHost: host } = settings
  let listener: MetricsListener | undefined
  if (port !== undefined) {
    const keyRing = createKeyRing(settings, keys.current())
    keys.onChanged(keyRing.replace)
    listener = await listenForScrapes(
      { log, scrape: metrics.scrape, nowMs: Date.now },
      { port, settings, keyRing }
    ).catch(error => {
      throw toListenFailure(error, { host, port })
    })
    const address = { host, port: listener.port }
    log.info(
      { event: 'metrics_listening', ...address },
      `Metrics at http://${writeAddress(address)}${settings.metricsPath}`
    )
  }
  return {
    metrics,
    async close() {
      await listener?.close()
      metrics.close()
    }
  }
}
