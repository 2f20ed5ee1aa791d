// Sums over records, and how the gateway is: what runs, its providers, its sinks (operations.md 9.3).
import type { RouteDocument } from '../../operation.ts'
import type { JsonSchema } from '../../schema.ts'
import { filters } from './filters.ts'
import { closed, type Described, describe, integer, listOf, nullable, query, text } from './words.ts'

const number: JsonSchema = { type: 'number' }
const distribution = (description: string): JsonSchema => ({
  description,
  anyOf: [
    closed({
      count: integer,
      p50_ms: { ...number, description: 'One of the values, as the other percentiles.' },
      p95_ms: number,
      p99_ms: number,
      max_ms: number,
      classes: {
        ...listOf(closed({ up_to_ms: nullable('number'), count: integer })),
        description:
          'Bounds are 1, 2 and 5 of each power of ten; from the class of the smallest value to that of the largest.'
      }
    }),
    { type: 'null' }
  ]
})

export const figureOperations: readonly RouteDocument[] = (
  [
    {
      id: 'sumTrafficLogs',
      path: '/_admin/logs/sums',
      summary: 'Requests, errors, tokens, cost and latencies, added up',
      parameters: [
        query('from', 'The first time; its bucket counts whole. By default a day ago.'),
        query('to', 'The last time. By default now.'),
        query(
          'bucket',
          'Seconds that a sum is made of, where `by` has `time`. Those below an hour reach back two days.',
          { type: 'integer', enum: [60, 300, 900, 3600, 86_400], default: 3600 }
        ),
        query(
          'by',
          'Groups, separated by commas: time (start of the bucket), hour, day (UTC), protocol, model, alias, profile_id, provider, api_key_hash, ' +
            'api_key_name, error_code, currency. By default hour; an empty text for one sum. All keys that the gateway does not know are `(unknown)`.'
        ),
        query('key', 'The name of the only key that counts.'),
        query('limit', 'Rows at most.', { type: 'integer', minimum: 1, maximum: 10_000, default: 1000 })
      ],
      response: closed({
        data: listOf({
          type: 'object',
          properties: {
            time: text,
            hour: text,
            day: text,
            protocol: text,
            model: nullable('string'),
            alias: nullable('string'),
            profile_id: nullable('string'),
            provider: nullable('string'),
            api_key_hash: nullable('string'),
            api_key_name: nullable('string'),
            error_code: nullable('string'),
            requests: integer,
            errors: integer,
            input_tokens: integer,
            output_tokens: integer,
            cost: {
              ...nullable('number'),
              description:
                'Null where no record of the row has one, and where their currencies differ: ask by currency then.'
            },
            currency: nullable('string'),
            latency_p50_ms: integer,
            latency_p95_ms: integer,
            latency_p99_ms: integer
          }
        }),
        from: text,
        to: text,
        bucket: integer,
        by: listOf(text),
        limit: integer
      }),
      statuses: [400, 422]
    },
    {
      id: 'describeTrafficLatencies',
      path: '/_admin/logs/latencies',
      summary: 'How long requests took: percentiles and their distribution',
      description:
        'Exact for the newest 10000 records that the filters besides `q`, `method`, `stream` and `min_latency_ms` select, and of these for the ' +
        'records that all filters select.',
      parameters: filters,
      response: closed({
        records: { ...integer, description: 'How many records were looked at.' },
        latency: distribution('Null without a record.'),
        first_content: distribution(
          'Until the first text, reasoning or tool call of a stream; null where none had one.'
        )
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
        responses_stored: { type: 'boolean' },
        version: text
      })
    }
  ] as const satisfies readonly Described[]
).map(describe)
