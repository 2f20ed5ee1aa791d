// Token counts on the content wire (content.md 5.4): one call for all texts, and one count for all of them.

import { GatewayError, isJsonObject } from '../../../normalized/index.ts'
import type { TokenCountCodec } from '../../provider-face.ts'
import { WIRE_HEADERS } from '../../shared/wire-headers.ts'
import { writeMethodPath } from './endpoints.ts'
import { findError } from './errors.ts'
import type { ContentCompatibleOptions } from './options.ts'

export const contentCompatibleTokenCount: TokenCountCodec<ContentCompatibleOptions> = {
  write: ({ model, input }, options) => ({
    method: 'POST',
    path: writeMethodPath(model, 'countTokens', options),
    headers: WIRE_HEADERS,
    body: { contents: [{ role: 'user', parts: input.map(text => ({ text })) }] }
  }),
  read(body, { count }) {
    // The provider reports one number for all texts, and the response is the sum of the list.
    const counts = new Array<number>(count).fill(0)
    counts[0] = readTokenCount(body)
    return counts
  }
}

/** Reads the number of a token count. Raises the provider's error in the body, and `provider_protocol_error` for any other body. */
export function readTokenCount(body: unknown): number {
  const error = isJsonObject(body) ? findError(body) : undefined
  if (error !== undefined) throw error
  // A count of zero is left out, as this wire does with every zero.
  const tokens = isJsonObject(body) ? (body.totalTokens ?? 0) : undefined
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 0) {
    throw new GatewayError('provider_protocol_error', { cause: 'invalid_token_counts' })
  }
  return tokens
}
