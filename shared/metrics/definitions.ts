// Every metric series of the gateway, in the order in which a scrape prints them (operations.md 7.2
// and 7.5). Help texts, dashboards, rules and documentation are made from this table.

import type { SinkName } from '../traffic/sinks.ts'

/** The only label names (decisions.md 24), in the order in which they are printed. */
export const LABEL_NAMES = ['lifecycle', 'method', 'model', 'protocol', 'provider', 'route', 'status'] as const
export type LabelName = (typeof LABEL_NAMES)[number]

export interface CounterDefinition<Labels extends readonly LabelName[] = readonly LabelName[]> {
  readonly type: 'counter'
  readonly help: string
  readonly labels: Labels
}

export interface GaugeDefinition<Labels extends readonly LabelName[] = readonly LabelName[]> {
  readonly type: 'gauge'
  readonly help: string
  readonly labels: Labels
  /** How the values of all processes become one. */
  readonly across: 'sum' | 'max'
}

export interface HistogramDefinition<Labels extends readonly LabelName[] = readonly LabelName[]> {
  readonly type: 'histogram'
  readonly help: string
  readonly labels: Labels
  /** Upper bounds in ascending order, without `+Inf`. */
  readonly buckets: readonly number[]
}

export type MetricDefinition = CounterDefinition | GaugeDefinition | HistogramDefinition

/** Of whole requests (operations.md 7.2). */
const DURATION_BUCKETS = Object.freeze([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60])
/** Of gaps between tokens and of the gateway's own work: from 0.1 ms. */
const SHORT_BUCKETS = Object.freeze([
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1
])
/** Of generation speeds: from a slow local model to fast hardware. */
const TOKEN_RATE_BUCKETS = Object.freeze([1, 2.5, 5, 10, 25, 50, 75, 100, 150, 250, 500, 1000])

/** Of a batch of records: from a quick append to a database that hardly responds. */
const WRITE_BUCKETS = Object.freeze([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30])

const requestLabels = ['lifecycle', 'method', 'protocol', 'provider', 'route', 'status'] as const
const upstreamLabels = ['protocol', 'provider', 'route', 'status'] as const
const tokenLabels = ['model', 'protocol', 'provider', 'route'] as const
const modelLabels = ['model', 'protocol', 'provider'] as const

function counter<const Labels extends readonly LabelName[] = []>(
  help: string,
  labels?: Labels
): CounterDefinition<Labels> {
  return { type: 'counter', help, labels: checkOrder(labels) }
}

function gauge<const Labels extends readonly LabelName[] = []>(
  help: string,
  across: GaugeDefinition['across'],
  labels?: Labels
): GaugeDefinition<Labels> {
  return { type: 'gauge', help, across, labels: checkOrder(labels) }
}

function histogram<const Labels extends readonly LabelName[] = []>(
  help: string,
  buckets: readonly number[],
  labels?: Labels
): HistogramDefinition<Labels> {
  return { type: 'histogram', help, buckets, labels: checkOrder(labels) }
}

/** What the writer counts of a sink of the traffic log. The sink is a part of the name, because the label names are fixed. */
function sinkSeries<const Sink extends SinkName>(sink: Sink): SinkSeries<Sink> {
  const series: Record<string, MetricDefinition> = {
    [`gateway_traffic_log_${sink}_queue_depth`]: gauge(`Traffic records that wait for the sink ${sink}.`, 'sum'),
    [`gateway_traffic_log_${sink}_written_total`]: counter(`Total number of traffic records stored in ${sink}.`),
    [`gateway_traffic_log_${sink}_dropped_total`]: counter(
      `Total number of traffic records that the writer dropped before ${sink}.`
    ),
    [`gateway_traffic_log_${sink}_write_seconds`]: histogram(
      `Duration of a batch written to ${sink} in seconds.`,
      WRITE_BUCKETS
    ),
    [`gateway_traffic_log_${sink}_write_errors_total`]: counter(`Total number of failed attempts to write to ${sink}.`),
    [`gateway_traffic_log_${sink}_spill_bytes`]: gauge(`Traffic records for ${sink} on disk in bytes.`, 'sum'),
    [`gateway_traffic_log_${sink}_lag_seconds`]: gauge(
      `Time that the oldest traffic record waits for ${sink} in seconds.`,
      'max'
    )
  }
  // Computed names lose their types.
  return series as unknown as SinkSeries<Sink>
}

