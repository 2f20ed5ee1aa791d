// A client that leaves: what is counted, what is recorded, and the end of the upstream's work
// (operations.md 3.6).

import t from 'tap'
import { scrapeUntil } from '../../support/metrics.ts'
import { startRecordedGateway } from '../../support/recorded-gateway.ts'
import { bodyOf, families, model, openStream, urlOf } from './support.ts'

const env = { GATEWAY_METRICS_ENABLED: 'true' }

t.test(
  "operations 55: a stream that its client leaves is counted and recorded once, and the upstream's work ends",
  async t => {
    const gateway = await startRecordedGateway(t, { env })
    const { emulator } = gateway
    for (const [index, family] of families.entries()) {
      const controller = new AbortController()
      const response = await openStream(gateway, family, '[[tick:50]][[len:5000]]', { signal: controller.signal })
      const reader = response.body?.getReader()
      for (let chunks = 0; chunks < 2; chunks += 1) await reader?.read()
      controller.abort()
      await reader?.read().catch(() => undefined)
      await emulator.waitFor(({ stats }) => stats.aborted === index + 1 && stats.activeChatRequests === 0)
      await scrapeUntil(gateway, text => text.sum('gateway_stream_disconnects_total') === index + 1, 'it is counted')
      t.match(
        await gateway.rowOf(response),
        { status_code: 499, upstream_status_code: 200, error_type: 'stream_cancelled' },
        family
      )
    }
    const aborted = { status_code: 499, error_type: 'stream_cancelled', metadata: { lifecycle: 'streaming_aborted' } }
    t.match(
      gateway.records().filter(({ status_code }) => status_code === 499),
      families.map(() => aborted)
    )
  }
)

t.test(
  "operations 56: a whole request that its client leaves early is recorded, and ends the upstream's work",
  async t => {
    const gateway = await startRecordedGateway(t, { env })
    const { emulator } = gateway
    for (const [index, family] of families.entries()) {
      const controller = new AbortController()
      const url = urlOf(gateway, family)
      const asked = fetch(url, {
        method: 'POST',
        body: JSON.stringify(bodyOf(family, '[[hang]]')),
        signal: controller.signal
      }).catch(() => undefined)
      await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
      controller.abort()
      await asked
      await emulator.waitFor(({ stats }) => stats.aborted === index + 1)
      const path = new URL(url).pathname
      const record = await gateway.recordWhere(({ metadata }) => metadata.path === path, 'it has its record')
      t.match(
        record,
        {
          status_code: 499,
          error_type: 'request_cancelled',
          model_requested: model,
          client_ip_hash: /^hmac-sha256:/,
          metadata: { lifecycle: 'request_aborted' }
        },
        family
      )
    }
    const metrics = await scrapeUntil(
      gateway,
      text => text.sum('gateway_requests_total', { status: '499' }) === families.length,
      'all are counted'
    )
    t.equal(metrics.sum('gateway_stream_disconnects_total'), 0)
  }
)
