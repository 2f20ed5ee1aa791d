// Checks of the messages about limits, by hand: they come with every batch of requests.
import {
  type LeaseAmounts,
  type LeaseRefusal,
  LIMIT_HOLDERS,
  LIMIT_NAMES,
  type Meter,
  type Meters,
  type Settlement
} from '../limits/leases.ts'
import { hasRequestId, isCount } from './checks.ts'

const limitNames: ReadonlySet<unknown> = new Set(LIMIT_NAMES)
const limitHolders: ReadonlySet<unknown> = new Set(LIMIT_HOLDERS)

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Whether all these members are counts. */
function hasCounts<Name extends string>(
  value: object,
  names: readonly Name[]
): value is Readonly<Record<Name, number>> {
  return names.every(name => isCount(Reflect.get(value, name)))
}

const isLeaseAmounts = (value: unknown): value is LeaseAmounts =>
  isObject(value) && hasCounts(value, ['requests', 'tokens', 'slots'])

const isMeter = (value: unknown): value is Meter =>
  isObject(value) && hasCounts(value, ['limit', 'remaining', 'resetMs'])

function isMeters(value: unknown): value is Meters {
  return (
    isObject(value) &&
    (!('requests' in value) || isMeter(value.requests)) &&
    (!('tokens' in value) || isMeter(value.tokens))
  )
}

function isRefusal(value: unknown): value is LeaseRefusal {
  return (
    isObject(value) &&
    'limit' in value &&
    limitNames.has(value.limit) &&
    'holder' in value &&
    limitHolders.has(value.holder) &&
    'retryAfterMs' in value &&
    (value.retryAfterMs === null || isCount(value.retryAfterMs))
  )
}

function isSettlement(value: unknown): value is Settlement {
  return (
    isObject(value) &&
    'key' in value &&
    typeof value.key === 'string' &&
    hasGrantTime(value) &&
    hasCounts(value, ['unusedRequests', 'freedSlots', 'costNanos']) &&
    'unusedTokens' in value &&
    Number.isSafeInteger(value.unusedTokens)
  )
}

function hasGrantTime(value: object): value is { readonly grantedAtMs: number } {
  return 'grantedAtMs' in value && typeof value.grantedAtMs === 'number' && Number.isFinite(value.grantedAtMs)
}

export const hasLeaseQuestion = (
  message: object
): message is { readonly requestId: number; readonly key: string; readonly amounts: LeaseAmounts } =>
  hasRequestId(message) &&
  'key' in message &&
  typeof message.key === 'string' &&
  'amounts' in message &&
  isLeaseAmounts(message.amounts)

export const hasSettlements = (message: object): message is { readonly settlements: readonly Settlement[] } =>
  'settlements' in message && Array.isArray(message.settlements) && message.settlements.every(isSettlement)

export const hasGrant = (
  message: object
): message is {
  readonly requestId: number
  readonly amounts: LeaseAmounts
  readonly grantedAtMs: number
  readonly meters: Meters
} =>
  hasRequestId(message) &&
  hasGrantTime(message) &&
  'amounts' in message &&
  isLeaseAmounts(message.amounts) &&
  'meters' in message &&
  isMeters(message.meters)

export const hasRefusal = (
  message: object
): message is { readonly requestId: number; readonly refusal: LeaseRefusal; readonly meters: Meters } =>
  hasRequestId(message) &&
  'refusal' in message &&
  isRefusal(message.refusal) &&
  'meters' in message &&
  isMeters(message.meters)
