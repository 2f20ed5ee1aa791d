// What an operator has to look at first: what is wrong now, since when, whom it affects, and where to go on. Made of what the gateway says of
// itself, of its providers, keys and sinks, and of the failures of a range of time.
import { type Params, writeAddress } from './address.ts'
import type { Health, Provider, Readiness } from './api.ts'
import { formatBytes, formatClock, formatCount, formatSpan } from './format.ts'
import { type Keys, readBudget, readMeter } from './keys.ts'

/** `bad` stops requests or loses records; `warn` will do so, or does so for some. */
export type Level = 'bad' | 'warn'

export interface Problem {
  /** Stays while the problem does. */
  readonly id: string
  readonly level: Level
  readonly title: string
  readonly detail: string
  readonly action: string
  /** Address of the view with more. */
  readonly href: string
}

/** What the gateway says of itself; absent where it did not answer. */
export interface GatewayState {
  readonly readiness?: Readiness
  readonly health?: Health
  readonly providers?: readonly Provider[]
  readonly keys?: Keys
}

const DAY_MS = 24 * 3_600_000
const FAILURES_MIN = 3
const CERTIFICATE_DAYS_WARN = 14
const CERTIFICATE_DAYS_BAD = 3
const NEARLY_FULL = 0.8

/** The worst first, in the order of what an operator can do about it. */
export function findProblems(state: GatewayState, nowMs: number): Problem[] {
  const problems = [
    ...findReadiness(state.readiness, state.providers !== undefined),
    ...(state.providers ?? []).flatMap(provider => findProvider(provider, nowMs)),
    ...(state.health === undefined ? [] : findSinks(state.health)),
    ...(state.keys === undefined ? [] : findKeys(state.keys, nowMs))
  ]
  return [...problems.filter(({ level }) => level === 'bad'), ...problems.filter(({ level }) => level !== 'bad')]
}

const REASONS: Readonly<Record<string, readonly [title: string, detail: string]>> = {
  gateway_shutting_down: [
    'The gateway is shutting down',
    'Running requests are completed; new ones belong to another instance.'
  ],
  provider_routes_not_configured: ['No provider is configured', 'Requests of models are refused.'],
  provider_clients_not_ready: ['The gateway is starting', 'A provider has no client yet.'],
  model_inventory_unavailable: ['The list of models is not available', 'The upstream has not given its models yet.'],
  registry_not_loaded: ['The gateway is starting', 'The profiles are not loaded yet.'],
  model_inventory_stale_but_usable: [
    'A list of models is stale',
    'The last discovery failed; the list before it is served.'
  ],
  model_inventory_incomplete: ['A list of models is missing', 'No discovery of a profile has succeeded yet.'],
  alias_requires_profile_v3: ['An alias needs a profile file of version 3', 'It is not served before.']
}

/** What the providers say of their models themselves. */
const INVENTORY_WARNINGS = ['model_inventory_stale_but_usable', 'model_inventory_incomplete']

function findReadiness(readiness: Readiness | undefined, hasProviders: boolean): Problem[] {
  if (readiness === undefined) return []
  const warnings = (readiness.warnings ?? []).filter(
    ({ reason_id }) => !hasProviders || !INVENTORY_WARNINGS.includes(reason_id)
  )
  const describe =
    (level: Level) =>
    (reason: { readonly reason_id: string }): Problem => {
      const [title, detail] = REASONS[reason.reason_id] ?? [reason.reason_id, '']
      return { id: reason.reason_id, level, title, detail, action: 'Providers', href: writeAddress('providers') }
    }
  return [...(readiness.reasons ?? []).map(describe('bad')), ...warnings.map(describe('warn'))]
}

/** Classes of failures in words. */
const CLASSES: Readonly<Record<string, string>> = {
  connect_error: 'cannot be connected to',
  tls_error: 'has a TLS failure',
  timeout: 'does not respond in time',
  protocol_error: 'responds with something malformed',
  credential_error: 'has no valid credential',
  destination_refused: 'has an address that is refused'
}

/** Such as `responds with status 503`. */
function describeClass(name: string): string {
  const status = /^http_(\d+)$/.exec(name)?.[1]
  return status === undefined ? (CLASSES[name] ?? name) : `responds with status ${status}`
}

/** The class of a failure in short, such as `status 503`. */
export function nameClass(name: string): string {
  return name.replace(/^http_/, 'status ').replaceAll('_', ' ')
}

