// The Grafana dashboard (operations.md 14). Descriptions of panels are the help texts of their
// series.

import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type MetricName,
  metricDefinitions
} from '../../shared/metrics/definitions.ts'
import { SINK_NAMES, type SinkName } from '../../shared/traffic/sinks.ts'
import {
  average,
  current,
  findNames,
  increase,
  type Matchers,
  quantile,
  rate,
  ratio,
  type Selection,
  select
} from './expressions.ts'

export interface Query {
  expr: string
  /** Grafana fills in the labels. */
  legend: string
}

/** As Grafana names them; `ops` is a number per second. */
type Unit = 's' | 'short' | 'reqps' | 'percentunit' | 'bytes' | 'ops' | 'dateTimeFromNow'

export interface Panel {
  title: string
  unit: Unit
  queries: Query[]
  /** Of 24 columns. */
  width: 6 | 8 | 12
  /** One number instead of a graph. */
  isStat?: true
}

export interface Row {
  title: string
  panels: Panel[]
}

function stat(title: string, unit: Unit, expr: string): Panel {
  return { title, unit, width: 6, isStat: true, queries: [{ expr, legend: title }] }
}

function graph(title: string, unit: Unit, width: Panel['width'], queries: Query[]): Panel {
  return { title, unit, width, queries }
}

function quantiles(name: HistogramName, matchers: Matchers): Query[] {
  return [0.5, 0.95, 0.99].map(share => ({
    expr: quantile(share, name, WINDOW, { where: matchers }),
    legend: `p${share * 100}`
  }))
}

type Labels = NonNullable<Selection['by']>

/** One rate for each value of the labels, which are its legend. */
function rateBy(name: CounterName, labels: Labels, matchers = where()): Query {
  return { expr: rate(name, WINDOW, { where: matchers, by: labels }), legend: writeLegend(labels) }
}

/** One current value for each value of the labels, which are its legend. */
function currentBy(over: 'sum' | 'max', name: GaugeName, labels: Labels): Query {
  return { expr: current(over, name, { where: where(), by: labels }), legend: writeLegend(labels) }
}

/** Seconds since a point in time, for each value of the labels. A series without a sample is written as 0: that is no time. */
function sinceTime(name: GaugeName, labels: Labels = ['provider']): Query {
  const { expr, legend } = currentBy('max', name, labels)
  return { expr: `time() - (${expr} > 0)`, legend }
}

/** Seconds until a point in time, for each provider; 0 is none, as in `sinceTime`. */
function untilTime(name: GaugeName): Query {
  const { expr, legend } = currentBy('max', name, ['provider'])
  return { expr: `(${expr} > 0) - time()`, legend }
}

function writeLegend(labels: Labels): string {
  return labels.map(label => `{{${label}}}`).join(' ')
}

/** The same expression for each sink of the traffic log. */
function bySink(write: (sink: SinkName) => string): Query[] {
  return SINK_NAMES.map(sink => ({ expr: write(sink), legend: sink }))
}

function errorRatio(window: string): string {
  return ratio(
    rate('gateway_requests_total', window, { where: { ...models, status: '=~"5.."' } }),
    rate('gateway_requests_total', window, { where: models })
  )
}

/** Filled in by Grafana: several scrapes, so that a rate always has two samples. */
const WINDOW = '$__rate_interval'

/** The gateways that the variable of the dashboard selects. */
const GATEWAYS: Matchers = { job: '=~"$job"', instance: '=~"$instance"' }
const where = (more: Matchers = {}): Matchers => ({ ...GATEWAYS, ...more })
const models = where({ protocol: '!="system"' })