type SinkSeries<Sink extends SinkName> = {
  readonly [Name in `gateway_traffic_log_${Sink}_${'written' | 'dropped' | 'write_errors'}_total`]: CounterDefinition<
    []
  >
} & {
  readonly [Name in `gateway_traffic_log_${Sink}_${'queue_depth' | 'spill_bytes' | 'lag_seconds'}`]: GaugeDefinition<[]>
} & {
  readonly [Name in `gateway_traffic_log_${Sink}_write_seconds`]: HistogramDefinition<[]>
}

/** Labels are printed in this order, so it must be that of their names. */
function checkOrder<Labels extends readonly LabelName[]>(labels: Labels | undefined): Labels {
  const given = labels ?? ([] as unknown as Labels)
  for (let index = 1; index < given.length; index += 1) {
    if (String(given[index - 1]) >= String(given[index])) throw new Error('Labels of a metric must be sorted by name.')
  }
  return given
}

export const metricDefinitions = Object.freeze({
  // The series of the specification.
  gateway_requests_total: counter('Total number of gateway HTTP requests.', requestLabels),
  gateway_request_duration_seconds: histogram('HTTP request duration in seconds.', DURATION_BUCKETS, requestLabels),
  gateway_upstream_duration_seconds: histogram(
    'Upstream provider call duration in seconds.',
    DURATION_BUCKETS,
    upstreamLabels
  ),
  gateway_upstream_errors_total: counter('Total number of upstream provider errors.', upstreamLabels),
  gateway_tokens_input_total: counter('Total number of input tokens reported by providers.', tokenLabels),
  gateway_tokens_output_total: counter('Total number of output tokens reported by providers.', tokenLabels),
  gateway_stream_disconnects_total: counter('Total number of streaming requests aborted by client disconnects.', [
    'protocol',
    'provider',
    'route'
  ]),
  gateway_traffic_log_dropped_total: counter('Total number of traffic log events dropped under backpressure.'),

  // What requests cost (keys.md 4).
  gateway_cost_total: counter('Cost of the tokens in the currency of the prices.', tokenLabels),

  // Requests and their responses.
  gateway_requests_in_flight: gauge('Requests whose response is not complete.', 'sum', ['protocol']),
  gateway_streams_in_flight: gauge('Streamed responses that are not complete.', 'sum', ['protocol']),
  gateway_time_to_first_byte_seconds: histogram(
    'Time from the request to the first byte of a streamed response in seconds.',
    DURATION_BUCKETS,
    modelLabels
  ),
  gateway_time_to_first_token_seconds: histogram(
    'Time from the request to the first generated content of a streamed response in seconds.',
    DURATION_BUCKETS,
    modelLabels
  ),
  gateway_inter_token_seconds: histogram(
    'Mean time between the output tokens of a streamed response in seconds.',
    SHORT_BUCKETS,
    modelLabels
  ),
  gateway_output_tokens_per_second: histogram(
    'Output tokens per second of a response, from its first token or, of a response that is not streamed, from its request.',
    TOKEN_RATE_BUCKETS,
    modelLabels
  ),
  gateway_overhead_seconds: histogram(
    'Request duration minus the duration of its upstream calls in seconds.',
    SHORT_BUCKETS,
    ['protocol', 'provider']
  ),
  gateway_auth_failures_total: counter('Total number of requests refused for a missing or wrong API key.', [
    'protocol',
    'route',
    'status'
  ]),

  // Calls to providers.
  gateway_upstream_requests_total: counter('Total number of upstream provider requests, retries included.', [
    'provider',
    'status'
  ]),
  gateway_upstream_retries_total: counter('Total number of upstream provider requests that were retries.', [
    'provider'
  ]),
  gateway_upstream_anomalies_total: counter('Total number of unexpected but usable upstream responses.', modelLabels),

  // What the calls have seen of each provider, as of the whole gateway.
  gateway_provider_last_success_timestamp_seconds: gauge(
    'Last successful call to a provider since the Unix epoch in seconds.',
    'max',
    ['provider']
  ),
  gateway_provider_last_failure_timestamp_seconds: gauge(
    'Last failed call to a provider of each class since the Unix epoch in seconds.',
    'max',
    ['provider', 'status']
  ),
  gateway_provider_consecutive_failures: gauge('Failed calls to a provider since its last success.', 'max', [
    'provider'
  ]),
  gateway_provider_inventory_age_seconds: gauge(
    "Time since a provider's list of models was discovered in seconds.",
    'max',
    ['provider']
  ),
  gateway_provider_certificate_expiry_timestamp_seconds: gauge(
    'End of the certificate that a provider shows since the Unix epoch in seconds.',
    'max',
    ['provider']
  ),
  gateway_provider_client_certificate_expiry_timestamp_seconds: gauge(
    'End of the certificate that is shown to a provider since the Unix epoch in seconds.',
    'max',
    ['provider']
  ),

  // The sinks of the traffic log.
  ...sinkSeries('jsonl'),
  ...sinkSeries('sqlite'),
  ...sinkSeries('postgres'),
  ...sinkSeries('opensearch'),
  gateway_traffic_log_sqlite_wal_bytes: gauge("Size of the SQLite file's write-ahead log in bytes.", 'sum'),

  // The store of responses.
  gateway_responses_store_failed_total: counter(
    'Total number of questions that the store of responses did not answer.'
  ),
  gateway_responses_store_read_seconds: histogram(
    'Time that a worker waits for something to be read from the store of responses in seconds.',
    WRITE_BUCKETS
  ),
  gateway_responses_store_write_seconds: histogram(
    'Time that a worker waits for something to be written to the store of responses in seconds.',
    WRITE_BUCKETS
  ),
  gateway_responses_store_responses: gauge('Stored responses.', 'max'),
  gateway_responses_store_conversations: gauge('Stored conversations.', 'max'),
  gateway_responses_store_bytes: gauge('Stored content of responses and conversations in bytes.', 'max'),

  // Traces.
  gateway_trace_spans_total: counter('Total number of spans that the trace collector took.'),
  gateway_trace_spans_dropped_total: counter(
    'Total number of spans that were dropped or that the collector did not take.'
  ),

  // The processes and what they share. Those without a probe in the workers are set by the supervisor.
  gateway_build_info: gauge('Build of the gateway.', 'max'),
  gateway_process_start_time_seconds: gauge('Start of the gateway since the Unix epoch in seconds.', 'max'),
  gateway_memory_rss_bytes: gauge('Resident memory of the supervisor and all workers in bytes.', 'sum'),
  gateway_heap_used_bytes: gauge('JavaScript heap in use by the supervisor and all workers in bytes.', 'sum'),
  gateway_gc_pause_seconds: histogram('Pauses of the workers for garbage collection in seconds.', SHORT_BUCKETS),
  gateway_event_loop_lag_p50_seconds: gauge('Median event loop delay of the worst worker in seconds.', 'max'),
  gateway_event_loop_lag_p99_seconds: gauge(
    '99th percentile of the event loop delay of the worst worker in seconds.',
    'max'
  ),
  gateway_event_loop_lag_max_seconds: gauge('Longest event loop delay of the worst worker in seconds.', 'max'),
  gateway_event_loop_utilization: gauge(
    'Share of time in which the event loop of the busiest worker was busy, from 0 to 1.',
    'max'
  ),
  gateway_workers: gauge('Worker processes by their state: starting, ready or draining.', 'sum', ['lifecycle']),
  gateway_worker_restarts_total: counter('Total number of worker processes that replaced an exited one.'),
  gateway_worker_replacements_total: counter('Total number of worker processes that were replaced on request.'),
  gateway_pool_tasks: gauge('Tasks that run in a thread of a worker or wait for one.', 'sum'),
  gateway_pool_wait_seconds: histogram('Time that a task waited for a thread in seconds.', DURATION_BUCKETS),
  gateway_upstream_connections: gauge('Open connections to providers, those for tokens included.', 'sum', ['provider']),
  gateway_upstream_stale_connections_total: counter(
    'Total number of requests sent again because their kept connection was closed before a byte of the response.',
    ['provider']
  ),
  gateway_upstream_token_refresh_total: counter('Total number of access tokens that were asked for.'),
  gateway_upstream_token_refresh_failures_total: counter('Total number of access tokens that could not be fetched.'),
  gateway_model_concurrency_limit: gauge('Concurrent calls that a model may have.', 'max', ['model']),
  gateway_model_concurrency_in_use: gauge('Concurrent calls that a model has.', 'max', ['model']),
  gateway_model_concurrency_waiting: gauge('Requests that wait for the concurrency limit of a model.', 'max', [
    'model'
  ]),
  gateway_model_concurrency_rejected_total: counter(
    'Total number of requests refused by the concurrency limit of a model.',
    ['model']
  ),
  gateway_keys_reload_failed_total: counter('Total number of readings of the keys file that failed.'),
  gateway_certificate_expiry_timestamp_seconds: gauge(
    "End of the gateway's own certificate since the Unix epoch in seconds.",
    'max'
  ),
  gateway_ready: gauge('Whether the gateway is ready to serve model requests: 1 or 0.', 'max'),
  gateway_draining: gauge('Whether the gateway is shutting down: 1 or 0.', 'max'),
  gateway_drain_active_requests: gauge('Model requests that a shutdown waits for.', 'sum'),
  gateway_limits_outage: gauge(
    'Whether the place that hosts share their limits through cannot be reached: 1 or 0.',
    'max'
  ),
  gateway_catalog_age_seconds: gauge(
    'Time since the model catalog was discovered in seconds; 0 for a catalog that needs no discovery.',
    'max'
  ),

  // The metrics themselves.
  gateway_metrics_overflow_total: counter('Total number of samples beyond the limit of label sets.'),
  gateway_metrics_late_workers: gauge('Workers that did not deliver their samples in time for this scrape.', 'sum')
} as const satisfies Record<string, MetricDefinition>)