function findProvider(provider: Provider, nowMs: number): Problem[] {
  const {
    profile_id: id,
    consecutive_failures: failures,
    last_success_at,
    last_failures,
    certificates,
    inventory
  } = provider
  const problems: Problem[] = []
  if (failures >= FAILURES_MIN) {
    const latest = last_failures[0]?.class
    const since =
      last_success_at === null
        ? 'No request has succeeded since the start'
        : `Last success at ${formatClock(Date.parse(last_success_at), nowMs)}, ${formatSpan(nowMs - Date.parse(last_success_at))} ago`
    problems.push({
      id: `provider ${id}`,
      level: 'bad',
      title: `${id} ${latest === undefined ? 'fails' : describeClass(latest)}`,
      detail: `${since}; ${formatCount(failures)} failures since.`,
      action: 'Failed requests',
      href: writeAddress('records', { range: '1h', profile_id: id, has_error: 'true' })
    })
  }
  if (inventory !== null && inventory.state !== 'fresh') {
    problems.push({
      id: `inventory ${id}`,
      level: 'warn',
      title: `The models of ${id} are ${inventory.state === 'stale' ? 'stale' : 'not listed'}`,
      detail:
        inventory.discovered_at === null
          ? 'No discovery has succeeded yet.'
          : `Last listed at ${formatClock(Date.parse(inventory.discovered_at), nowMs)}; that list is served.`,
      action: 'Providers',
      href: writeAddress('providers')
    })
  }
  for (const [name, end] of [
    ['certificate', certificates.provider_expires_at],
    ['client certificate', certificates.client_expires_at]
  ] as const) {
    const leftMs = end === null ? Number.POSITIVE_INFINITY : Date.parse(end) - nowMs
    if (leftMs > CERTIFICATE_DAYS_WARN * DAY_MS) continue
    problems.push({
      id: `${name} ${id}`,
      level: leftMs < CERTIFICATE_DAYS_BAD * DAY_MS ? 'bad' : 'warn',
      title: `The ${name} of ${id} ${leftMs < 0 ? 'has ended' : `ends in ${formatSpan(leftMs)}`}`,
      detail: 'After that no connection is made.',
      action: 'Providers',
      href: writeAddress('providers')
    })
  }
  return problems
}

function findSinks({ enabled, writer, query_store, store, sinks }: Health): Problem[] {
  const href = writeAddress('sinks')
  const problem = (id: string, level: Level, title: string, detail: string): Problem => ({
    id: `sinks ${id}`,
    level,
    title,
    detail,
    action: 'Sinks',
    href
  })
  const problems: Problem[] = []
  if (!enabled) problems.push(problem('off', 'warn', 'Requests are not recorded', 'Set GATEWAY_TRAFFIC_LOG_ENABLED.'))
  if (writer === 'disconnected') {
    problems.push(problem('writer', 'bad', 'The writer of records is not reachable', 'It is started again on its own.'))
  } else if (query_store !== null && store === null) {
    problems.push(problem('store', 'bad', 'The store does not answer', `Queries go to ${query_store}.`))
  }
  for (const { name, available, queue_depth, spill_bytes, dropped } of sinks) {
    const waiting = `${formatCount(queue_depth)} records wait in memory, ${formatBytes(spill_bytes)} on disk`
    if (dropped > 0) {
      problems.push(
        problem(`${name} dropped`, 'bad', `${name} has lost ${formatCount(dropped)} records`, `${waiting}.`)
      )
    }
    if (!available) problems.push(problem(name, 'warn', `${name} is unavailable`, `${waiting}.`))
  }
  return problems
}

const KEY_TITLES = { limited: 'is at its limit', over_budget: 'is over its budget', expired: 'has expired' } as const

function findKeys({ data, groups, currency }: Keys, nowMs: number): Problem[] {
  const problems: Problem[] = []
  for (const key of data ?? []) {
    const { name, state, expires_at: expiresAt } = key
    const toRecords: Params = { range: '1h', key: name, has_error: 'true' }
    const budget = readBudget(key, currency)
    const base = { id: `key ${name}`, action: 'Refused requests', href: writeAddress('records', toRecords) }
    if (state === 'limited' || state === 'over_budget' || state === 'expired') {
      const meters = (['requests_per_minute', 'tokens_per_minute', 'concurrent_requests'] as const)
        .map(limit => [limit, readMeter(key, limit)] as const)
        .filter(([, meter]) => (meter?.share ?? 0) >= 1)
        .map(([limit, meter]) => `${meter?.text} ${limit.replaceAll('_', ' ')}`)
      const detail =
        state === 'expired'
          ? `Since ${formatClock(Date.parse(expiresAt ?? ''), nowMs)}.`
          : state === 'over_budget'
            ? `${budget?.text ?? ''} ${budget?.note ?? ''}.`
            : meters.length > 0
              ? `${meters.join(', ')}.`
              : 'By the limit of its group.'
      problems.push({
        ...base,
        level: state === 'over_budget' ? 'bad' : 'warn',
        title: `Key ${name} ${KEY_TITLES[state]}`,
        detail
      })
    } else if (state === 'active' && (budget?.share ?? 0) >= NEARLY_FULL) {
      problems.push({ ...warnBudget(`Key ${name}`, budget?.text ?? '', budget?.note), id: base.id })
    }
  }
  for (const group of groups ?? []) {
    const budget = readBudget(group, currency)
    if ((budget?.share ?? 0) < NEARLY_FULL) continue
    problems.push({ ...warnBudget(`Group ${group.name}`, budget?.text ?? '', budget?.note), id: `group ${group.name}` })
  }
  return problems
}

function warnBudget(who: string, text: string, note: string | undefined): Omit<Problem, 'id'> {
  return {
    level: 'warn',
    title: `${who} has nearly used its budget`,
    detail: `${text} ${note ?? ''}.`,
    action: 'Keys',
    href: writeAddress('keys')
  }
}
