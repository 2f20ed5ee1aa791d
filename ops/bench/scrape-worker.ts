// A worker of the scrape benchmark: the metrics of a worker without its requests.

import { createMessage, readSupervisorMessage } from '../../shared/ipc/messages.ts'
import type { CounterCell, HistogramCell, MetricRegistry } from '../../shared/metrics/registry.ts'
import { createMetricsChannel } from '../../worker/control/metrics-channel.ts'
import { startBlockMeter } from './block-meter.ts'

export type ScrapeOrder = { bench: 'touch' } | { bench: 'scrape' } | { bench: 'end' }
export type ScrapeReply =
  | { bench: 'touched' }
  | { bench: 'scraped'; bytes: number }
  | { bench: 'ended'; longestMs: number }

const MODELS = 100
const PROTOCOLS = ['openai', 'anthropic', 'gemini']
const STATUSES = [200, 400, 401, 404, 413, 429, 499, 500, 502, 503]
const ROUTES = 25

const channel = createMetricsChannel({ send: message => process.send?.(createMessage(message)) })
const meter = startBlockMeter()
const samples = createSamples(channel.registry)

/** 1700 label sets: 4 for each of 100 models in 3 protocols, and 2 for each of 250 routes with a status. Half of them are histograms. */
function createSamples(registry: MetricRegistry): { counters: CounterCell[]; histograms: HistogramCell[] } {
  const counters: CounterCell[] = []
  const histograms: HistogramCell[] = []
  const provider = 'native'
  for (const protocol of PROTOCOLS) {
    for (let index = 0; index < MODELS; index++) {
      const labels = { protocol, provider, model: `model-with-a-usual-name-${index}` }
      histograms.push(registry.histogram('gateway_time_to_first_token_seconds').with(labels))
      histograms.push(registry.histogram('gateway_inter_token_seconds').with(labels))
      counters.push(registry.counter('gateway_tokens_input_total').with({ ...labels, route: '/v1/chat/completions' }))
      counters.push(registry.counter('gateway_tokens_output_total').with({ ...labels, route: '/v1/chat/completions' }))
    }
  }
  for (let index = 0; index < ROUTES; index++) {
    for (const status of STATUSES) {
      const lifecycle = status < 400 ? 'request_completed' : 'request_error'
      const labels = {
        protocol: 'openai',
        provider,
        method: 'POST',
        route: `/v1/route-${index}`,
        status: String(status)
      }
      counters.push(registry.counter('gateway_requests_total').with({ ...labels, lifecycle }))
      histograms.push(registry.histogram('gateway_request_duration_seconds').with({ ...labels, lifecycle }))
    }
  }
  return { counters, histograms }
}

/** Changes every sample, so that the next delta has all of them. */
function touch(): void {
  for (const counter of samples.counters) counter.add(1)
  for (const histogram of samples.histograms) histogram.observe(0.017)
}

const reply = (message: ScrapeReply) => process.send?.(message)

process.on('message', value => {
  const message = readSupervisorMessage(value)
  if (message?.kind === 'metrics-collect' || message?.kind === 'metrics-text') channel.receive(message)
  else obey(value as ScrapeOrder)
})

function obey(order: ScrapeOrder): void {
  switch (order.bench) {
    case 'touch':
      touch()
      meter.reset()
      reply({ bench: 'touched' })
      break
    case 'scrape':
      void channel.scrape('text').then(text => reply({ bench: 'scraped', bytes: text?.byteLength ?? 0 }))
      break
    case 'end':
      reply({ bench: 'ended', longestMs: meter.longestMs() })
      break
  }
}
