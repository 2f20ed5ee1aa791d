// Checks of the messages about limits, by hand: they come with every batch of requests.
import {
  type LeaseAmounts,
  type LeaseRefusal,
  LIMIT_NAMES,
  type LimitName,
  type Meter,
  type Meters,
  type Settlement
} from '../limits/leases.ts'
import { hasRequestId, isCount } from './checks.ts'

const limitNames: ReadonlySet<unknown> = new Set<LimitName>(LIMIT_NAMES)

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isLeaseAmounts(value: unknown): value is LeaseAmounts {
  return (
    isObject(value) &&
    'requests' in value &&
    isCount(value.requests) &&
    'tokens' in value &&
    isCount(value.tokens) &&
    'slots' in value &&
    isCount(value.slots)
  )
}

function isMeter(value: unknown): value is Meter {
  return (
    isObject(value) &&
    'limit' in value &&
    isCount(value.limit) &&
    'remaining' in value &&
    isCount(value.remaining) &&
    'resetMs' in value &&
    isCount(value.resetMs)
  )
}

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
    (value.holder === 'key' || value.holder === 'group') &&
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
    'unusedRequests' in value &&
    isCount(value.unusedRequests) &&
    'unusedTokens' in value &&
    Number.isSafeInteger(value.unusedTokens) &&
    'freedSlots' in value &&
    isCount(value.freedSlots) &&
    'costNanos' in value &&
    isCount(value.costNanos)
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
