// The recording and alerting rules for Prometheus (operations.md 14), with the samples that must
// and must not fire an alert.

import { SINK_NAMES } from '../../shared/traffic/sinks.ts'
import { current, increase, quantile, rate, ratio, select } from './expressions.ts'

/** The name of the scrape job in the example configuration; `GatewayDown` needs it, because it must also fire without any target. */
export const JOB = 'llm-gateway'

export interface RecordingRule {
  record: string
  expr: string
}

/** Samples of a series as promtool writes them: `0+1x20` is 0, 1, 2 up to 20, one per minute. */
export type Samples = Record<string, string>

export interface AlertRule {
  alert: string
  expr: string
  /** How long the expression must hold. */
  for: string
  severity: 'critical' | 'warning' | 'info'
  summary: string
  /** What it means and what to do. */
  runbook: string
  /** Samples with which the alert fires at `atMinutes`, and the labels that it has then beside its severity. */
  fires: { samples: Samples; labels?: Record<string, string>; atMinutes: number }
  /** Samples with which it does not, at the same time. */
  staysQuiet: Samples
}

/** Requests for models: system routes are left out, because probes and scrapes would hide failures. */
const MODEL_REQUESTS = { protocol: '!="system"' }
/** Client mistakes say nothing about a provider; 401, 403 and 429 do. */
const PROVIDER_FAILURES = { status: '!~"400|404|409|413|415|422|cancelled"' }
const CERTIFICATES = [
  'gateway_provider_certificate_expiry_timestamp_seconds',
  'gateway_provider_client_certificate_expiry_timestamp_seconds'
] as const
const MODEL_LISTS = { route: '=~".*/models(/[{]model[}])?"' }

const INSTANCE = ['job', 'instance'] as const
const by = INSTANCE

export const recordingRules: RecordingRule[] = [
  {
    record: 'gateway:requests:rate5m',
    expr: rate('gateway_requests_total', '5m', { by: [...INSTANCE, 'protocol'], where: MODEL_REQUESTS })
  },
  {
    record: 'gateway:request_error_ratio:rate5m',
    expr: ratio(
      rate('gateway_requests_total', '5m', { by, where: { ...MODEL_REQUESTS, status: '=~"5.."' } }),
      rate('gateway_requests_total', '5m', { by, where: MODEL_REQUESTS })
    )
  },
  {
    record: 'gateway:upstream_error_ratio:rate5m',
    expr: ratio(
      rate('gateway_upstream_errors_total', '5m', { by: [...INSTANCE, 'provider'], where: PROVIDER_FAILURES }),
      rate('gateway_upstream_requests_total', '5m', { by: [...INSTANCE, 'provider'] })
    )
  },
  {
    record: 'gateway:request_duration_seconds:p95_5m',
    expr: quantile(0.95, 'gateway_request_duration_seconds', '5m', { by, where: MODEL_REQUESTS })
  },
  {
    record: 'gateway:time_to_first_token_seconds:p95_5m',
    expr: quantile(0.95, 'gateway_time_to_first_token_seconds', '5m', { by })
  },
  {
    record: 'gateway:overhead_seconds:p95_5m',
    expr: quantile(0.95, 'gateway_overhead_seconds', '5m', { by, where: MODEL_REQUESTS })
  },
  {
    record: 'gateway:stream_disconnect_ratio:rate10m',
    expr: ratio(
      rate('gateway_stream_disconnects_total', '10m', { by }),
      rate('gateway_requests_total', '10m', { by, where: { lifecycle: '=~"streaming_.+"' } })
    )
  }
]

const TARGET = `job="${JOB}",instance="a"`
/** A counter of requests of which one of ten fails. */
const requests = (labels: string, values: string): Samples => ({
  [`gateway_requests_total{${TARGET},protocol="openai",${labels}}`]: values
})
/** A histogram with all observations in the bucket between two bounds. */
const histogram = (name: string, labels: string, { above, upTo }: { above: string; upTo: string }): Samples => ({
  [`${name}_bucket{${TARGET},${labels},le="${above}"}`]: '0x60',
  [`${name}_bucket{${TARGET},${labels},le="${upTo}"}`]: '0+60x60',
  [`${name}_bucket{${TARGET},${labels},le="+Inf"}`]: '0+60x60'
})
const gauge = (name: string, values: string): Samples => ({ [`${name}{${TARGET}}`]: values })

