// A busy gateway for the dashboard: a day of records of several keys, providers and models, one provider of which has begun to fail. The same
// seed gives the same records, and every time is relative to the one that is given.

import type { SumsAnswerRow } from '../../shared/admin-answers.ts'
import { describeDurations } from '../../shared/traffic/distribution.ts'
import type { Latencies, TrafficSummary } from '../../shared/traffic/query.ts'
import { createRandom } from './random.ts'

export type BusyRecord = TrafficSummary

interface Route {
  readonly alias: string
  readonly model: string
  readonly profile: string
  readonly kind: string
  readonly weight: number
  readonly latencyMs: number
  /** Per million tokens. */
  readonly price: number
}

const ROUTES: readonly Route[] = [
  {
    alias: 'GigaChat-2-Max',
    model: 'GigaChat-2-Max',
    profile: 'native-main',
    kind: 'native',
    weight: 30,
    latencyMs: 1400,
    price: 6
  },
  {
    alias: 'GigaChat-2',
    model: 'GigaChat-2',
    profile: 'native-main',
    kind: 'native',
    weight: 22,
    latencyMs: 600,
    price: 1
  },
  {
    alias: 'assist/large',
    model: 'gpt-5.2',
    profile: 'openai-eu',
    kind: 'chat_compatible',
    weight: 18,
    latencyMs: 2300,
    price: 9
  },
  {
    alias: 'assist/small',
    model: 'gpt-5-mini',
    profile: 'openai-eu',
    kind: 'chat_compatible',
    weight: 12,
    latencyMs: 800,
    price: 0.8
  },
  {
    alias: 'review',
    model: 'claude-sonnet-4-5',
    profile: 'claude-direct',
    kind: 'messages_compatible',
    weight: 10,
    latencyMs: 3100,
    price: 11
  },
  {
    alias: 'coder',
    model: 'qwen3-coder-30b',
    profile: 'vllm-rack-2',
    kind: 'chat_compatible',
    weight: 14,
    latencyMs: 950,
    price: 0
  }
]
const KEYS = [
  { name: 'web-chat', weight: 40 },
  { name: 'support-bot', weight: 25 },
  { name: 'ci', weight: 12 },
  { name: 'data-science', weight: 15 },
  { name: 'old-importer', weight: 3 }
]
const SURFACES = [
  { protocol: 'openai', route: '/v1/chat/completions', weight: 55 },
  { protocol: 'anthropic', route: '/v1/messages', weight: 22 },
  { protocol: 'openai', route: '/v1/responses', weight: 15 },
  { protocol: 'gemini', route: '/v1beta/models/{model}:generateContent', weight: 8 }
]
const CALLERS = ['openai-node', 'anthropic-python', 'langchain', 'claude-code', 'curl']
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const FAILING_SINCE_MS = 26 * MINUTE_MS

interface Failure {
  readonly code: string
  readonly status: number
  readonly type: string
  readonly message: string
  readonly field?: string
  readonly upstream?: number
}

const PROVIDER_DOWN: Failure = {
  code: 'provider_failure',
  status: 503,
  type: 'server_error',
  message: 'The provider is unavailable.',
  upstream: 503
}
const LIMITED: Failure = {
  code: 'rate_limit_exceeded',
  status: 429,
  type: 'rate_limit_error',
  message: 'The key ci has reached its limit of 60 requests per minute.'
}
const RARE: readonly Failure[] = [
  {
    code: 'unknown_model_alias',
    status: 404,
    type: 'invalid_request_error',
    message: 'The model "gpt-4o" is not served. Did you mean "assist/large"?',
    field: 'model'
  },
  {
    code: 'invalid_request',
    status: 400,
    type: 'invalid_request_error',
    message: 'Expected a text or a list of parts.',
    field: 'messages[0].content'
  },
  { code: 'provider_timeout', status: 504, type: 'timeout_error', message: 'The provider did not respond in time.' },
  { code: 'invalid_api_key', status: 401, type: 'authentication_error', message: 'Invalid API key.' },
  {
    code: 'context_length_exceeded',
    status: 400,
    type: 'invalid_request_error',
    message: 'The request has 141,203 tokens; the model takes 128,000.',
    field: 'messages',
    upstream: 400
  },
  { code: 'client_disconnected', status: 499, type: 'client_disconnected', message: 'The client disconnected.' }
]

