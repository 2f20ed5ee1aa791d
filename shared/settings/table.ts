// Every setting of the gateway, once: name, type, default and meaning. Parsing, documentation,
// warnings and the printed effective settings all come from these rows and those of
// `traffic-rows.ts` and `upstream-rows.ts` (bridge.md 2).
import { availableParallelism } from 'node:os'
import { countWorkers, readMemoryLimit } from '../memory-plan.ts'
import { keyRows } from './key-rows.ts'
import { type SectionRows, section } from './row.ts'
import { responsesRows } from './store-rows.ts'
import { trafficLogRows } from './traffic-rows.ts'
import * as kind from './types.ts'
import { proxyRows, upstreamRows } from './upstream-rows.ts'

const positive = kind.integer({ above: 0 })
const days = kind.integer({ above: 0, max: kind.DAYS_MAX })
const port = kind.integer({ min: 0, max: 65535 })
const share = kind.decimal({ min: 0, max: 1 })
const METRICS_PATH = '/metrics'

function processRows(add: SectionRows) {
  return {
    GATEWAY_CONFIG: add.optional(
      kind.path,
      'Provider profile file: destinations, credentials, aliases and policies, in YAML or JSON.'
    ),
    GATEWAY_MODE: add.withDefault(
      kind.oneOf(['DEV', 'PROD']),
      'DEV',
      'PROD requires an API key, drops the CORS wildcard, refuses unsafe combinations of settings and has no documentation and no log pages.'
    ),
    GATEWAY_HOST: add.withDefault(kind.host, 'localhost', 'Address to listen on.'),
    GATEWAY_PORT: add.withDefault(port, '8090', 'Port to listen on; 0 picks a free port.'),
    GATEWAY_USE_HTTPS: add.withDefault(kind.boolean, 'false', 'Serve TLS with the key and certificate below.'),
    GATEWAY_HTTPS_KEY_FILE: add.optional(
      kind.path,
      'Private key in PEM form without a password, read when HTTPS is on.'
    ),
    GATEWAY_HTTPS_CERT_FILE: add.optional(kind.path, 'Certificate chain in PEM form, read when HTTPS is on.'),
    GATEWAY_KEEP_ALIVE_SECONDS: add.withDefault(
      kind.integer({ min: 1, max: 86_400 }),
      '75',
      'Seconds that an idle connection stays open: more than the balancer in front keeps it.'
    ),
    GATEWAY_WORKERS: add.computed(
      positive,
      {
        value: () => countWorkers(availableParallelism(), readMemoryLimit()),
        text: 'processor cores, one per 192 MiB of a memory limit'
      },
      'Number of worker processes.'
    ),
    GATEWAY_POOL_THREADS: add.computed(
      kind.integer({ min: 0 }),
      // The real default depends on the number of workers, so `settings.ts` computes it.
      { value: () => 0, text: 'max(1, cores / workers), fewer under a memory limit' },
      'Threads per worker for large bodies and responses, token counts and embeddings; 0 does all of it in the main thread.'
    ),
    GATEWAY_POOL_THRESHOLD_BYTES: add.withDefault(
      positive,
      '524288',
      'Bodies of this size and larger go to a thread; a body of many small values counts for up to several times its size.'
    ),
    GATEWAY_STARTUP_TIMEOUT_SECONDS: add.withDefault(
      kind.decimal({ above: 0, max: kind.SECONDS_MAX }),
      '30',
      'Seconds in which a new worker must become ready; after that its start has failed.'
    ),
    GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: add.withDefault(
      kind.decimal({ above: 0, max: 3600 }),
      '25',
      'Seconds that running requests may continue at a stop, once new ones are refused.'
    ),
    GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS: add.withDefault(
      kind.decimal({ min: 0, max: 60 }),
      '0',
      'Seconds for which requests are still served at a stop, after readiness turned false: balancers need them to notice.'
    )
  }
}

