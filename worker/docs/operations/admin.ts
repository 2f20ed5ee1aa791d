// The admin API over stored traffic records (operations.md 9), which is mounted only where a
// setting switches it on. Its bodies are written here, so that the documentation does not load the
// admin room.
import type { Parameter, RouteDocument } from '../operation.ts'
import type { JsonSchema } from '../schema.ts'

const text: JsonSchema = { type: 'string' }
const integer: JsonSchema = { type: 'integer' }
const object: JsonSchema = { type: 'object' }
const nullable = (type: string): JsonSchema => ({ type: [type, 'null'] })
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
const anyJson: JsonSchema = {}

const summaryProperties: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string', format: 'uuid' },
  created_at: { type: 'string', format: 'date-time' },
  request_id: text,
  trace_id: nullable('string'),
  span_id: nullable('string'),
  protocol: text,
  route: text,
  method: text,
  status_code: nullable('integer'),
  model_requested: nullable('string'),
  model_effective: nullable('string'),
  provider: nullable('string'),
  upstream_status_code: nullable('integer'),
  latency_ms: nullable('integer'),
  upstream_latency_ms: nullable('integer'),
  input_tokens: nullable('integer'),
  output_tokens: nullable('integer'),
  total_tokens: nullable('integer'),
  error_type: nullable('string'),
  error_message: nullable('string'),
  api_key_hash: nullable('string'),
  client_ip_hash: nullable('string'),
  metadata: {
    type: 'object',
    description: 'The facts of this kind of request; a member without a value is absent.',
    properties: {
      ignored_fields: {
        ...listOf(text),
        description: 'The fields of the client that had no effect on the route, as `x-gateway-ignored` names them.'
      }
    }
  },
  has_request_body: { type: 'boolean' },
  has_response_body: { type: 'boolean' }
}

function closed(properties: Readonly<Record<string, JsonSchema>>, optional: readonly string[] = []): JsonSchema {
  return { type: 'object', required: Object.keys(properties).filter(name => !optional.includes(name)), properties }
}

const summary = closed(summaryProperties)

const query = (name: string, description: string, schema: JsonSchema = text): Parameter => ({
  name,
  in: 'query',
  description,
  schema
})

const limit = (maximum: number, standard: number): Parameter =>
  query('limit', 'How many records at most.', { type: 'integer', minimum: 1, maximum, default: standard })

const filters: readonly Parameter[] = [
  query('from', 'Records that began at this time or later: RFC 3339, a date, or Unix seconds.'),
  query('to', 'Records that began at this time or earlier.'),
  ...['protocol', 'route', 'method', 'provider', 'request_id', 'trace_id', 'api_key_hash', 'error_type'].map(name =>
    query(name, 'Records with exactly this value.')
  ),
  query('caller', 'Records whose caller has this name, such as `openai-python`.'),
  query('model', 'Records whose requested or effective model has this name.'),
  query('status_code', 'Records with this status.', integer),
  query('has_error', 'Failed records, or those that did not fail.', { type: 'boolean' }),
  query('min_latency_ms', 'Records that took this long or longer.', { type: 'integer', minimum: 0 }),
  query(
    'q',
    'Records with this part in an id, a route, a path, an error, or the name of a model, provider or caller; A to Z in any case. ' +
      'Looks at the newest 10000 records that the filters besides `method` and `min_latency_ms` select.',
    { type: 'string', maxLength: 256 }
  )
]
const cursor = query('cursor', 'The `next_cursor` of the page before, or a decimal offset.')

const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of a record: a UUID.',
  schema: text
}

interface Described extends Pick<RouteDocument, 'id' | 'path' | 'summary' | 'description' | 'parameters' | 'body'> {
  method?: RouteDocument['method']
  response?: JsonSchema
  content?: Readonly<Record<string, JsonSchema>>
  statuses?: readonly number[]
}

function describe({ method = 'get', response, content, statuses = [], ...operation }: Described): RouteDocument {
  return {
    ...operation,
    method,
    tag: 'Admin / Traffic Logs',
    responses: {
      200: {
        description: 'OK',
        content: { ...(response === undefined ? {} : { 'application/json': response }), ...content }
      }
    },
    errors: { form: 'system', statuses: [403, 503, ...(method === 'post' ? [408, 413, 415] : []), ...statuses] }
  }
}

const OF_RECORD = [400, 404]

const mark = closed({ source_log_id: text, source_request_id: text, replayed_at: text })

