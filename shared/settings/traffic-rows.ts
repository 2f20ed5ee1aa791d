// The settings of the traffic log: its sinks, what a record holds, its queues and how long records
// are kept (operations.md 8).
import { UNRECORDED_ROUTES } from '../traffic/unrecorded-routes.ts'
import type { SectionRows } from './row.ts'
import * as kind from './types.ts'

const positive = kind.integer({ above: 0 })
const milliseconds = kind.integer({ above: 0, max: kind.MILLISECONDS_MAX })
const seconds = kind.integer({ above: 0, max: kind.SECONDS_MAX })
const days = kind.integer({ above: 0, max: kind.DAYS_MAX })
const share = kind.decimal({ min: 0, max: 1 })
const sinkNames = ['noop', 'jsonl', 'sqlite', 'postgres', 'relational', 'opensearch', 'search_index'] as const

/** The rows of the traffic log and of its search server. */
export function trafficLogRows(add: SectionRows) {
  return {
    GATEWAY_TRAFFIC_LOG_ENABLED: add.withDefault(kind.boolean, 'false', 'Keep a record of every request.'),
    GATEWAY_TRAFFIC_LOG_SINK: add.withDefault(kind.oneOf(sinkNames), 'noop', 'Sink that stores the records.'),
    GATEWAY_TRAFFIC_LOG_SINKS: add.withDefault(
      kind.listOf(sinkNames),
      '[]',
      'Several sinks in order; replaces `GATEWAY_TRAFFIC_LOG_SINK`.'
    ),
    GATEWAY_TRAFFIC_LOG_JSONL_PATH: add.withDefault(kind.path, 'traffic_logs.jsonl', 'File of the `jsonl` sink.'),
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: add.optional(
      kind.secret,
      'Database of the relational sink: `sqlite:<path>`, a path, or a `postgres://` address.',
      { secret: true, aliases: ['GATEWAY_TRAFFIC_LOG_POSTGRES_DSN'] }
    ),
    GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: add.withDefault(
      kind.boolean,
      'false',
      'Create and upgrade the Postgres tables at start.'
    ),
    GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: add.withDefault(kind.boolean, 'false', 'Store headers and bodies too.'),
    GATEWAY_TRAFFIC_LOG_MAX_BODY_BYTES: add.withDefault(
      positive,
      '1000000',
      'Largest number of bytes stored per body.'
    ),
    GATEWAY_TRAFFIC_LOG_REDACT_SENSITIVE: add.withDefault(
      kind.boolean,
      'true',
      'Mask secrets before a record is stored.'
    ),
    GATEWAY_TRAFFIC_LOG_REDACT_EXTRA_KEYS: add.withDefault(
      kind.textList,
      '[]',
      'Further names whose values are masked.'
    ),
    GATEWAY_TRAFFIC_LOG_SAMPLE_RATE: add.withDefault(
      share,
      '1',
      'Share of successful requests that is recorded; failed requests always are.'
    ),
    GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: add.computed(
      kind.textList,
      { value: () => [...UNRECORDED_ROUTES], text: 'probes, metrics, page files, repeated reads of the dashboard' },
      'Route templates that are not recorded, and paths that nothing serves. `[]`: every request is recorded.'
    ),
    GATEWAY_TRAFFIC_LOG_QUEUE_SIZE: add.withDefault(positive, '10000', 'Records that may wait for the writer.'),
    GATEWAY_TRAFFIC_LOG_BATCH_SIZE: add.withDefault(positive, '500', 'Records written in one batch.'),
    GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: add.withDefault(milliseconds, '2000', 'Longest wait for a batch to fill.'),
    GATEWAY_TRAFFIC_LOG_DROP_ON_BACKPRESSURE: add.withDefault(
      kind.boolean,
      'true',
      'Drop and count records instead of slowing requests down.'
    ),
    GATEWAY_TRAFFIC_LOG_SPILL_DIR: add.optional(
      kind.path,
      'Directory for records that a sink cannot accept at the moment.'
    ),
    GATEWAY_TRAFFIC_LOG_SPILL_MAX_BYTES: add.withDefault(
      positive,
      '1073741824',
      'Largest size of the records of one sink in the spill directory.'
    ),
    GATEWAY_TRAFFIC_LOG_RETENTION_DAYS: add.withDefault(days, '30', 'Age in days at which records are deleted.'),
    GATEWAY_TRAFFIC_LOG_ERROR_RETENTION_DAYS: add.optional(
      days,
      'The same for records of failed requests, if they are kept longer.'
    ),
    GATEWAY_TRAFFIC_LOG_CONTENT_RETENTION_DAYS: add.optional(
      days,
      'Age in days at which stored headers and bodies are deleted, if before their record.'
    ),
    GATEWAY_TRAFFIC_LOG_PURGE_INTERVAL_SECONDS: add.withDefault(
      seconds,
      '3600',
      'Pause between two deletions of old records.'
    ),
    GATEWAY_SEARCH_INDEX_URL: add.withDefault(
      kind.url,
      'http://localhost:9200',
      'Search server of the `opensearch` sink, which `search_index` names too.',
      {
        aliases: ['GATEWAY_OPENSEARCH_URL']
      }
    ),
    GATEWAY_OPENSEARCH_USERNAME: add.optional(kind.secret, 'User name for the search server.', { secret: true }),
    GATEWAY_OPENSEARCH_PASSWORD: add.optional(kind.secret, 'Password for the search server.', { secret: true }),
    GATEWAY_OPENSEARCH_INDEX: add.withDefault(kind.name, 'gateway-traffic', 'Index or data stream.'),
    GATEWAY_OPENSEARCH_DATA_STREAM: add.withDefault(
      kind.boolean,
      'true',
      'Write to a data stream instead of an index.'
    ),
    GATEWAY_OPENSEARCH_BULK_SIZE: add.withDefault(positive, '500', 'Records per bulk call.'),
    GATEWAY_OPENSEARCH_FLUSH_INTERVAL_MS: add.withDefault(milliseconds, '2000', 'Longest wait for a bulk call to fill.')
  }
}