function requestRows(add: SectionRows) {
  return {
    GATEWAY_UPSTREAM_API_MODE: add.withDefault(
      kind.oneOf(['v1', 'v2']),
      'v1',
      'Version of the upstream API for routes without a version prefix.'
    ),
    GATEWAY_PASS_MODEL: add.withDefault(
      kind.boolean,
      'true',
      'Send the model that the client requests; when off, always send `UPSTREAM_MODEL`.'
    ),
    GATEWAY_PARALLEL_TOOL_CALLS: add.withDefault(
      kind.oneOf(['auto', 'explicit', 'off']),
      'auto',
      'When the native upstream is asked for several calls in one response: unless the client refuses them, only when it requests them, or never.'
    ),
    GATEWAY_EMBEDDINGS: add.withDefault(
      kind.name,
      'EmbeddingsGigaR',
      'Embeddings model for requests that name no model.'
    ),
    GATEWAY_DEFAULT_MAX_TOKENS: add.optional(positive, 'Limit of output tokens for native requests that set none.'),
    GATEWAY_ENABLE_IMAGES: add.withDefault(kind.boolean, 'true', 'Accept images on native routes.'),
    GATEWAY_JSON_OBJECT_MODE: add.withDefault(
      kind.oneOf(['reject', 'any_object']),
      'reject',
      'Native requests for JSON without a schema: refused, or sent with the schema `{"type":"object"}`.'
    ),
    GATEWAY_MAX_REQUEST_BODY_BYTES: add.withDefault(
      positive,
      '10485760',
      'Largest request body, as received and after decompression.'
    ),
    GATEWAY_MAX_AUDIO_FILE_SIZE_BYTES: add.withDefault(positive, '36700160', 'Largest audio attachment.'),
    GATEWAY_MAX_IMAGE_FILE_SIZE_BYTES: add.withDefault(positive, '15728640', 'Largest image attachment.'),
    GATEWAY_MAX_TEXT_FILE_SIZE_BYTES: add.withDefault(positive, '41943040', 'Largest text attachment.'),
    GATEWAY_MAX_AUDIO_IMAGE_TOTAL_SIZE_BYTES: add.withDefault(
      positive,
      '83886080',
      'Largest total size of the audio and image attachments of one request.'
    ),
    GATEWAY_REQUEST_TIMEOUT_SECONDS: add.withDefault(
      kind.decimal({ min: 0, max: kind.SECONDS_MAX }),
      '0',
      'Longest duration of a non-streaming request; 0 sets no limit.'
    ),
    GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: add.withDefault(
      kind.decimal({ min: 0, max: kind.SECONDS_MAX }),
      '300',
      'Longest time without data from an upstream stream; 0 sets no limit.'
    ),
    GATEWAY_STREAM_HEAD_AFTER_SECONDS: add.withDefault(
      kind.decimal({ min: 0, max: kind.SECONDS_MAX }),
      '0',
      'Seconds of silence of a provider after which the head of a stream is sent; a later failure is an error of the stream. 0 waits for the first event.'
    ),
    GATEWAY_MODEL_MAX_CONNECTIONS: add.withDefault(
      kind.countMap,
      '{}',
      'Concurrency limit per model: upstream calls at the same time, counted over all workers of the host. Names are models or aliases; aliases of one model share its limit, and the lowest applies.'
    ),
    GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: add.optional(
      positive,
      'Concurrency limit of each model that `GATEWAY_MODEL_MAX_CONNECTIONS` does not list.'
    ),
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: add.optional(
      kind.decimal({ min: 0, max: kind.SECONDS_MAX }),
      'Seconds that a request waits when its model has reached the limit; unset waits without limit, 0 refuses at once.'
    )
  }
}

function accessRows(add: SectionRows) {
  return {
    GATEWAY_ENABLE_API_KEY_AUTH: add.withDefault(kind.boolean, 'false', 'Require an API key from every client.'),
    GATEWAY_API_KEY: add.optional(
      kind.secret,
      'The API key. Where authentication is on or the mode is PROD, a key is required: this one, one of `GATEWAY_API_KEYS` or one of a keys file.',
      {
        secret: true
      }
    ),
    GATEWAY_API_KEYS: add.withDefault(kind.secretMap, '{}', 'Further API keys by name, for rotation.', {
      secret: true
    }),
    GATEWAY_PASS_TOKEN: add.withDefault(
      kind.boolean,
      'false',
      'Let a client send its own upstream authorization with a request.'
    ),
    GATEWAY_PASS_TOKEN_CLIENT_CACHE_SIZE: add.withDefault(
      positive,
      '32',
      'Idle upstream clients kept for the authorizations that clients send.'
    ),
    GATEWAY_CORS_ALLOW_ORIGINS: add.withDefault(
      kind.originList,
      '[]',
      'Origins that browsers may call from, besides those of this machine; one between slashes is a regular expression for the whole origin.'
    ),
    GATEWAY_CORS_ALLOW_METHODS: add.withDefault(kind.textList, '["*"]', 'Methods that browsers may use.'),
    GATEWAY_CORS_ALLOW_HEADERS: add.withDefault(kind.textList, '["*"]', 'Headers that browsers may send.'),
    GATEWAY_ALLOWED_HOSTS: add.withDefault(
      kind.hostList,
      '[]',
      'Further names in the `Host` header, with any port, while the gateway listens on a loopback address without key authentication; other names are 421.'
    ),
    GATEWAY_ALLOW_INSECURE_PROD: add.withDefault(
      kind.boolean,
      'false',
      'Warn about unsafe combinations of settings in PROD instead of refusing to start.'
    ),
    GATEWAY_FINGERPRINT_KEY: add.optional(
      kind.secret,
      'Key for the one-way fingerprints of API keys and client addresses; when unset, each start generates a random key. Summaries of Responses conversations are sealed with a key derived from it.',
      { secret: true }
    )
  }
}

