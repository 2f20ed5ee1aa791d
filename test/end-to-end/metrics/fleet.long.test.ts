// The totals of a gateway with several workers, of which one is killed (operations.md 7.5;
// field-lessons.md K1 to K3).

import t from 'tap'
import type { Emulator } from '../../../ops/emulator/server.ts'
import { get } from '../../support/client.ts'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { scrape, scrapeUntil } from '../../support/metrics.ts'
import type { MetricsText } from '../../support/metrics-text.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { bodyOf, type Family, families, openStream, urlOf } from '../system/support.ts'

const MODEL = 'GigaChat-2-Max'
const PROTOCOLS = { completions: 'openai', responses: 'openai', messages: 'anthropic', content: 'gemini' } as const
const USAGE = { input: 3, output: 2 }

/** What the clients of a gateway have counted: numbers of requests by labels, and token sums. */
class ClientCounts {
  readonly requests = new Map<string, number>()
  inputTokens = 0
  outputTokens = 0
  disconnects = 0
  streams = 0

  count(labels: Readonly<Record<string, string>>): void {
    const key = writeLabels(labels)
    this.requests.set(key, (this.requests.get(key) ?? 0) + 1)
  }

  countUsage(): void {
    this.inputTokens += USAGE.input
    this.outputTokens += USAGE.output
  }

  get total(): number {
    return [...this.requests.values()].reduce((sum, one) => sum + one, 0)
  }
}

const writeLabels = (labels: Readonly<Record<string, string>>) => JSON.stringify(Object.entries(labels).sort())

function routeOf(family: Family, isStream: boolean): string {
  switch (family) {
    case 'completions':
      return '/v1/chat/completions'
    case 'responses':
    case 'messages':
      return `/v1/${family}`
    case 'content':
      return `/v1beta/models/{model}:${isStream ? 'streamGenerateContent' : 'generateContent'}`
  }
}

/** One request of each kind in turn; resolves when its client has seen its end. */
async function sendOne(
  index: number,
  gateway: StartedGateway,
  emulator: Emulator,
  counts: ClientCounts
): Promise<void> {
  const family = families[index % families.length] as Family
  const protocol = PROTOCOLS[family]
  const kind = Math.floor(index / families.length) % 7
  const isStream = kind === 1 || kind === 5
  const labels = { method: 'POST', protocol, provider: 'native', route: routeOf(family, isStream) }
  const options = { model: MODEL, stream: isStream, query: family === 'content' && isStream ? '?alt=sse' : '' }
  const send = async (text: string, signal?: AbortSignal) => {
    const response = await fetch(urlOf(gateway, family, options), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(family, text, options)),
      ...(signal && { signal })
    })
    await response.arrayBuffer()
    return response.status
  }
  switch (kind) {
    case 0:
    case 1: {
      t.equal(await send(`[[usage:${USAGE.input},${USAGE.output},0]]`), 200)
      counts.count({ ...labels, status: '200', lifecycle: isStream ? 'streaming_completed' : 'request_completed' })
      counts.countUsage()
      if (isStream) counts.streams += 1
      break
    }
    case 2:
    case 3: {
      const status = kind === 2 ? 429 : 500
      t.equal(await send(`[[error:${status}]]`), status)
      counts.count({ ...labels, status: String(status), lifecycle: 'request_error' })
      break
    }
    case 4: {
      const response = await get(`${gateway.url}/unknown/${index}`)
      t.equal(response.status, 404)
      const system = { method: 'GET', protocol: 'system', route: 'unmatched' }
      counts.count({ ...system, status: '404', lifecycle: 'request_error' })
      break
    }
    case 5: {
      const abort = new AbortController()
      const stream = await openStream(gateway, family, '[[hang:1]]', { ...options, signal: abort.signal })
      await stream.body?.getReader().read()
      abort.abort()
      counts.count({ ...labels, status: '499', lifecycle: 'streaming_aborted' })
      counts.disconnects += 1
      counts.streams += 1
      break
    }
    case 6: {
      const abort = new AbortController()
      const mark = `request ${index} is here [[hang]]`
      const ended = send(mark, abort.signal).catch(() => 'aborted')
      await emulator.waitFor(({ requests }) =>
        requests.some(({ body }) => body !== undefined && JSON.stringify(body).includes(mark))
      )
      abort.abort()
      t.equal(await ended, 'aborted')
      counts.count({ ...labels, status: '499', lifecycle: 'request_aborted' })
      break
    }
  }
}

/** Sends these requests, at most eight at a time. */
async function sendAll(
  indices: readonly number[],
  gateway: StartedGateway,
  emulator: Emulator,
  counts: ClientCounts
): Promise<void> {
  const waiting = [...indices]
  const client = async () => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      await sendOne(index, gateway, emulator, counts)
    }
  }
  await Promise.all(Array.from({ length: 8 }, client))
}