export const adminOperations: readonly RouteDocument[] = (
  [
    {
      id: 'listTrafficLogs',
      path: '/_admin/logs',
      summary: 'Stored records, newest first',
      description:
        '`x-total-estimate` is the number of records that the filters select, such as `37`. With more than 10000 records it counts among the ' +
        'newest 10000, as `q` does, and ends with a plus sign: `10000+`.',
      parameters: [...filters, limit(500, 100), cursor],
      response: closed({
        data: listOf(summary),
        limit: integer,
        cursor: nullable('string'),
        next_cursor: nullable('string')
      }),
      statuses: [400, 422]
    },
    {
      id: 'tailTrafficLogs',
      path: '/_admin/logs/tail',
      summary: 'The newest records, or a stream of them',
      description:
        'With `accept: text/event-stream` the same page oldest first, then every new record, as events `log` with the id of the record; ' +
        '`last-event-id` continues behind it. An event `skipped` says how many records were left out for a slow client.',
      parameters: [limit(500, 100)],
      response: closed({ data: listOf(summary), limit: integer }),
      content: { 'text/event-stream; charset=utf-8': text },
      statuses: [422, 429]
    },
    {
      id: 'exportTrafficLogsAsNdjson',
      path: '/_admin/logs/export.ndjson',
      summary: 'Records with their content, one on each line',
      description: '`x-next-cursor` is the cursor of the next export, where there is more.',
      parameters: [...filters, limit(5000, 1000), cursor],
      content: { 'application/x-ndjson': text },
      statuses: [400, 422]
    },
    {
      id: 'exportTrafficLogsAsCsv',
      path: '/_admin/logs/export.csv',
      summary: 'Records without content as CSV',
      parameters: [...filters, limit(5000, 1000), cursor],
      content: { 'text/csv; charset=utf-8': text },
      statuses: [400, 422]
    },
    {
      id: 'sumTrafficLogs',
      path: '/_admin/logs/sums',
      summary: 'Requests, errors, tokens and latencies, added up',
      parameters: [
        query('from', 'The first hour; it counts whole. By default a day ago.'),
        query('to', 'The last hour. By default now.'),
        query(
          'by',
          'Groups, separated by commas: hour, protocol, model, api_key_hash. By default hour; an empty text for one sum.'
        ),
        query('limit', 'Rows at most.', { type: 'integer', minimum: 1, maximum: 10_000, default: 1000 })
      ],
      response: closed({
        data: listOf({
          type: 'object',
          properties: {
            hour: text,
            protocol: text,
            model: nullable('string'),
            api_key_hash: nullable('string'),
            requests: integer,
            errors: integer,
            input_tokens: integer,
            output_tokens: integer,
            latency_p50_ms: integer,
            latency_p95_ms: integer,
            latency_p99_ms: integer
          }
        }),
        from: text,
        to: text,
        by: listOf(text),
        limit: integer
      }),
      statuses: [400, 422]
    },
    {
      id: 'listRunningRequests',
      path: '/_admin/logs/running',
      summary: 'The model requests that run now, in all workers',
      description: 'From memory, without content; the oldest 200 of each worker. Works without a store.',
      response: closed({
        data: listOf(
          closed({
            request_id: text,
            trace_id: text,
            worker_id: integer,
            protocol: text,
            route: text,
            model_requested: nullable('string'),
            model_effective: nullable('string'),
            provider: nullable('string'),
            started_at: text,
            running_ms: integer,
            state: { enum: ['waiting', 'responding'] },
            streaming: { type: 'boolean' },
            caller: nullable('string'),
            api_key_name: nullable('string'),
            api_key_hash: nullable('string')
          })
        ),
        total: integer,
        silent_workers: { ...integer, description: 'Workers that did not answer in time.' }
      })
    },
    {
      id: 'listProviders',
      path: '/_admin/logs/providers',
      summary: 'What the calls of all workers have seen of each provider',
      description: 'From memory, without content; no provider is called for it. Works without a store.',
      response: closed({
        data: listOf(
          closed({
            profile_id: text,
            provider_kind: text,
            last_success_at: nullable('string'),
            consecutive_failures: { ...integer, description: 'Without those that only a client can correct.' },
            last_failures: {
              ...listOf(closed({ class: text, at: text })),
              description: 'One of each class, the latest first.'
            },
            inventory: {
              description: 'Null where the models are not discovered.',
              anyOf: [
                closed({ state: { enum: ['fresh', 'stale', 'absent'] }, discovered_at: nullable('string') }),
                { type: 'null' }
              ]
            },
            certificates: closed({ provider_expires_at: nullable('string'), client_expires_at: nullable('string') })
          })
        )
      })
    },
    {
      id: 'getTrafficLogHealth',
      path: '/_admin/logs/health',
      summary: 'How the traffic log and its sinks are',
      response: closed({
        enabled: { type: 'boolean' },
        query_store: { enum: ['sqlite', 'postgres', null] },
        writer: { enum: ['connected', 'disconnected', 'absent'] },
        sinks: listOf(
          closed({
            name: text,
            available: { type: 'boolean' },
            queue_depth: integer,
            spill_bytes: integer,
            written: integer,
            dropped: integer
          })
        ),
        store: {
          description: 'Null without a relational store, and while it does not answer.',
          anyOf: [
            closed({
              records_estimate: integer,
              oldest_record: nullable('string'),
              bytes: integer,
              wal_bytes: nullable('integer')
            }),
            { type: 'null' }
          ]
        },
        responses_stored: { type: 'boolean' }
      })
    },
    {
      id: 'getTrafficLog',
      path: '/_admin/logs/{id}',
      summary: 'One record without its content',
      parameters: [id],
      response: summary,
      statuses: OF_RECORD
    },
    {
      id: 'getTrafficLogRequest',
      path: '/_admin/logs/{id}/request',
      summary: 'The captured request of a record',
      parameters: [id],
      response: closed({ id: text, request_headers: nullable('object'), request_body: anyJson }),
      statuses: OF_RECORD
    },
    {
      id: 'getTrafficLogResponse',
      path: '/_admin/logs/{id}/response',
      summary: 'The captured response of a record',
      parameters: [id],
      response: closed({ id: text, response_body: anyJson }),
      statuses: OF_RECORD
    },
    {
      id: 'purgeTrafficLogs',
      method: 'post',
      path: '/_admin/logs/retention/purge',
      summary: 'Delete old records, or count them',
      description:
        'Counts only, unless `dry_run` is false. Records of failed requests stay for `GATEWAY_TRAFFIC_LOG_ERROR_RETENTION_DAYS`. Everything is in the query; a body is ignored.',
      parameters: [
        query('retention_days', 'Age in days from which records are deleted. By default the setting.', {
          type: 'integer',
          minimum: 1,
          maximum: 3650
        }),
        query('batch_size', 'Records of one batch.', { type: 'integer', minimum: 1, maximum: 10_000, default: 1000 }),
        query('max_batches', 'Batches at most.', { type: 'integer', minimum: 1, maximum: 1000, default: 1 }),
        query('dry_run', 'Count only.', { type: 'boolean', default: true })
      ],
      response: closed({
        retention_days: integer,
        cutoff: text,
        dry_run: { type: 'boolean' },
        expired: nullable('integer'),
        deleted: integer,
        batch_size: integer,
        batches: integer,
        max_batches: integer,
        complete: nullable('boolean')
      }),
      statuses: [422]
    },
    {
      id: 'replayTrafficLog',
      method: 'post',
      path: '/_admin/logs/{id}/replay',
      summary: 'Send a recorded request again',
      description:
        'Needs `GATEWAY_REPLAY_ENABLED`. It costs tokens, uses the current credentials and makes a record of its own.',
      parameters: [id],
      body: {
        name: 'ReplayTrafficLogRequest',
        isOptional: true,
        schema: {
          type: 'object',
          properties: {
            overrides: { ...object, description: 'Members that take the place of those of the recorded body.' },
            stream: { type: 'boolean' },
            timeout_seconds: { type: 'number', exclusiveMinimum: 0, maximum: 3600 }
          }
        }
      },
      response: closed({
        id: text,
        request_id: text,
        replayed: { const: true },
        request: closed({
          method: text,
          path: text,
          metadata: closed({ gateway_replay: mark }),
          redacted: { type: 'boolean', description: 'Something that was sent is masked.' }
        }),
        response: closed({ status_code: integer, headers: object, body: anyJson })
      }),
      statuses: [...OF_RECORD, 409, 429, 502]
    },
    {
      id: 'redactTrafficLog',
      method: 'post',
      path: '/_admin/logs/{id}/redact',
      summary: 'Remove the content of a record',
      description: 'Without a body all three fields. What was written to a JSONL file stays.',
      parameters: [id],
      body: {
        name: 'RedactTrafficLogRequest',
        isOptional: true,
        schema: {
          type: 'object',
          properties: {
            fields: { type: ['array', 'null'], items: { enum: ['request_headers', 'request_body', 'response_body'] } }
          }
        }
      },
      response: closed({
        id: text,
        redacted_fields: listOf(text),
        result: closed(
          {
            id: text,
            request_headers_redacted: { type: 'boolean' },
            request_body_redacted: { type: 'boolean' },
            response_body_redacted: { type: 'boolean' },
            metadata: object,
            mirrors: object
          },
          ['mirrors']
        )
      }),
      statuses: OF_RECORD
    }
  ] as const satisfies readonly Described[]
).map(describe)
