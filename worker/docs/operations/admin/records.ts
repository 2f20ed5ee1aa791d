// Stored records: lists, exports, and one of them (operations.md 9.1 to 9.3).
import type { Parameter, RouteDocument } from '../../operation.ts'
import type { JsonSchema } from '../../schema.ts'
import { filters } from './filters.ts'
import {
  anyJson,
  closed,
  type Described,
  describe,
  id,
  integer,
  listOf,
  nullable,
  OF_RECORD,
  query,
  text
} from './words.ts'

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
  alias: { ...nullable('string'), description: 'The declared model that the request was routed to.' },
  profile_id: nullable('string'),
  upstream_status_code: nullable('integer'),
  latency_ms: nullable('integer'),
  upstream_latency_ms: nullable('integer'),
  input_tokens: nullable('integer'),
  output_tokens: nullable('integer'),
  total_tokens: nullable('integer'),
  cost: { ...nullable('number'), description: 'Of the tokens, with 9 decimal places; null where no price is known.' },
  currency: nullable('string'),
  error_type: nullable('string'),
  error_code: { ...nullable('string'), description: 'Of the error of the gateway, such as `unknown_model_alias`.' },
  error_field: { ...nullable('string'), description: 'The field of the request that the error names.' },
  error_message: {
    ...nullable('string'),
    description: 'The message of the gateway; words of a provider only where content is captured.'
  },
  api_key_hash: { ...nullable('string'), description: 'Of a key that the gateway does not know.' },
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
  has_response_body: { type: 'boolean' },
  api_key_name: { ...nullable('string'), description: 'Of the key of the gateway that the client sent.' },
  ignored_fields: {
    anyOf: [listOf(text), { type: 'null' }],
    description: 'The fields of the client that had no effect on the route, as `x-gateway-ignored` names them.'
  },
  is_stream: { type: 'boolean', description: 'The client asked for a stream, or got one.' },
  first_content_ms: {
    ...nullable('number'),
    description: 'From the start of the request to the first text, reasoning or tool call of a stream.'
  }
}

const summary = closed(summaryProperties)

const limit = (maximum: number, standard: number): Parameter =>
  query('limit', 'How many records at most.', { type: 'integer', minimum: 1, maximum, default: standard })

const cursor = query('cursor', 'The `next_cursor` of the page before, or a decimal offset.')

export const recordOperations: readonly RouteDocument[] = (
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
    }
  ] as const satisfies readonly Described[]
).map(describe)