/** Records of the last 30 days, the newest first: most of them of the last day. */
export function createBusyRecords(nowMs: number, count = 6000): BusyRecord[] {
  const random = createRandom(51)
  const next = () => random()
  const pick = <Entry extends { readonly weight: number }>(entries: readonly Entry[]): Entry => {
    let left = next() * entries.reduce((sum, { weight }) => sum + weight, 0)
    const found = entries.find(({ weight }) => {
      left -= weight
      return left < 0
    })
    return found ?? (entries[0] as Entry)
  }
  const ages = Array.from({ length: count }, () => {
    const share = next()
    // Many of them in the last two hours, so that an hour is as busy as the one before.
    if (share < 0.2) return next() * 120 * MINUTE_MS
    return share < 0.65 ? next() * DAY_MS : next() * 30 * DAY_MS
  }).sort((one, other) => one - other)
  return ages.map((ageMs, index) => {
    const route = pick(ROUTES)
    const surface = pick(SURFACES)
    const key = pick(KEYS)
    const failure = chooseFailure(route, key.name, ageMs, next())
    const isStream = next() < 0.6
    const slow = 0.4 + next() ** 3 * 4
    const latencyMs = Math.round(
      failure === undefined ? route.latencyMs * slow : failure.status >= 500 ? 240 + 900 * next() : 3 + 9 * next()
    )
    const hasTokens = failure === undefined
    // The few requests of earlier days are as expensive as the many of today.
    const size = ageMs > DAY_MS ? 30 : 1
    const input = Math.round(size * (80 + 4000 * next() ** 3))
    const output = Math.round(size * (20 + 900 * next() ** 2))
    const isUnknown = failure?.code === 'unknown_model_alias'
    const isKeyless = failure?.code === 'invalid_api_key'
    const isRouted = !isUnknown && !isKeyless && failure?.code !== 'rate_limit_exceeded'
    return {
      id: `0190a000-0000-7000-8000-${String(count - index).padStart(12, '0')}`,
      created_at: `${new Date(nowMs - ageMs).toISOString().slice(0, -1)}000+00:00`,
      request_id: `req-${(count - index).toString(36).padStart(6, '0')}`,
      trace_id: Math.floor(next() * 2 ** 48)
        .toString(16)
        .padStart(32, '0'),
      span_id: Math.floor(next() * 2 ** 48)
        .toString(16)
        .padStart(16, '0'),
      protocol: surface.protocol,
      route: surface.route,
      method: 'POST',
      status_code: failure?.status ?? 200,
      model_requested: isUnknown ? 'gpt-4o' : route.alias,
      model_effective: isRouted ? route.model : null,
      provider: isRouted ? route.kind : null,
      alias: isRouted ? route.alias : null,
      profile_id: isRouted ? route.profile : null,
      upstream_status_code: failure === undefined ? 200 : (failure.upstream ?? null),
      latency_ms: latencyMs,
      upstream_latency_ms: isRouted ? Math.max(1, latencyMs - 2) : null,
      input_tokens: hasTokens ? input : null,
      output_tokens: hasTokens ? output : null,
      total_tokens: hasTokens ? input + output : null,
      cost: hasTokens && route.price > 0 ? (route.price * (input + 3 * output)) / 1e6 : null,
      currency: hasTokens && route.price > 0 ? 'USD' : null,
      error_type: failure?.type ?? null,
      error_code: failure?.code ?? null,
      error_field: failure?.field ?? null,
      error_message: failure?.message ?? null,
      is_stream: isStream,
      first_content_ms: isStream && hasTokens ? Math.round(latencyMs * (0.2 + 0.2 * next())) : null,
      ignored_fields: index % 9 === 0 ? ['service_tier', 'reasoning.summary'] : [],
      api_key_name: isKeyless ? null : key.name,
      api_key_hash: isKeyless ? 'unknown' : null,
      client_ip_hash: null,
      has_request_body: true,
      has_response_body: hasTokens,
      metadata: {
        path: surface.route.replace('{model}', route.alias),
        lifecycle: failure === undefined ? 'completed' : 'failed',
        ...(index % 9 === 0 ? { ignored_fields: ['service_tier', 'reasoning.summary'] } : {}),
        annotations: {
          caller: {
            name: CALLERS[index % CALLERS.length] ?? null,
            user_agent: `${CALLERS[index % CALLERS.length]}/2.4.1`
          }
        },
        route_reason: 'alias',
        config_revision: 'sha256:dfe00e48f6354a99b306442b7cba339447ecc22d03f66ade047ede7cb60d3298'
      }
    }
  })
}

