// The admin API of a busy gateway, for what the dashboard shows of it: records, sums, keys, providers, sinks and conversations. Every document
// has the type of what a worker answers.
import type {
  KeysAnswer,
  RunningAnswer,
  ShownKey,
  ShownThread,
  ShownTurn,
  SumsAnswer,
  ThreadsAnswer,
  TrafficHealth,
  TurnsAnswer
} from '../../shared/admin-answers.ts'
import type { BridgeModelsDocument } from '../../shared/documents/bridge-documents.ts'
import type { ReadinessDocument } from '../../shared/documents/documents.ts'
import type { ProviderEntry } from '../../shared/documents/provider-documents.ts'
import type { SumKeyName } from '../../shared/traffic/query.ts'
import type { AdminHandler } from './dashboard.ts'
import { sendJson } from './dashboard.ts'
import {
  createBusyRecords,
  describeBusyLatencies,
  FAILING_SINCE_MS,
  matchesFilter,
  ROUTES,
  sumBusyRecords
} from './dashboard-traffic.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** The documents by path. */
interface Documents {
  readonly '/ready': ReadinessDocument
  readonly '/_admin/logs/health': TrafficHealth
  readonly '/_admin/logs/running': RunningAnswer
  readonly '/_admin/logs/providers': { readonly data: readonly ProviderEntry[] }
  readonly '/bridge/models': Pick<BridgeModelsDocument, 'models'>
  readonly '/_admin/keys': KeysAnswer
  readonly '/_admin/threads': ThreadsAnswer
}

const REVISION = 'sha256:dfe00e48f6354a99b306442b7cba339447ecc22d03f66ade047ede7cb60d3298'

