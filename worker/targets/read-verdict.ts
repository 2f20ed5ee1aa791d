// What the end of an attempt says of its target.

import type { Verdict } from './target-health.ts'

/** An attempt that ended and was not cancelled. */
export interface AttemptEnd {
  /** The word of the failure's class, such as `connect_error` or `http_503`; undefined for a success. */
  readonly failure: string | undefined
  /** Of the response; undefined where none began. */
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  /** False where no byte of the request was written. */
  readonly wasSent: boolean
}

const TOO_MANY_REQUESTS = 429
const SERVER_ERROR_MIN = 500

/** Failures of the connection itself, whether or not the request was written. */
const CONNECTION_FAILURES: ReadonlySet<string> = new Set(['connect_error', 'tls_error'])

/**
 * Undefined where it says nothing: a response that began well and broke off. A provider that takes a request and sends no response in time,
 * or no HTTP, fails like one with a 5xx: its client gets one.
 */
export function readVerdict({ failure, status, retryAfterMs, wasSent }: AttemptEnd): Verdict | undefined {
  if (failure === undefined) return { kind: 'healthy' }
  if (status === undefined) {
    return { kind: !wasSent || CONNECTION_FAILURES.has(failure) ? 'unreachable' : 'server-error' }
  }
  if (status === TOO_MANY_REQUESTS) return { kind: 'limited', retryAfterMs }
  if (status >= SERVER_ERROR_MIN) return { kind: 'server-error' }
  return status >= 400 ? { kind: 'healthy' } : undefined
}
