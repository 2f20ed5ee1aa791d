// Token counts on the Anthropic Messages wire (bridge.md 7.5): one call counts all texts.

import { GatewayError, isJsonObject, type JsonObject } from '../../../normalized/index.ts'
import type { TokenCountCodec } from '../../provider-face.ts'
import { findExternalError } from '../../shared/errors/external-error.ts'
import { MESSAGES_HEADERS } from './headers.ts'
import type { MessagesCompatibleOptions } from './options.ts'

export const messagesCompatibleTokenCount: TokenCountCodec<MessagesCompatibleOptions> = {
  write({ model, input }, { countTokensPath }) {
    const body: JsonObject = model === undefined ? {} : { model }
    body.messages = [{ role: 'user', content: writeTexts(input) }]
    return { method: 'POST', path: countTokensPath, headers: MESSAGES_HEADERS, body }
  },
  read(body, { count }) {
    // The provider reports one number for all texts, and the response is the sum of the list.
    const counts = new Array<number>(count).fill(0)
    counts[0] = readTokenCount(body)
    return counts
  }
}

/** Reads the number of a token count. Raises the provider's error in the body, and `provider_protocol_error` for any other body. */
export function readTokenCount(body: unknown): number {
  const error = isJsonObject(body) ? findExternalError(body) : undefined
  if (error !== undefined) throw error
  const tokens = isJsonObject(body) ? body.input_tokens : undefined
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 0) {
    throw new GatewayError('provider_protocol_error', { cause: 'invalid_token_counts' })
  }
  return tokens
}

/** The service refuses blocks of white space. It may also refuse a text that is nothing else, which is then the provider's to decide. */
function writeTexts(input: readonly string[]): string | JsonObject[] {
  const texts = input.filter(text => text.trim() !== '')
  const [only = input.join('\n')] = texts
  return texts.length > 1 ? texts.map(text => ({ type: 'text', text })) : only
}
