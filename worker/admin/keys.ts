// The keys of clients and their groups as the admin API shows them (keys.md 5): what they may use, and what they use now. Nothing of a secret
// is among the members, not even its digest.
import type { KeyState, KeysAnswer, ShownGroup, ShownKey, ShownLimits, ShownUsage } from '../../shared/admin-answers.ts'
import { readKeyState } from '../../shared/keys/key-ring.ts'
import type { GatewayKey, KeyGroup, KeySet, Limits } from '../../shared/keys/key-set.ts'
import type { KeyUsage, LimitUsage } from '../../shared/limits/leases.ts'
import { NANOS_PER_UNIT } from '../../shared/prices.ts'
import { writeRecordTime } from '../../shared/traffic/record.ts'
import { GatewayError } from '../normalized/index.ts'
import { showTime } from './timestamps.ts'

export interface KeysInForce {
  /** Names of the keys of the settings, which have no limits. */
  readonly ownNames: readonly string[]
  /** Undefined without a keys file. */
  readonly keySet: KeySet | undefined
  /** What keys with limits use; undefined where the supervisor does not answer. */
  readonly usages: readonly KeyUsage[] | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

/** All keys, those of the settings first, and the groups of the file. */
export function showKeys(inForce: KeysInForce): KeysAnswer {
  const { ownNames, keySet, usages } = inForce
  const usageOf = new Map(usages?.map(usage => [usage.key, usage]))
  const keys = keySet?.keys.map(key => showFileKey(key, usageOf.get(key.name), inForce)) ?? []
  return {
    keys_revision: keySet?.revision ?? null,
    currency: keySet?.currency ?? null,
    data: [...ownNames.map(showOwnKey), ...keys],
    groups: keySet?.groups.map(group => showGroup(group, keySet, inForce)) ?? []
  }
}

/** One key with the revision and the currency; its group stands beside it. Raises `key_not_found`. */
export function showKey(inForce: KeysInForce, name: string): object {
  const { data, groups, ...common } = showKeys(inForce)
  const key = data.find(one => one.name === name)
  if (key === undefined) throw new GatewayError('key_not_found')
  return { ...common, data: key, group: groups.find(group => group.name === key.group) ?? null }
}

function showOwnKey(name: string): ShownKey {
  return {
    name,
    origin: 'settings',
    group: null,
    models: null,
    limits: {},
    usage: {},
    expires_at: null,
    enabled: true,
    state: 'active',
    last_used_at: null,
    metadata: {}
  }
}

function showFileKey(key: GatewayKey, usage: KeyUsage | undefined, { usages, nowMs }: KeysInForce): ShownKey {
  const { name, group = null, models = null, limits, expiresAtMs, isEnabled, metadata } = key
  const uses = usage?.limits ?? []
  const isKnown = usages !== undefined || Object.keys(limits).length === 0
  return {
    name,
    origin: 'file',
    group,
    models,
    limits: showLimits(limits),
    usage: isKnown ? showUsage(uses.filter(({ holder }) => holder === 'key')) : null,
    expires_at: writeTime(expiresAtMs ?? null),
    enabled: isEnabled,
    state: readState(key, uses, nowMs),
    last_used_at: writeTime(usage?.lastUsedAtMs ?? null),
    metadata
  }
}

/** Every key of the group has the group's usage beside its own. */
function showGroup({ name, models, limits }: KeyGroup, { keys }: KeySet, { usages }: KeysInForce): ShownGroup {
  const members = keys.filter(({ group }) => group === name).map(key => key.name)
  const uses = usages?.find(({ key }) => members.includes(key))?.limits.filter(({ holder }) => holder === 'group')
  const isKnown = usages !== undefined || Object.keys(limits).length === 0
  return {
    name,
    models: models ?? null,
    limits: showLimits(limits),
    usage: isKnown ? showUsage(uses ?? []) : null,
    keys: members.length
  }
}

function showLimits({ requestsPerMinute, tokensPerMinute, concurrentRequests, budget }: Limits): ShownLimits {
  return {
    ...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokens_per_minute: tokensPerMinute }),
    ...(concurrentRequests !== undefined && { concurrent_requests: concurrentRequests }),
    ...(budget !== undefined && { budget })
  }
}

function showUsage(uses: readonly LimitUsage[]): ShownUsage {
  const shown: { -readonly [Name in keyof ShownUsage]: ShownUsage[Name] } = {}
  for (const { limit, usedAmount, periodEndsAtMs } of uses) {
    if (limit === 'budget')
      shown.budget = { cost: usedAmount / NANOS_PER_UNIT, period_ends_at: writeTime(periodEndsAtMs) }
    else shown[limit] = usedAmount
  }
  return shown
}

/** Why the next request of the key would be refused, also because of its group. */
function readState(key: GatewayKey, uses: readonly LimitUsage[], nowMs: number): KeyState {
  const state = readKeyState(key, nowMs)
  if (state !== 'active') return state
  const reached = uses.filter(({ usedAmount, limitAmount }) => usedAmount >= limitAmount)
  if (reached.length === 0) return 'active'
  return reached.some(({ limit }) => limit === 'budget') ? 'over_budget' : 'limited'
}

function writeTime(epochMs: number | null): string | null {
  return epochMs === null ? null : showTime(writeRecordTime(epochMs))
}
