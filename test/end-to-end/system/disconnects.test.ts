// A client that leaves: what is counted, what the log says of it, and the end of the upstream's work (operations contract, section 3.6).

import t from 'tap'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { scrapeUntil } from '../../support/metrics.ts'
import { waitUntil } from '../../support/processes.ts'
import { openStream, urlOf } from './support.ts'

const emulator = await startEmulator(t)
const env = { ...emulatorVariables(emulator), GATEWAY_ACCESS_LOG: 'true', GATEWAY_METRICS_ENABLED: 'true' }

t.test("operations 55: a stream that its client leaves is counted once, and the upstream's work ends", async t => {
  const gateway = await startGateway(t, { env })
  const { aborted } = emulator.stats
  const controller = new AbortController()
  const response = await openStream(gateway, 'completions', '[[tick:50]][[len:5000]]', { signal: controller.signal })
  const reader = response.body?.getReader()
  for (let chunks = 0; chunks < 2; chunks += 1) await reader?.read()
  controller.abort()
  await reader?.read().catch(() => undefined)
  await emulator.waitFor(({ stats }) => stats.aborted === aborted + 1 && stats.activeChatRequests === 0)
  await scrapeUntil(gateway, metrics => metrics.sum('gateway_stream_disconnects_total') === 1, 'it is counted')
  const lines = () => readLog(gateway).filter(line => line.event === 'http_access' && line.status === 499)
  await waitUntil(() => lines().length > 0, 'it has its line')
  t.match(lines(), [{ lifecycle: 'streaming_aborted', error_type: 'stream_cancelled' }])
})

t.test("operations 56: a whole request that its client leaves early ends the upstream's work", async t => {
  const gateway = await startGateway(t, { env })
  const { aborted } = emulator.stats
  const controller = new AbortController()
  const asked = fetch(urlOf(gateway, 'completions'), {
    method: 'POST',
    body: JSON.stringify({ model: 'GigaChat-2', messages: [{ role: 'user', content: '[[hang]]' }] }),
    signal: controller.signal
  }).catch(() => undefined)
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  controller.abort()
  await asked
  await emulator.waitFor(({ stats }) => stats.aborted === aborted + 1)
  const lines = () => readLog(gateway).filter(line => line.event === 'http_access' && line.status === 499)
  await waitUntil(() => lines().length > 0, 'it has its line')
  t.match(lines(), [{ lifecycle: 'request_aborted', error_type: 'request_cancelled' }])
  const metrics = await scrapeUntil(
    gateway,
    text => text.sum('gateway_requests_total', { status: '499' }) === 1,
    'it is counted'
  )
  t.equal(metrics.sum('gateway_stream_disconnects_total'), 0)
})