/** Answers as a gateway would that has served what `createBusyRecords` makes. Every time is relative to `nowMs`. */
export function answerBusily(nowMs: number, options: { readonly isQuiet?: boolean } = {}): AdminHandler {
  const { isQuiet = false } = options
  const records = createBusyRecords(nowMs)
  const ago = (ms: number) => new Date(nowMs - ms).toISOString()
  const ahead = (ms: number) => ago(-ms)
  const documents: Documents = {
    '/ready': {
      schema_version: 'gateway.readiness.v1',
      ready: true,
      process_alive: true,
      provider_routes_configured: true,
      provider_adapters_ready: true,
      model_catalog: {
        state: isQuiet ? 'fresh' : 'stale',
        usable: true,
        discovery_available: true,
        provider_profile_id: 'native-main',
        inventory_revision: REVISION
      },
      config_revision: REVISION,
      matrix_revision: 'sha256:c747dcceb51909ee3c8397c8ca09ce2c02b0ccdd39062a30506cd1c7394c276c',
      keys_revision: 'sha256:0e2a6d844d6d4c26d11c97a1e8d5af7e119af5a948c1eb6fdde7f1bca932911a',
      reasons: [],
      warnings: isQuiet ? [] : [{ reason_id: 'model_inventory_stale_but_usable' }]
    },
    '/_admin/logs/health': {
      version: '0.5.0',
      enabled: true,
      query_store: 'postgres',
      writer: 'connected',
      sinks: [
        { name: 'postgres', available: true, queue_depth: 12, spill_bytes: 0, written: 1_204_331, dropped: 0 },
        {
          name: 'opensearch',
          available: isQuiet,
          queue_depth: isQuiet ? 0 : 500,
          spill_bytes: isQuiet ? 0 : 7_412_000,
          written: 1_197_820,
          dropped: 0
        }
      ],
      store: { records_estimate: 1_204_000, oldest_record: ago(29.4 * DAY_MS), bytes: 812_000_000, wal_bytes: null },
      responses_stored: true
    },
    '/_admin/logs/running': {
      data: ROUTES.map((route, index) => ({
        request_id: `req-run-${index}`,
        trace_id: `trace-run-${index}`,
        worker_id: index % 2,
        protocol: index % 2 === 0 ? 'openai' : 'anthropic',
        route: index % 2 === 0 ? '/v1/chat/completions' : '/v1/messages',
        model_requested: route.alias,
        model_effective: route.model,
        provider: route.kind,
        started_at: ago(48_000 / (index + 1)),
        running_ms: 48_000 / (index + 1),
        state: index % 3 === 0 ? 'waiting' : 'responding',
        streaming: index % 3 === 1,
        caller: 'openai-node',
        api_key_name: index % 2 === 0 ? 'web-chat' : 'support-bot',
        api_key_hash: null
      })),
      total: ROUTES.length,
      silent_workers: 0
    },
    '/_admin/logs/providers': {
      data: [
        {
          profile_id: 'claude-direct',
          provider_kind: 'messages_compatible',
          last_success_at: ago(21_000),
          consecutive_failures: 0,
          last_failures: [{ class: 'http_529', at: ago(190 * MINUTE_MS) }],
          inventory: null,
          certificates: { provider_expires_at: ahead(isQuiet ? 80 * DAY_MS : 9 * DAY_MS), client_expires_at: null }
        },
        {
          profile_id: 'native-main',
          provider_kind: 'native',
          last_success_at: ago(3_000),
          consecutive_failures: 0,
          last_failures: [
            { class: 'http_429', at: ago(44 * MINUTE_MS) },
            { class: 'timeout', at: ago(9 * 60 * MINUTE_MS) }
          ],
          inventory: { state: isQuiet ? 'fresh' : 'stale', discovered_at: ago(14 * MINUTE_MS) },
          certificates: { provider_expires_at: ahead(211 * DAY_MS), client_expires_at: ahead(61 * DAY_MS) }
        },
        {
          profile_id: 'openai-eu',
          provider_kind: 'chat_compatible',
          last_success_at: ago(5_000),
          consecutive_failures: 0,
          last_failures: [],
          inventory: null,
          certificates: { provider_expires_at: ahead(48 * DAY_MS), client_expires_at: null }
        },
        {
          profile_id: 'vllm-rack-2',
          provider_kind: 'chat_compatible',
          last_success_at: ago(FAILING_SINCE_MS),
          consecutive_failures: isQuiet ? 0 : 94,
          last_failures: isQuiet
            ? []
            : [
                { class: 'http_503', at: ago(8_000) },
                { class: 'connect_error', at: ago(19 * MINUTE_MS) }
              ],
          inventory: { state: 'fresh', discovered_at: ago(2 * MINUTE_MS) },
          certificates: { provider_expires_at: null, client_expires_at: null }
        }
      ]
    },
    '/bridge/models': {
      models: ROUTES.map(({ alias, kind, profile }) => ({
        id: alias,
        provider_kind: kind,
        provider_profile_id: profile,
        owned_by: null,
        model_type: 'chat',
        inventory_revision: REVISION,
        available: true,
        deprecated: alias === 'GigaChat-2',
        stale: !isQuiet && profile === 'native-main'
      }))
    },
    '/_admin/keys': describeKeys(nowMs, isQuiet),
    '/_admin/threads': { data: describeThreads(nowMs), limit: 100, cursor: null, next_cursor: null }
  }
  const isKnown = (path: string): path is keyof Documents => Object.hasOwn(documents, path)
  return (_request, response, { pathname, searchParams }) => {
    if (isKnown(pathname)) return sendJson(response, 200, documents[pathname])
    const { limit, cursor, by, bucket, ...filter } = Object.fromEntries(
      [...searchParams].filter(([, value]) => value !== '')
    )
    if (pathname === '/_admin/logs/tail') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const newest = records.slice(0, 120).reverse()
      response.write(newest.map(record => `event: log\nid: ${record.id}\ndata: ${JSON.stringify(record)}\n\n`).join(''))
      return
    }
    if (pathname.startsWith('/_admin/threads/'))
      return sendJson(response, 200, { data: describeTurns(nowMs), limit: 100, has_more: false } satisfies TurnsAnswer)
    const found = records.filter(record => matchesFilter(record, filter))
    if (pathname === '/_admin/logs/sums') {
      const groups = (by === undefined || by === '' ? [] : by.split(',')) as SumKeyName[]
      const seconds = Number(bucket ?? 3600)
      const answer: SumsAnswer = {
        data: sumBusyRecords(found, { by: groups, bucketMs: seconds * 1000 }),
        from: filter.from ?? ago(DAY_MS),
        to: filter.to ?? ago(0),
        bucket: seconds,
        by: groups,
        limit: 1000
      }
      return sendJson(response, 200, answer)
    }
    if (pathname === '/_admin/logs/latencies') return sendJson(response, 200, describeBusyLatencies(found))
    if (pathname !== '/_admin/logs') {
      const record = records.find(({ id }) => pathname.includes(id))
      return record === undefined
        ? sendJson(response, 404, { error: { code: 'log_not_found', message: 'Traffic log event not found' } })
        : sendJson(response, 200, record)
    }
    const start = Number(cursor ?? 0)
    const end = start + Number(limit ?? 100)
    response.setHeader('x-total-estimate', found.length)
    sendJson(response, 200, { data: found.slice(start, end), next_cursor: end < found.length ? String(end) : null })
  }
}