function runtimeLogRows(add: SectionRows) {
  return {
    GATEWAY_LOG_LEVEL: add.withDefault(
      kind.oneOf(['CRITICAL', 'ERROR', 'WARNING', 'INFO', 'DEBUG']),
      'INFO',
      'Least severe level that is written.'
    ),
    GATEWAY_LOG_FORMAT: add.withDefault(
      kind.oneOf(['json', 'text']),
      'json',
      'One JSON object or one readable line per event.'
    ),
    GATEWAY_LOG_FILENAME: add.withDefault(
      kind.path,
      'gateway.log',
      'Log file, written in addition to stdout; `/dev/stdout` or `/dev/stderr` writes each line there alone and once.'
    ),
    GATEWAY_LOG_MAX_SIZE: add.withDefault(positive, '10485760', 'Size in bytes at which the log file is rotated.'),
    GATEWAY_LOG_RETENTION_DAYS: add.withDefault(days, '7', 'Age in days at which rotated log files are deleted.'),
    GATEWAY_LOG_REDACT_SENSITIVE: add.withDefault(
      kind.boolean,
      'true',
      'Mask keys, tokens and passwords in log lines.'
    ),
    GATEWAY_ACCESS_LOG: add.withDefault(kind.boolean, 'false', 'Write one line per finished request.'),
    GATEWAY_LOGS_IP_ALLOWLIST: add.withDefault(
      kind.addressList,
      '[]',
      'Addresses and ranges that may read the log routes; an empty list allows all.'
    ),
    GATEWAY_LOGS_TRUSTED_PROXIES: add.withDefault(
      kind.addressList,
      '[]',
      'Addresses and ranges of proxies whose `x-forwarded-for` the log routes trust.'
    )
  }
}

