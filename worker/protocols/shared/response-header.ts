// Reads single headers of a provider's response.

import type { ResponseHeaders } from '../face.ts'

/** The value of a header; the first value of a repeated header. */
export function readHeader(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