function describeKeys(nowMs: number, isQuiet: boolean): KeysAnswer {
  const monthEnd = new Date(nowMs)
  monthEnd.setUTCMonth(monthEnd.getUTCMonth() + 1, 1)
  monthEnd.setUTCHours(0, 0, 0, 0)
  const budget = (cost: number) => ({ cost, period_ends_at: monthEnd.toISOString() })
  const key = (name: string, members: Partial<ShownKey>): ShownKey => ({
    name,
    origin: 'file',
    group: null,
    models: null,
    limits: {},
    usage: {},
    expires_at: null,
    enabled: true,
    state: 'active',
    last_used_at: new Date(nowMs - name.length * 900).toISOString(),
    metadata: {},
    ...members
  })
  return {
    keys_revision: 'sha256:0e2a6d844d6d4c26d11c97a1e8d5af7e119af5a948c1eb6fdde7f1bca932911a',
    currency: 'USD',
    data: [
      key('operations', { origin: 'settings', last_used_at: null }),
      key('ci', {
        group: 'engineering',
        limits: { requests_per_minute: 60, concurrent_requests: 4 },
        usage: { requests_per_minute: isQuiet ? 12 : 60, concurrent_requests: 1 },
        state: isQuiet ? 'active' : 'limited',
        models: ['GigaChat-2*', 'coder'],
        metadata: { owner: 'build team' }
      }),
      key('data-science', {
        group: 'engineering',
        limits: { requests_per_minute: 300, tokens_per_minute: 200_000, budget: { amount: 400, period: 'month' } },
        usage: { requests_per_minute: 41, tokens_per_minute: 61_200, budget: budget(isQuiet ? 120.4 : 371.18) }
      }),
      key('support-bot', {
        limits: { requests_per_minute: 600, budget: { amount: 50, period: 'day' } },
        usage: { requests_per_minute: 122, budget: budget(12.41) }
      }),
      key('web-chat', {
        limits: { requests_per_minute: 1200, concurrent_requests: 200, budget: { amount: 900, period: 'month' } },
        usage: { requests_per_minute: 388, concurrent_requests: 23, budget: budget(512.9) },
        metadata: { owner: 'shop', tier: 'production' }
      }),
      key('old-importer', {
        state: isQuiet ? 'active' : 'expired',
        expires_at: new Date(nowMs - 2 * DAY_MS).toISOString(),
        limits: { budget: { amount: 10, period: 'total' } },
        usage: { budget: { cost: 9.2, period_ends_at: null } }
      })
    ],
    groups: [
      {
        name: 'engineering',
        keys: 2,
        models: null,
        limits: { requests_per_minute: 400, budget: { amount: 500, period: 'month' } },
        usage: { requests_per_minute: 101, budget: budget(402.7) }
      }
    ]
  }
}

function describeThreads(nowMs: number): ShownThread[] {
  return Array.from({ length: 14 }, (_, index) => ({
    id:
      index % 3 === 0 ? `conv_${(index + 7_000_000).toString(36)}` : `resp_${(index * 7919 + 5_000_000).toString(36)}`,
    kind: index % 3 === 0 ? 'conversation' : 'responses',
    owner: ['web-chat', 'support-bot', 'data-science'][index % 3] ?? '',
    created_at: new Date(nowMs - (index * 47 + 30) * MINUTE_MS).toISOString(),
    updated_at: new Date(nowMs - index * 41 * MINUTE_MS - 12_000).toISOString(),
    turns: 1 + ((index * 5) % 11),
    bytes: 2_400 + ((index * 30_011) % 190_000),
    model: ROUTES[index % 4]?.alias ?? ''
  }))
}

function describeTurns(nowMs: number): ShownTurn[] {
  const turn = (id: string, previous: string | null, input: unknown[], output: unknown[]) => ({
    id,
    created_at: new Date(nowMs - 5 * MINUTE_MS).toISOString(),
    status: 'completed',
    model: 'assist/large',
    previous_response_id: previous,
    input,
    output
  })
  const say = (role: string, text: string) => ({ type: 'message', role, content: [{ type: 'output_text', text }] })
  return [
    turn(
      'resp_1',
      null,
      [say('user', 'Where is order 7741?')],
      [{ type: 'function_call', name: 'find_order', arguments: '{"order":7741}' }]
    ),
    turn(
      'resp_2',
      'resp_1',
      [{ type: 'function_call_output', call_id: 'call_1', output: '{"state":"packed"}' }],
      [say('assistant', 'Order 7741 is packed and leaves the warehouse tonight.')]
    )
  ]
}