/** All requests but the scrapes. */
function clientRequests(metrics: MetricsText) {
  return metrics.samples('gateway_requests_total').filter(({ labels }) => labels.route !== '/metrics')
}

const totalOf = (metrics: MetricsText) => clientRequests(metrics).reduce((sum, { value }) => sum + value, 0)

/** Everything that may only rise, by name and labels. */
function readRising(metrics: MetricsText): Map<string, number> {
  const rising = new Map<string, number>()
  for (const { type, samples } of metrics.families) {
    if (type === 'gauge') continue
    for (const { name, labels, value } of samples) rising.set(name + writeLabels(labels), value)
  }
  return rising
}

t.test(
  'operations 67: counters do not fall when a worker is replaced, and the totals are exactly what the clients counted (K1, K3)',
  async t => {
    const emulator = await startEmulator(t)
    const gateway = await startGateway(t, {
      env: { ...emulatorVariables(emulator), GATEWAY_METRICS_ENABLED: 'True', GATEWAY_WORKERS: '4' }
    })
    const counts = new ClientCounts()

    let last = new Map<string, number>()
    let scrapes = 0
    /** No series falls or is gone; a sample of zeros without labels is replaced by the first real one. */
    function expectRise(metrics: MetricsText): void {
      const rising = readRising(metrics)
      for (const [sample, value] of last) {
        if ((rising.get(sample) ?? 0) < value) t.fail(`${sample} fell from ${value} to ${rising.get(sample)}`)
      }
      last = rising
      scrapes += 1
    }
    /** Scrapes one after the other, each on a new connection, until told to stop. */
    function startScraping(): () => Promise<void> {
      let isStopped = false
      const scraping = (async () => {
        while (!isStopped) {
          // The worker that is killed may have this connection.
          const metrics = await scrape(gateway).catch(() => undefined)
          if (metrics !== undefined) expectRise(metrics)
        }
      })()
      return async () => {
        isStopped = true
        await scraping
      }
    }
    async function expectExact(): Promise<MetricsText> {
      const metrics = await scrapeUntil(gateway, one => totalOf(one) === counts.total, `${counts.total} are counted`)
      expectRise(metrics)
      const counted = new Map(clientRequests(metrics).map(({ labels, value }) => [writeLabels(labels), value]))
      t.same(counted, counts.requests)
      const seconds = metrics.samples('gateway_request_duration_seconds_count')
      const durations = seconds.filter(({ labels }) => labels.route !== '/metrics')
      t.same(new Map(durations.map(({ labels, value }) => [writeLabels(labels), value])), counts.requests)
      t.equal(metrics.sum('gateway_tokens_input_total'), counts.inputTokens)
      t.equal(metrics.sum('gateway_tokens_output_total'), counts.outputTokens)
      t.equal(metrics.sum('gateway_stream_disconnects_total'), counts.disconnects)
      t.equal(metrics.sum('gateway_time_to_first_byte_seconds_count'), counts.streams)
      for (const status of ['429', '500']) {
        const responses = emulator.requests.filter(
          ({ path, status: sent }) => path.includes('/chat/') && sent === Number(status)
        )
        t.equal(metrics.sum('gateway_upstream_requests_total', { status }), responses.length, status)
        t.equal(metrics.sum('gateway_upstream_errors_total', { status }), responses.length, status)
      }
      t.equal(metrics.sum('gateway_streams_in_flight'), 0)
      t.equal(metrics.sum('gateway_requests_in_flight'), 1, 'only the scrape itself')
      t.equal(metrics.sum('gateway_metrics_late_workers'), 0)
      return metrics
    }

    const indices = Array.from({ length: 1000 }, (_, index) => index)
    let stopScraping = startScraping()
    await sendAll(indices.slice(0, 500), gateway, emulator, counts)
    await stopScraping()
    await expectExact()

    // Nothing runs in any worker now, so that nothing that was counted is unknown to the supervisor.
    const pid = gateway.process.pid ?? 0
    const before = readChildPids(pid)
    stopScraping = startScraping()
    process.kill(before[0] ?? 0, 'SIGKILL')
    await waitUntil(() => !readChildPids(pid).includes(before[0] ?? 0), 'the worker has exited')
    await stopScraping()
    await expectExact()
    await waitUntil(() => readChildPids(pid).length === 4, 'the worker is respawned')

    stopScraping = startScraping()
    await sendAll(indices.slice(500), gateway, emulator, counts)
    await stopScraping()
    await expectExact()
    t.equal(counts.total, 1000)
    while (scrapes < 50) expectRise(await scrape(gateway))
    t.equal(await gateway.stop(), 0)
  }
)