export const rows: Row[] = [
  {
    title: 'Overview',
    panels: [
      stat('Ready', 'short', current('min', 'gateway_ready', { where: where() })),
      stat('Workers ready', 'short', current('sum', 'gateway_workers', { where: where({ lifecycle: '="ready"' }) })),
      stat('Requests in flight', 'short', current('sum', 'gateway_requests_in_flight', { where: where() })),
      stat('Error ratio', 'percentunit', errorRatio('5m'))
    ]
  },
  {
    title: 'Traffic',
    panels: [
      graph('Requests by family', 'reqps', 12, [rateBy('gateway_requests_total', ['protocol'])]),
      graph('Requests by status', 'reqps', 12, [rateBy('gateway_requests_total', ['status'], models)]),
      graph('Error ratio', 'percentunit', 8, [{ expr: errorRatio(WINDOW), legend: 'server errors' }]),
      graph('In flight', 'short', 8, [
        currentBy('sum', 'gateway_requests_in_flight', ['protocol']),
        { expr: current('sum', 'gateway_streams_in_flight', { where: where() }), legend: 'streams' }
      ]),
      graph('Stream disconnects', 'ops', 8, [rateBy('gateway_stream_disconnects_total', ['protocol'])]),
      graph('Refused API keys', 'ops', 8, [rateBy('gateway_auth_failures_total', ['route'])]),
      graph('Responses with 429', 'reqps', 8, [
        rateBy('gateway_requests_total', ['protocol', 'provider'], where({ status: '="429"' }))
      ])
    ]
  },
  {
    title: 'Latency',
    panels: [
      graph('Request duration', 's', 8, quantiles('gateway_request_duration_seconds', models)),
      graph('Time to first token', 's', 8, quantiles('gateway_time_to_first_token_seconds', where())),
      graph('Own overhead', 's', 8, quantiles('gateway_overhead_seconds', models)),
      graph('Time to first token by model, p95', 's', 12, [
        {
          expr: quantile(0.95, 'gateway_time_to_first_token_seconds', WINDOW, { where: where(), by: ['model'] }),
          legend: '{{model}}'
        }
      ]),
      graph('Time between tokens by model, p95', 's', 12, [
        {
          expr: quantile(0.95, 'gateway_inter_token_seconds', WINDOW, { where: where(), by: ['model'] }),
          legend: '{{model}}'
        }
      ])
    ]
  },
  {
    title: 'Tokens',
    panels: [
      graph('Input tokens by model', 'ops', 6, [rateBy('gateway_tokens_input_total', ['model'])]),
      graph('Output tokens by model', 'ops', 6, [rateBy('gateway_tokens_output_total', ['model'])]),
      graph('Cost per hour by model', 'short', 6, [
        { expr: `3600 * (${rateBy('gateway_cost_total', ['model']).expr})`, legend: '{{model}}' }
      ]),
      graph('Generation speed by model, mean', 'ops', 6, [
        {
          expr: average('gateway_output_tokens_per_second', WINDOW, { where: where(), by: ['model'] }),
          legend: '{{model}}'
        }
      ])
    ]
  },
  {
    title: 'Providers',
    panels: [
      graph('Calls by provider', 'reqps', 8, [rateBy('gateway_upstream_requests_total', ['provider', 'status'])]),
      graph('Errors by status', 'ops', 8, [rateBy('gateway_upstream_errors_total', ['provider', 'status'])]),
      graph('Call duration', 's', 8, quantiles('gateway_upstream_duration_seconds', where())),
      graph('Retries and anomalies', 'ops', 8, [
        {
          expr: rate('gateway_upstream_retries_total', WINDOW, { where: where(), by: ['provider'] }),
          legend: 'retries {{provider}}'
        },
        {
          expr: rate('gateway_upstream_stale_connections_total', WINDOW, { where: where(), by: ['provider'] }),
          legend: 'stale connections {{provider}}'
        },
        {
          expr: rate('gateway_upstream_anomalies_total', WINDOW, { where: where(), by: ['model'] }),
          legend: 'anomalies {{model}}'
        }
      ]),
      graph('Open connections', 'short', 8, [currentBy('sum', 'gateway_upstream_connections', ['provider'])]),
      graph('Access tokens', 'ops', 8, [
        { expr: rate('gateway_upstream_token_refresh_total', WINDOW, { where: where() }), legend: 'fetched' },
        { expr: rate('gateway_upstream_token_refresh_failures_total', WINDOW, { where: where() }), legend: 'failed' }
      ]),
      graph('Time since the last success', 's', 8, [sinceTime('gateway_provider_last_success_timestamp_seconds')]),
      graph('Time since the last failure', 's', 8, [
        sinceTime('gateway_provider_last_failure_timestamp_seconds', ['provider', 'status'])
      ]),
      graph('Failures in a row', 'short', 8, [currentBy('max', 'gateway_provider_consecutive_failures', ['provider'])]),
      graph('Age of the models of each provider', 's', 8, [
        currentBy('max', 'gateway_provider_inventory_age_seconds', ['provider'])
      ]),
      graph('Certificates of providers end in', 's', 8, [
        untilTime('gateway_provider_certificate_expiry_timestamp_seconds')
      ]),
      graph('Certificates for providers end in', 's', 8, [
        untilTime('gateway_provider_client_certificate_expiry_timestamp_seconds')
      ]),
      graph('Certificate of the gateway ends in', 's', 8, [
        {
          expr: `(${current('min', 'gateway_certificate_expiry_timestamp_seconds', { where: where() })} > 0) - time()`,
          legend: 'the first one'
        }
      ])
    ]
  },
  {
    title: 'Concurrency limits',
    panels: [
      graph('Use of the limit', 'percentunit', 8, [
        {
          expr: `${select('gateway_model_concurrency_in_use', where())} / ${select('gateway_model_concurrency_limit', where())}`,
          legend: '{{model}}'
        }
      ]),
      graph('Waiting requests', 'short', 8, [currentBy('sum', 'gateway_model_concurrency_waiting', ['model'])]),
      graph('Refused requests', 'ops', 8, [rateBy('gateway_model_concurrency_rejected_total', ['model'])])
    ]
  },
  {
    title: 'Keys and limits',
    panels: [
      graph('Failed readings of the keys file', 'short', 8, [
        { expr: increase('gateway_keys_reload_failed_total', WINDOW, { where: where() }), legend: 'failed' }
      ])
    ]
  },
  {
    title: 'Processes',
    panels: [
      graph('Workers', 'short', 8, [
        currentBy('sum', 'gateway_workers', ['lifecycle']),
        { expr: increase('gateway_worker_restarts_total', WINDOW, { where: where() }), legend: 'restarts' },
        { expr: increase('gateway_worker_replacements_total', WINDOW, { where: where() }), legend: 'replacements' }
      ]),
      graph('Event loop delay, worst worker', 's', 8, [
        { expr: current('max', 'gateway_event_loop_lag_p50_seconds', { where: where() }), legend: 'p50' },
        { expr: current('max', 'gateway_event_loop_lag_p99_seconds', { where: where() }), legend: 'p99' },
        { expr: current('max', 'gateway_event_loop_lag_max_seconds', { where: where() }), legend: 'max' }
      ]),
      graph('Event loop utilization, busiest worker', 'percentunit', 8, [
        currentBy('max', 'gateway_event_loop_utilization', ['instance'])
      ]),
      graph('Memory', 'bytes', 8, [
        {
          expr: current('sum', 'gateway_memory_rss_bytes', { where: where(), by: ['instance'] }),
          legend: 'resident {{instance}}'
        },
        {
          expr: current('sum', 'gateway_heap_used_bytes', { where: where(), by: ['instance'] }),
          legend: 'heap {{instance}}'
        }
      ]),
      graph('Garbage collection pauses', 's', 8, quantiles('gateway_gc_pause_seconds', where())),
      graph('Wait for a thread', 's', 8, quantiles('gateway_pool_wait_seconds', where())),
      graph('Tasks of the thread pool', 'short', 8, [
        { expr: current('sum', 'gateway_pool_tasks', { where: where() }), legend: 'tasks' }
      ])
    ]
  },
  {
    title: 'Traffic log',
    panels: [
      graph(
        'Records stored',
        'ops',
        8,
        bySink(sink => rate(`gateway_traffic_log_${sink}_written_total`, WINDOW, { where: where() }))
      ),
      graph('Records dropped', 'ops', 8, [
        {
          expr: rate('gateway_traffic_log_dropped_total', WINDOW, { where: where() }),
          legend: 'by workers and writer'
        },
        ...bySink(sink => rate(`gateway_traffic_log_${sink}_dropped_total`, WINDOW, { where: where() }))
      ]),
      graph(
        'Age of the oldest record that is not stored',
        's',
        8,
        bySink(sink => current('max', `gateway_traffic_log_${sink}_lag_seconds`, { where: where() }))
      ),
      graph(
        'Records that wait',
        'short',
        8,
        bySink(sink => current('sum', `gateway_traffic_log_${sink}_queue_depth`, { where: where() }))
      ),
      graph(
        'Records on disk for sinks that are down',
        'bytes',
        8,
        bySink(sink => current('sum', `gateway_traffic_log_${sink}_spill_bytes`, { where: where() }))
      ),
      graph(
        'Failed writes',
        'ops',
        8,
        bySink(sink => rate(`gateway_traffic_log_${sink}_write_errors_total`, WINDOW, { where: where() }))
      ),
      graph(
        'Duration of a write, p95',
        's',
        12,
        bySink(sink => quantile(0.95, `gateway_traffic_log_${sink}_write_seconds`, WINDOW, { where: where() }))
      ),
      graph('Write-ahead log of SQLite', 'bytes', 12, [
        { expr: current('sum', 'gateway_traffic_log_sqlite_wal_bytes', { where: where() }), legend: 'write-ahead log' }
      ])
    ]
  },
  {
    title: 'Stored responses',
    panels: [
      graph('Questions without an answer of the store', 'ops', 8, [
        { expr: rate('gateway_responses_store_failed_total', WINDOW, { where: where() }), legend: 'without an answer' }
      ]),
      graph('Wait for a read', 's', 8, quantiles('gateway_responses_store_read_seconds', where())),
      graph('Wait for a write', 's', 8, quantiles('gateway_responses_store_write_seconds', where())),
      graph('Stored responses and conversations', 'short', 12, [
        { expr: current('max', 'gateway_responses_store_responses', { where: where() }), legend: 'responses' },
        { expr: current('max', 'gateway_responses_store_conversations', { where: where() }), legend: 'conversations' }
      ]),
      graph('Stored content', 'bytes', 12, [
        { expr: current('max', 'gateway_responses_store_bytes', { where: where() }), legend: 'content' }
      ])
    ]
  },
  {
    title: 'Shutdown, model list, limits and traces',
    panels: [
      graph('Shutdown', 'short', 8, [
        { expr: current('sum', 'gateway_draining', { where: where() }), legend: 'gateways that drain' },
        {
          expr: current('sum', 'gateway_drain_active_requests', { where: where() }),
          legend: 'requests that are waited for'
        }
      ]),
      graph('Age of the model list', 's', 8, [currentBy('max', 'gateway_catalog_age_seconds', ['instance'])]),
      graph('Outage of shared limits', 'short', 8, [currentBy('max', 'gateway_limits_outage', ['instance'])]),
      graph('Trace spans', 'ops', 8, [
        { expr: rate('gateway_trace_spans_total', WINDOW, { where: where() }), legend: 'taken by the collector' },
        { expr: rate('gateway_trace_spans_dropped_total', WINDOW, { where: where() }), legend: 'dropped' }
      ]),
      stat(
        'Start',
        'dateTimeFromNow',
        `${current('max', 'gateway_process_start_time_seconds', { where: where() })} * 1000`
      ),
      stat('Gateways', 'short', current('sum', 'gateway_build_info', { where: where() })),
      stat('Workers late for a scrape', 'short', current('sum', 'gateway_metrics_late_workers', { where: where() })),
      stat(
        'Samples beyond the label limit',
        'short',
        increase('gateway_metrics_overflow_total', '1h', { where: where() })
      )
    ]
  }
]

