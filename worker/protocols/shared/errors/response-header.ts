// Reads single headers of a provider's response.

import type { ResponseHeaders } from '../../provider-face.ts'

/** Seconds, or a date of HTTP; the bytes of anything else are not for a client. */
const RETRY_AFTER = /^(?:\d{1,9}(?:\.\d{1,3})?|[A-Za-z]{3,9},[ 0-9A-Za-z:-]{10,40})$/

/** The value of a header; the first value of a repeated header. */
export function readHeader(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** The `retry-after` of a response; undefined when it is missing or not of the form that HTTP gives it. */
export function readRetryAfter(headers: ResponseHeaders): string | undefined {
  const value = readHeader(headers, 'retry-after')?.trim()
  return value !== undefined && RETRY_AFTER.test(value) ? value : undefined
}
