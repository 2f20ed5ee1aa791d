// The metrics of the whole gateway in the text form that a scraper reads (operations.md 7.1).
import type { FastifyInstance } from 'fastify'
import { chooseMetricsFormat, METRICS_CONTENT_TYPES } from '../../shared/metrics/format.ts'
import { SettingsError } from '../../shared/settings.ts'
import type { WorkerMetrics } from '../control/metrics-channel.ts'
import { systemTraits } from '../http/request/route-traits.ts'
import { sendWhole } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'

/** No cache keeps what only an operator may read, and no browser takes a label for markup. */
const METRICS_HEADERS = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff']

/** Mounts the metrics path. Raises `SettingsError` where another route has that path. */
export function registerMetricsRoute(
  app: FastifyInstance,
  { metrics, path }: { metrics: WorkerMetrics; path: string }
): void {
  if (app.hasRoute({ method: 'GET', url: path })) {
    throw new SettingsError([{ setting: 'GATEWAY_METRICS_PATH', message: 'is the path of another route' }])
  }
  app.route({
    method: ['GET', 'HEAD'],
    url: path,
    config: { traits: systemTraits(path, 'operator-key') },
    async handler({ context }, reply) {
      const format = chooseMetricsFormat(context.incoming.headers.accept)
      const body = await metrics.scrape(format)
      if (body === undefined)
        throw new GatewayError('internal_error', { cause: 'the supervisor sent no metrics in time' })
      sendWhole(reply, { status: 200, contentType: METRICS_CONTENT_TYPES[format], headers: METRICS_HEADERS, body })
    }
  })
}