/** The dashboard as Grafana imports it. */
export function renderDashboard(): object {
  const panels: object[] = []
  let y = 0
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { h: 1, w: 24, x: 0, y }
    })
    y += 1
    let x = 0
    let height = 0
    for (const panel of row.panels) {
      if (x + panel.width > GRID_COLUMNS) {
        x = 0
        y += height
      }
      height = panel.isStat ? 4 : 8
      panels.push(renderPanel(panel, { id: panels.length + 1, gridPos: { h: height, w: panel.width, x, y } }))
      x += panel.width
    }
    y += height
  }
  return {
    uid: 'llm-gateway',
    title: 'LLM gateway',
    tags: ['llm-gateway'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        renderVariable('job', 'Job', 'label_values(gateway_build_info, job)'),
        renderVariable('instance', 'Gateway', 'label_values(gateway_build_info{job=~"$job"}, instance)')
      ]
    },
    panels
  }
}

const GRID_COLUMNS = 24
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces it.
const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' }

function renderVariable(name: string, label: string, query: string): object {
  return {
    name,
    label,
    type: 'query',
    datasource: DATA_SOURCE,
    definition: query,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] }
  }
}

function renderPanel(panel: Panel, place: { id: number; gridPos: object }): object {
  const names = [...new Set(panel.queries.flatMap(({ expr }) => findNames(expr)))] as MetricName[]
  return {
    ...place,
    type: panel.isStat ? 'stat' : 'timeseries',
    title: panel.title,
    description: names.map(name => `${name}: ${metricDefinitions[name].help}`).join('\n\n'),
    datasource: DATA_SOURCE,
    fieldConfig: { defaults: { unit: panel.unit, min: panel.unit === 'dateTimeFromNow' ? null : 0 }, overrides: [] },
    targets: panel.queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATA_SOURCE,
      expr,
      legendFormat: legend
    }))
  }
}
