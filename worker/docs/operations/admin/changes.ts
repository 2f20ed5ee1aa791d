// What changes stored records or sends one again (operations.md 9.4 to 9.6).
import type { RouteDocument } from '../../operation.ts'
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
  object,
  query,
  text
} from './words.ts'

const mark = closed({ source_log_id: text, source_request_id: text, replayed_at: text })

export const changeOperations: readonly RouteDocument[] = (
  [
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