export const alertRules: AlertRule[] = [
  {
    alert: 'GatewayDown',
    expr: `up{job="${JOB}"} == 0 or absent(up{job="${JOB}"})`,
    for: '2m',
    severity: 'critical',
    summary: 'The gateway cannot be scraped.',
    runbook:
      'No process listens on the scraped address, or it does not answer. Look whether the supervisor runs and what its log says last; ' +
      'its exit code tells a wrong configuration (2) from a failed start (1). Check address, port, TLS and API key of the scrape job.',
    fires: { samples: { [`up{${TARGET}}`]: '1x5 0x60' }, labels: { job: JOB, instance: 'a' }, atMinutes: 20 },
    staysQuiet: { [`up{${TARGET}}`]: '1x60' }
  },
  {
    alert: 'GatewayNotReady',
    expr: `${select('gateway_ready')} == 0 and ${select('gateway_draining')} == 0`,
    for: '5m',
    severity: 'critical',
    summary: 'The gateway runs and is not ready to serve model requests.',
    runbook:
      'GET /ready names the reasons: no route is configured, workers are still starting, or the model list of the provider could not ' +
      'be fetched yet. The log events catalog_discovery_failed, upstream_token_failed and worker_start_failed say why.',
    fires: {
      samples: { ...gauge('gateway_ready', '0x60'), ...gauge('gateway_draining', '0x60') },
      labels: { job: JOB, instance: 'a' },
      atMinutes: 20
    },
    staysQuiet: { ...gauge('gateway_ready', '0x60'), ...gauge('gateway_draining', '1x60') }
  },
  {
    alert: 'GatewayErrorRatioHigh',
    expr: 'gateway:request_error_ratio:rate5m > 0.05',
    for: '10m',
    severity: 'critical',
    summary: 'More than 5 % of the requests for models end with a server error.',
    runbook:
      'Compare with the upstream error ratio: if both are high, the provider or the way to it fails. If only this one is, the gateway ' +
      'refuses: look at status and route of gateway_requests_total, and at the log for gateway_overloaded and worker_crashed.',
    fires: {
      samples: { ...requests('status="200"', '0+90x60'), ...requests('status="502"', '0+10x60') },
      labels: { job: JOB, instance: 'a' },
      atMinutes: 30
    },
    staysQuiet: { ...requests('status="200"', '0+90x60'), ...requests('status="404"', '0+10x60') }
  },
  {
    alert: 'GatewayUpstreamErrorRatioHigh',
    expr: 'gateway:upstream_error_ratio:rate5m > 0.1',
    for: '10m',
    severity: 'critical',
    summary: 'More than 10 % of the calls to a provider fail.',
    runbook:
      'The label status of gateway_upstream_errors_total says how: connect_error, tls_error and timeout are the way to the provider ' +
      '(DNS, firewall, proxy, certificates), destination_refused an address that the profile does not allow, 401 and 403 ' +
      'the credential, 429 its rate limit, 5xx the provider itself.',
    fires: {
      samples: {
        [`gateway_upstream_requests_total{${TARGET},provider="native",status="200"}`]: '0+80x60',
        [`gateway_upstream_requests_total{${TARGET},provider="native",status="timeout"}`]: '0+20x60',
        [`gateway_upstream_errors_total{${TARGET},provider="native",status="timeout"}`]: '0+20x60'
      },
      labels: { job: JOB, instance: 'a', provider: 'native' },
      atMinutes: 30
    },
    staysQuiet: {
      [`gateway_upstream_requests_total{${TARGET},provider="native",status="200"}`]: '0+80x60',
      [`gateway_upstream_requests_total{${TARGET},provider="native",status="422"}`]: '0+20x60',
      [`gateway_upstream_errors_total{${TARGET},provider="native",status="422"}`]: '0+20x60'
    }
  },
  {
    alert: 'GatewayLatencyHigh',
    expr: 'gateway:request_duration_seconds:p95_5m > 30',
    for: '15m',
    severity: 'warning',
    summary: 'The slowest 5 % of the requests for models take longer than 30 seconds.',
    runbook:
      'Compare with gateway_upstream_duration_seconds: usually the provider is slow, or responses became longer (tokens per request). ' +
      'If only the gateway is slow, GatewayOverheadHigh or GatewayEventLoopLag fires as well. Long responses may be normal: change the limit.',
    fires: {
      samples: histogram('gateway_request_duration_seconds', 'protocol="openai"', { above: '30', upTo: '60' }),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 40
    },
    staysQuiet: histogram('gateway_request_duration_seconds', 'protocol="openai"', { above: '10', upTo: '30' })
  },
  {
    alert: 'GatewayFirstTokenSlow',
    expr: 'gateway:time_to_first_token_seconds:p95_5m > 10',
    for: '15m',
    severity: 'warning',
    summary: 'The slowest 5 % of the streams wait longer than 10 seconds for their first content.',
    runbook:
      'The provider queues requests or reads long prompts; compare models and providers of gateway_time_to_first_token_seconds. ' +
      'Look also at gateway_model_concurrency_waiting: requests may wait for the concurrency limit of their model.',
    fires: {
      samples: histogram('gateway_time_to_first_token_seconds', 'model="m"', { above: '10', upTo: '30' }),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 40
    },
    staysQuiet: histogram('gateway_time_to_first_token_seconds', 'model="m"', { above: '5', upTo: '10' })
  },
  {
    alert: 'GatewayOverheadHigh',
    expr: 'gateway:overhead_seconds:p95_5m > 0.25',
    for: '10m',
    severity: 'warning',
    summary: 'The gateway itself adds more than 250 ms to the slowest 5 % of the requests.',
    runbook:
      'Look at event loop lag, pool wait and memory: the workers lack processor time, or large bodies fill the thread pool. ' +
      'More workers (GATEWAY_WORKERS) or pool threads help while processors are free. Waiting for a concurrency limit counts too.',
    fires: {
      samples: histogram('gateway_overhead_seconds', 'protocol="openai"', { above: '0.25', upTo: '0.5' }),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 30
    },
    staysQuiet: histogram('gateway_overhead_seconds', 'protocol="openai"', { above: '0.1', upTo: '0.25' })
  },
  {
    alert: 'TrafficLogDropping',
    expr: `${increase('gateway_traffic_log_dropped_total', '5m', { by })} > 0`,
    for: '0m',
    severity: 'warning',
    summary: 'Traffic records are dropped.',
    runbook:
      'The sinks of the traffic log take fewer records than requests produce. Look at the database or file system behind them; ' +
      'requests are served all the same. Dropped records cannot be recovered.',
    fires: {
      samples: gauge('gateway_traffic_log_dropped_total', '0x10 5x50'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 13
    },
    staysQuiet: gauge('gateway_traffic_log_dropped_total', '5x60')
  },
  {
    alert: 'TrafficLogLagging',
    expr: SINK_NAMES.map(sink => `${current('max', `gateway_traffic_log_${sink}_lag_seconds`, { by })} > 300`).join(
      ' or '
    ),
    for: '5m',
    severity: 'warning',
    summary: 'A sink of the traffic log has not stored records for more than five minutes.',
    runbook:
      'The log has lines of the event traffic_sink_unavailable with the reason. Records wait in memory, or in ' +
      'GATEWAY_TRAFFIC_LOG_SPILL_DIR where that is set, and are stored when the sink is back; what does not fit is dropped and counted.',
    fires: {
      samples: gauge('gateway_traffic_log_postgres_lag_seconds', '0x4 400x60'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 12
    },
    staysQuiet: gauge('gateway_traffic_log_postgres_lag_seconds', '200x60')
  },
  {
    alert: 'ResponsesStoreFailing',
    expr: `${increase('gateway_responses_store_failed_total', '5m', { by })} > 0`,
    for: '0m',
    severity: 'critical',
    summary: 'The store of responses gives no answers.',
    runbook:
      'Requests that continue or read a stored response get 503, and other responses are served without being stored. The log event ' +
      'store_operation_failed has the error of the database: it is down, locked, full or slow. The event store_exited says that its ' +
      'process ended.',
    fires: {
      samples: gauge('gateway_responses_store_failed_total', '0x10 5x50'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 13
    },
    staysQuiet: gauge('gateway_responses_store_failed_total', '5x60')
  },
  {
    alert: 'GatewayEventLoopLag',
    expr: `${select('gateway_event_loop_lag_p99_seconds')} > 0.25`,
    for: '5m',
    severity: 'warning',
    summary: 'The event loop of a worker is delayed by more than 250 ms.',
    runbook:
      'Streams stall and new requests wait. Look at utilization (near 1: too few workers or processors), at pauses for garbage ' +
      'collection (memory limit too low) and at the sizes of bodies. GATEWAY_POOL_THRESHOLD_BYTES moves smaller bodies into threads.',
    fires: {
      samples: gauge('gateway_event_loop_lag_p99_seconds', '0.4x60'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 20
    },
    staysQuiet: gauge('gateway_event_loop_lag_p99_seconds', '0.2x60')
  },
  {
    alert: 'GatewayWorkerRestartLoop',
    expr: `${increase('gateway_worker_restarts_total', '15m', { by })} > 3`,
    for: '0m',
    severity: 'critical',
    summary: 'Workers exit and are replaced again and again.',
    runbook:
      'The log events worker_exited and worker_crashed say why: a signal KILL points to the memory limit of the host or container, ' +
      'worker_stuck to a blocked event loop. Requests of an exited worker were cut. The gateway exits if this goes on.',
    fires: {
      samples: gauge('gateway_worker_restarts_total', '0+1x60'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 20
    },
    staysQuiet: gauge('gateway_worker_restarts_total', '0x10 1x50')
  },
  {
    alert: 'GatewayKeysReloadFailed',
    expr: `${increase('gateway_keys_reload_failed_total', '1h', { by })} > 0`,
    for: '0m',
    severity: 'warning',
    summary: 'The keys file cannot be used, and the earlier keys stay in force.',
    runbook:
      'The log event keys_reload_failed names the places in the file. Until it is mended, new keys and limits have no effect, and a ' +
      'gateway that starts now refuses to. llm-gateway --inspect-config checks the file as a start does.',
    fires: {
      samples: gauge('gateway_keys_reload_failed_total', '0x5 1x55'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 20
    },
    staysQuiet: gauge('gateway_keys_reload_failed_total', '0x60')
  },
  {
    alert: 'GatewayLimitsOutage',
    expr: `${select('gateway_limits_outage')} > 0`,
    for: '1m',
    severity: 'warning',
    summary: 'The place that hosts share their limits through gives no answers.',
    runbook:
      'GATEWAY_LIMITS_ON_OUTAGE says what happens meanwhile: each host counts alone, or requests of limited keys get 503. With a Redis ' +
      'the log event shared_limits_unavailable has the cause; without one look at the store of responses.',
    fires: {
      samples: gauge('gateway_limits_outage', '1x60'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 20
    },
    staysQuiet: gauge('gateway_limits_outage', '0x60')
  },
  {
    alert: 'GatewayStreamDisconnectSurge',
    expr: `gateway:stream_disconnect_ratio:rate10m > 0.25 and ${increase('gateway_stream_disconnects_total', '10m', { by })} > 20`,
    for: '5m',
    severity: 'warning',
    summary: 'More than a quarter of the streams end because their client disconnects.',
    runbook:
      'Clients time out, or something between them and the gateway cuts idle connections: compare with time to first token and the ' +
      'idle timeouts of proxies and load balancers. People who stop a response disconnect as well.',
    fires: {
      samples: {
        ...requests('status="200",lifecycle="streaming_completed"', '0+5x60'),
        ...requests('status="499",lifecycle="streaming_aborted"', '0+5x60'),
        [`gateway_stream_disconnects_total{${TARGET},protocol="openai"}`]: '0+5x60'
      },
      labels: { job: JOB, instance: 'a' },
      atMinutes: 30
    },
    staysQuiet: {
      ...requests('status="200",lifecycle="streaming_completed"', '0+50x60'),
      ...requests('status="499",lifecycle="streaming_aborted"', '0+5x60'),
      [`gateway_stream_disconnects_total{${TARGET},protocol="openai"}`]: '0+5x60'
    }
  },
  {
    alert: 'GatewayTokenRefreshFailing',
    expr: `${increase('gateway_upstream_token_refresh_failures_total', '10m', { by })} > 2`,
    for: '0m',
    severity: 'critical',
    summary: 'Access tokens of the upstream cannot be fetched.',
    runbook:
      'Requests fail when the last token expires. The log event upstream_token_failed has the status: 400, 401 or 403 mean a wrong or ' +
      'expired UPSTREAM_CREDENTIALS or scope; anything else is the way to UPSTREAM_AUTH_URL. Credentials of clients count as well. With ' +
      'a profile_id the line is about auth.oauth2 or google_service_account of that profile.',
    fires: {
      samples: gauge('gateway_upstream_token_refresh_failures_total', '0+1x60'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 20
    },
    staysQuiet: gauge('gateway_upstream_token_refresh_failures_total', '0x10 1x50')
  },
  {
    alert: 'GatewayCatalogStale',
    expr:
      `${select('gateway_catalog_age_seconds')} > 600 and on (job, instance) ` +
      `${increase('gateway_requests_total', '10m', { by, where: MODEL_LISTS })} > 0`,
    for: '10m',
    severity: 'warning',
    summary: 'The model list is old although clients ask for it.',
    runbook:
      'The list is refreshed when a client asks for models and it is older than 30 seconds, so the refresh fails. The log event ' +
      'catalog_discovery_failed says why. The old list is served and requests for its models work.',
    fires: {
      samples: {
        ...gauge('gateway_catalog_age_seconds', '0+60x60'),
        ...requests('route="/v1/models",status="200"', '0+1x60')
      },
      labels: { job: JOB, instance: 'a' },
      atMinutes: 40
    },
    staysQuiet: {
      ...gauge('gateway_catalog_age_seconds', '0+60x60'),
      ...requests('route="/v1/chat/completions",status="200"', '0+1x60')
    }
  },
  {
    alert: 'GatewayProviderCertificateExpires',
    expr: CERTIFICATES.map(name => `(${select(name)} > 0 and ${select(name)} - time() < 7 * 86400)`).join(' or '),
    for: '1h',
    severity: 'warning',
    summary: 'A certificate of the connections to a provider ends within a week.',
    runbook:
      'The admin page lists both certificates of each provider: its own, as the last connection showed it, and the one that the gateway ' +
      'shows. Renew the one that ends; connections that begin later use it.',
    fires: {
      samples: { [`${CERTIFICATES[0]}{${TARGET},provider="p"}`]: '600000x120' },
      labels: { job: JOB, instance: 'a', provider: 'p' },
      atMinutes: 90
    },
    staysQuiet: {
      [`${CERTIFICATES[0]}{${TARGET},provider="p"}`]: '2000000x120',
      // No certificate was seen.
      ...gauge(CERTIFICATES[1], '0x120')
    }
  },
  {
    alert: 'GatewayCertificateExpires',
    expr: `${select('gateway_certificate_expiry_timestamp_seconds')} > 0 and ${select('gateway_certificate_expiry_timestamp_seconds')} - time() < 7 * 86400`,
    for: '1h',
    severity: 'warning',
    summary: 'The certificate that the gateway shows to its clients ends within a week.',
    runbook:
      'Renew the files of GATEWAY_HTTPS_CERT_FILE and GATEWAY_HTTPS_KEY_FILE: the gateway reads them within seconds, or at once on SIGHUP. ' +
      'Where they are renewed already, the log event certificate_reload_failed says why they cannot be used.',
    fires: {
      samples: gauge('gateway_certificate_expiry_timestamp_seconds', '600000x120'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 90
    },
    staysQuiet: gauge('gateway_certificate_expiry_timestamp_seconds', '0x60 2000000x60')
  },
  {
    alert: 'GatewayModelConcurrencyExhausted',
    expr: `${increase('gateway_model_concurrency_rejected_total', '10m', { by: [...INSTANCE, 'model'] })} > 0`,
    for: '10m',
    severity: 'info',
    summary: 'Requests are refused by the concurrency limit of a model.',
    runbook:
      'Clients get 429. Raise the model in GATEWAY_MODEL_MAX_CONNECTIONS if the provider allows more, or let requests wait longer ' +
      'with GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT.',
    fires: {
      samples: { [`gateway_model_concurrency_rejected_total{${TARGET},model="m"}`]: '0+2x60' },
      labels: { job: JOB, instance: 'a', model: 'm' },
      atMinutes: 30
    },
    staysQuiet: { [`gateway_model_concurrency_rejected_total{${TARGET},model="m"}`]: '7x60' }
  },
  {
    alert: 'GatewayMetricsOverflow',
    expr: `${increase('gateway_metrics_overflow_total', '1h', { by })} > 0`,
    for: '0m',
    severity: 'info',
    summary: 'More label sets exist than the metrics keep apart.',
    runbook:
      'Further label sets are counted together, under the route `overflow` where there is one. Lower GATEWAY_METRICS_MAX_MODELS, or serve fewer routes ' +
      'and models with one gateway. Totals over all labels stay exact.',
    fires: {
      samples: gauge('gateway_metrics_overflow_total', '0x10 1x50'),
      labels: { job: JOB, instance: 'a' },
      atMinutes: 20
    },
    staysQuiet: gauge('gateway_metrics_overflow_total', '1x60')
  }
]