export type MetricDefinitions = typeof metricDefinitions
export type MetricName = keyof MetricDefinitions

/** All names in the order of a scrape; a message between processes names a series by its index here. */
export const metricNames = Object.freeze(Object.keys(metricDefinitions)) as readonly MetricName[]

type NamesOf<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: MetricDefinitions[Name]['type'] extends Type ? Name : never
}[MetricName]

export type CounterName = NamesOf<'counter'>
export type GaugeName = NamesOf<'gauge'>
export type HistogramName = NamesOf<'histogram'>

/** The label values of one sample. A label that is absent or undefined is left out of the sample. */
export type LabelsOf<Name extends MetricName> = {
  readonly [Label in MetricDefinitions[Name]['labels'][number]]?: string | undefined
}

/** The same as a list, in the order of the series' labels. */
export type LabelValuesOf<Name extends MetricName> = ValueList<MetricDefinitions[Name]['labels']>

type ValueList<Labels extends readonly LabelName[]> = { readonly [Index in keyof Labels]: string | undefined }

/** How many numbers a sample of this series has: for a histogram the count of each bucket, `+Inf` included, and the sum. */
export function slotCount(definition: MetricDefinition): number {
  return definition.type === 'histogram' ? definition.buckets.length + 2 : 1
}

/** The bucket of a value: the index of the first bound that is not below it, or the number of bounds for `+Inf`. */
export function findBucket(buckets: readonly number[], value: number): number {
  let index = 0
  while (index < buckets.length && value > (buckets[index] ?? 0)) index += 1
  return index
}