function tracingRows(add: SectionRows) {
  return {
    GATEWAY_OBSERVABILITY_ENABLED: add.withDefault(kind.boolean, 'false', 'Export traces.'),
    GATEWAY_OBSERVABILITY_BACKEND: add.withDefault(kind.oneOf(['noop', 'otlp']), 'otlp', 'How traces are exported.'),
    GATEWAY_TRACE_COLLECTOR_ENDPOINT: add.withDefault(kind.url, 'http://localhost:4317', 'Address of the collector.', {
      aliases: ['TRACE_COLLECTOR_ENDPOINT']
    }),
    GATEWAY_TRACE_PROJECT_NAME: add.withDefault(kind.name, 'gateway', 'Project name in traces.', {
      aliases: ['TRACE_PROJECT_NAME']
    }),
    GATEWAY_TRACE_API_KEY: add.optional(kind.secret, 'Key for the collector.', {
      secret: true,
      aliases: ['TRACE_API_KEY']
    }),
    GATEWAY_OBSERVABILITY_SAMPLE_RATE: add.withDefault(share, '1', 'Share of requests that is traced.'),
    GATEWAY_OBSERVABILITY_QUEUE_SIZE: add.withDefault(
      positive,
      '10000',
      'Spans that may wait for the collector, in each worker.'
    ),
    GATEWAY_OBSERVABILITY_DROP_ON_BACKPRESSURE: add.withDefault(
      kind.boolean,
      'true',
      'Drop spans that a full queue cannot hold; off: send a full queue at once and hold twice as many.'
    ),
    GATEWAY_OBSERVABILITY_CAPTURE_CONTENT: add.withDefault(
      kind.boolean,
      'false',
      'Main switch of the three capture settings below.'
    ),
    GATEWAY_OBSERVABILITY_CAPTURE_MESSAGES: add.withDefault(kind.boolean, 'false', 'Put messages into spans.'),
    GATEWAY_OBSERVABILITY_CAPTURE_TOOL_ARGS: add.withDefault(kind.boolean, 'false', 'Put tool arguments into spans.'),
    GATEWAY_OBSERVABILITY_CAPTURE_RESPONSES: add.withDefault(kind.boolean, 'false', 'Put responses into spans.'),
    GATEWAY_OBSERVABILITY_MAX_CONTENT_LENGTH: add.withDefault(
      positive,
      '8000',
      'Longest captured text, in characters.'
    ),
    GATEWAY_OBSERVABILITY_REDACTION_ENABLED: add.withDefault(kind.boolean, 'true', 'Mask secrets in captured text.'),
    OTEL_EXPORTER_OTLP_PROTOCOL: add.optional(
      kind.oneOf(['grpc', 'http/protobuf']),
      'As OpenTelemetry defines it; `grpc` when unset.'
    ),
    OTEL_EXPORTER_OTLP_HEADERS: add.optional(kind.secret, 'As OpenTelemetry defines it.', { secret: true }),
    OTEL_EXPORTER_OTLP_TIMEOUT: add.optional(
      kind.integer({ above: 0 }),
      'As OpenTelemetry defines it, in milliseconds; at most 5000 are waited for.'
    ),
    OTEL_EXPORTER_OTLP_COMPRESSION: add.optional(kind.oneOf(['gzip', 'none']), 'As OpenTelemetry defines it.'),
    OTEL_EXPORTER_OTLP_CERTIFICATE: add.optional(kind.path, 'As OpenTelemetry defines it.')
  }
}

function metricsRows(add: SectionRows) {
  return {
    GATEWAY_METRICS_ENABLED: add.withDefault(
      kind.boolean,
      'false',
      'Count requests and serve the metrics of all processes.'
    ),
    GATEWAY_METRICS_PATH: add.withDefault(
      kind.urlPath(METRICS_PATH),
      METRICS_PATH,
      'Path of the metrics. It needs an API key while authentication is on.'
    ),
    GATEWAY_METRICS_PORT: add.optional(
      port,
      'Serve the metrics on this port of `GATEWAY_METRICS_HOST`, with the same path and key, and no longer on `GATEWAY_PORT`.'
    ),
    GATEWAY_METRICS_HOST: add.withDefault(
      kind.host,
      '127.0.0.1',
      'Address of that port: another one where the scraper runs elsewhere, as in a cluster. It speaks HTTP without TLS.'
    ),
    GATEWAY_METRICS_MAX_MODELS: add.withDefault(
      positive,
      '200',
      'Number of different model labels; further models get the label `other`.'
    )
  }
}

function adminRows(add: SectionRows) {
  return {
    GATEWAY_ADMIN_API_ENABLED: add.withDefault(kind.boolean, 'false', 'Serve the admin API over stored records.'),
    GATEWAY_REPLAY_ENABLED: add.withDefault(kind.boolean, 'false', 'Let the admin API send a stored request again.'),
    GATEWAY_DEBUG_TRANSLATE_ENABLED: add.withDefault(kind.boolean, 'false', 'Serve the translation debugging routes.'),
    GATEWAY_ADMIN_API_KEY: add.optional(kind.secret, 'Key of the admin and debugging routes.', { secret: true })
  }
}

export const settingsTable = Object.freeze({
  ...processRows(section('Process')),
  ...requestRows(section('Requests')),
  ...responsesRows(section('Memory of Responses')),
  ...accessRows(section('Access')),
  ...keyRows(section('Keys, limits and spend')),
  ...runtimeLogRows(section('Runtime log')),
  ...trafficLogRows(section('Traffic log')),
  ...tracingRows(section('Tracing')),
  ...metricsRows(section('Metrics')),
  ...adminRows(section('Admin and debug')),
  ...upstreamRows(section('Native upstream')),
  ...proxyRows(section('Proxy'))
})

export type SettingsTable = typeof settingsTable
export type SettingName = keyof SettingsTable

/** All names in the order of the table. */
export const settingNames = Object.freeze(Object.keys(settingsTable)) as readonly SettingName[]
