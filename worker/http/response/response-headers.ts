// The headers that every response has, whichever stage writes it.
import type { LimitState } from '../../limits/limit-state.ts'
import type { RequestFacts } from '../../observation/observer.ts'
import type { Family } from '../../operations/operation.ts'
import type { FlatHeaders } from './cors.ts'
import { IGNORED_HEADER, writeIgnoredHeader } from './ignored-header.ts'
import { writeFamilyLimitHeaders } from './limit-headers.ts'

/** Names the deployment that a request of an alias with several was sent to (decisions.md 116). */
const TARGET_HEADER = 'x-gateway-target'

/** What the headers tell of a request. */
export interface DescribedRequest {
  readonly requestId: string
  readonly family: Family
  readonly corsHeaders: FlatHeaders
  readonly startedAtMs: number
  readonly facts: Pick<RequestFacts, 'ignoredFields' | 'isTarget' | 'profileId'>
  readonly limitState: LimitState | undefined
}

/**
 * Names and values in turn: ids, cross-origin rules, the time until now, what a limited key may still use, and while draining the end of the
 * connection.
 */
export function writeResponseHeaders(
  { requestId, family, corsHeaders, startedAtMs, facts, limitState }: DescribedRequest,
  { closesConnections }: { readonly closesConnections: boolean }
): string[] {
  const headers = ['x-request-id', requestId, ...corsHeaders]
  // The SDK of this family reads only this name.
  if (family === 'messages') headers.push('request-id', requestId)
  const elapsedMs = performance.now() - startedAtMs
  if (family === 'completions') headers.push('openai-processing-ms', String(Math.round(elapsedMs)))
  headers.push('server-timing', `total;dur=${elapsedMs.toFixed(1)}`)
  const { ignoredFields, isTarget, profileId } = facts
  if (isTarget === true && profileId !== undefined) headers.push(TARGET_HEADER, profileId)
  if (ignoredFields !== undefined) headers.push(IGNORED_HEADER, writeIgnoredHeader(ignoredFields))
  if (limitState !== undefined) headers.push(...writeFamilyLimitHeaders(family, limitState, Date.now()))
  if (closesConnections) headers.push('connection', 'close')
  return headers
}
