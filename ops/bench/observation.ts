// What observing costs: one checkout with everything off against the same with metrics, access log and sampled traces.

import { once } from 'node:events'
import { createServer } from 'node:http'

/** The most that a request may cost with them, of what it costs without. */
export const OBSERVATION_RATIO_MAX = 1.15

/** Share of requests that is traced. */
const SAMPLE_RATE = '0.01'

export interface Observation {
  /** Settings of the gateway that observes. */
  variables: Record<string, string>
  close(): Promise<void>
}

/** Starts a collector that takes every span and forgets it. */
export async function startObservation(): Promise<Observation> {
  const collector = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end())
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const address = collector.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    variables: {
      GATEWAY_METRICS_ENABLED: 'true',
      GATEWAY_ACCESS_LOG: 'true',
      GATEWAY_OBSERVABILITY_ENABLED: 'true',
      GATEWAY_OBSERVABILITY_SAMPLE_RATE: SAMPLE_RATE,
      GATEWAY_TRACE_COLLECTOR_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf'
    },
    async close() {
      collector.closeAllConnections()
      collector.close()
      await once(collector, 'close')
    }
  }
}
