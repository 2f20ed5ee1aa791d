// Counts the input tokens of a Responses request: selects the counted texts and writes the response (memory.md 5).

import { assertBounded } from '../../../normalized/index.ts'
import type { ReadContext, ReadTokenCount, TokenCountClientFace } from '../../client-face.ts'
import { listCountedTexts } from '../../shared/counted-texts.ts'
import { ignored } from '../../shared/members/common-parameters.ts'
import { Members } from '../../shared/members/members.ts'
import type { ParameterTable } from '../../shared/members/parameters.ts'
import { responsesParameters } from '../members.ts'
import { readResponsesRequest } from './face.ts'
import type { ResponsesRequest, ResponsesTokenCount } from './schema.ts'

/** What a count takes: every body of a response, and the tone that the SDK has for counts alone. */
export const countTokensParameters = { ...responsesParameters, personality: ignored } as const satisfies ParameterTable

/**
 * Reads the parsed body of a count. A count without input is one of the instructions and tools. Raises `GatewayError` with the path of the
 * wrong member, as the reader of a response's request does.
 */
export function readResponsesTokenCount(body: ResponsesRequest, context: ReadContext): ReadTokenCount {
  const { personality: _personality, ...counted } = body
  const { input = null } = counted
  // A reader of a response refuses an empty input; without a text there is nothing to count in it.
  const isEmpty = input === null || (Array.isArray(input) && input.length === 0)
  const request = readResponsesRequest(isEmpty ? { ...counted, input: '' } : counted, context)
  assertBounded(request)
  return { request, texts: listCountedTexts(request), extraHeaders: request.extraHeaders }
}

/** @param totalTokens the sum over the texts; 0 without texts. */
export function writeResponsesTokenCount(totalTokens: number): ResponsesTokenCount {
  return { object: 'response.input_tokens', input_tokens: totalTokens }
}

export const responsesTokenCountFace: TokenCountClientFace = {
  allowsEmptyBody: true,
  members: new Members(countTokensParameters, { hasAdditionalFields: true }),
  read: readResponsesTokenCount,
  writeResponse: writeResponsesTokenCount
}