function chooseFailure(route: Route, key: string, ageMs: number, share: number): Failure | undefined {
  if (route.profile === 'vllm-rack-2' && ageMs < FAILING_SINCE_MS && share < 0.93) return PROVIDER_DOWN
  if (key === 'ci' && ageMs < 180 * MINUTE_MS && share < 0.35) return LIMITED
  return share > 0.985 ? RARE[Math.floor(((share - 0.985) / 0.015) * RARE.length)] : undefined
}

type Values = Readonly<Record<string, string>>

/** Whether a record has what the filters of the list ask for. */
export function matchesFilter(
  record: BusyRecord,
  { from, to, q, has_error, model, key, stream, min_latency_ms, ...others }: Values
): boolean {
  const atMs = Date.parse(record.created_at)
  const isFailed = record.error_type !== null
  if (from !== undefined && atMs < Date.parse(from)) return false
  if (to !== undefined && atMs > Date.parse(to)) return false
  if (has_error !== undefined && String(isFailed) !== has_error) return false
  if (model !== undefined && record.model_requested !== model && record.model_effective !== model) return false
  if (key !== undefined && record.api_key_name !== key) return false
  if (stream !== undefined && String(record.is_stream) !== stream) return false
  if (min_latency_ms !== undefined && !(Number(record.latency_ms) >= Number(min_latency_ms))) return false
  if (q !== undefined && !JSON.stringify(record).includes(q)) return false
  return Object.entries(others).every(([name, value]) => String(readMember(record, name)) === value)
}

/** How long records took as the admin API gives it. */
export function describeBusyLatencies(records: readonly BusyRecord[]): Latencies {
  const read = (name: 'latency_ms' | 'first_content_ms') => records.flatMap(record => record[name] ?? [])
  return {
    records: records.length,
    latency: describeDurations(read('latency_ms')),
    first_content: describeDurations(read('first_content_ms'))
  }
}

/** A member by a name that a query has. */
function readMember(record: BusyRecord, name: string): unknown {
  return Object.entries(record).find(([member]) => member === name)?.[1]
}

/** Sums of records as the admin API gives them. */
export function sumBusyRecords(
  records: readonly BusyRecord[],
  { by, bucketMs }: { by: readonly string[]; bucketMs: number }
): SumsAnswerRow[] {
  const floor = (text: string, ms: number) => new Date(Math.floor(Date.parse(text) / ms) * ms).toISOString()
  const read = (record: BusyRecord, name: string): unknown => {
    if (name === 'time') return floor(record.created_at, bucketMs)
    if (name === 'hour') return floor(record.created_at, 60 * MINUTE_MS)
    if (name === 'day') return record.created_at.slice(0, 10)
    if (name === 'model') return record.model_requested
    return readMember(record, name) ?? null
  }
  const groups = Map.groupBy(records, record => JSON.stringify(by.map(name => read(record, name))))
  return [...groups].map(([names, group]) => {
    const values: unknown[] = JSON.parse(names)
    const sum = (name: 'input_tokens' | 'output_tokens' | 'cost') =>
      group.reduce((total, record) => total + (record[name] ?? 0), 0)
    const sorted = group.map(record => Number(record.latency_ms)).sort((one, other) => one - other)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    const hasCost = group.some(({ cost }) => cost !== null)
    return {
      ...Object.fromEntries(by.map((name, index) => [name, values[index]])),
      requests: group.length,
      errors: group.filter(({ error_type }) => error_type !== null).length,
      input_tokens: sum('input_tokens'),
      output_tokens: sum('output_tokens'),
      cost: hasCost ? sum('cost') : null,
      currency: hasCost ? 'USD' : null,
      latency_p50_ms: at(0.5),
      latency_p95_ms: at(0.95),
      latency_p99_ms: at(0.99)
    }
  })
}

export { FAILING_SINCE_MS, ROUTES }
