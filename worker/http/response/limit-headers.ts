// The headers by which clients of each family read what their key may still use (keys.md 2).

import type { LimitState } from '../../limits/limit-state.ts'
import { assertNever } from '../../normalized/index.ts'
import type { Family } from '../../operations/operation.ts'
import { writeMessagesLimitHeaders } from '../../protocols/messages/client/limit-headers.ts'
import { writeLimitHeaders } from '../../protocols/shared/completions-family/limit-headers.ts'

/** Those that a browser may read, besides those of every response (`EXPOSED_HEADERS`). */
export const EXPOSED_LIMIT_HEADERS = [
  'x-should-retry',
  ...['limit', 'remaining', 'reset'].flatMap(part => [`x-ratelimit-${part}-requests`, `x-ratelimit-${part}-tokens`]),
  ...['limit', 'remaining', 'reset'].flatMap(part => [
    `anthropic-ratelimit-requests-${part}`,
    `anthropic-ratelimit-tokens-${part}`
  ])
].join(', ')

/** Names and values in turn. The content protocol has no words for counters. */
export function writeFamilyLimitHeaders(family: Family, limits: LimitState, nowMs: number): string[] {
  const meters = limits.readMeters()
  if (meters === undefined) return []
  switch (family) {
    case 'completions':
      return writeLimitHeaders(meters)
    case 'messages':
      return writeMessagesLimitHeaders(meters, nowMs)
    case 'content':
    case 'system':
      return []
    default:
      return assertNever(family)
  }
}
