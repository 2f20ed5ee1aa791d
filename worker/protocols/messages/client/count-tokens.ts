// Counts the tokens of a message request: selects the counted texts and writes the response (messages.md 7.3).

import { assertBounded, NORMALIZED_VERSION, type NormalizedRequest } from '../../../normalized/index.ts'
import type { TokenCountClientFace } from '../../client-face.ts'
import { listCountedTexts } from '../../shared/counted-texts.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { SentNumbers } from '../../shared/json/sent-numbers.ts'
import { readAdditionalFields } from '../../shared/members/additional-fields.ts'
import { keepDefined } from '../../shared/members/field.ts'
import { Members } from '../../shared/members/members.ts'
import { sortParameters } from '../../shared/members/parameters.ts'
import { readModel } from '../../shared/model.ts'
import { messagesFieldPaths } from './field-paths.ts'
import { readMessages, readSystem } from './read-messages.ts'
import { readOutputFormat } from './read-output.ts'
import { readToolUse } from './read-tools.ts'
import { type CountTokensRequestBody, countTokensParameters, type MessagesTokenCount } from './schema.ts'

export interface CountTokensRequest {
  /** The body as a message request, for route planning and for providers that count whole requests. */
  request: NormalizedRequest
  /** The texts that the native upstream counts, in order; when empty, the count is 0 without an upstream call. */
  texts: string[]
}

/**
 * Reads the parsed body of a token count request. An incomplete conversation, without messages or with calls that have no result
 * yet, can be counted too.
 * Raises `GatewayError` with the path of the wrong member, as the reader of a message request does.
 */
export function readCountTokensRequest(
  body: CountTokensRequestBody,
  context: { requestId: string }
): CountTokensRequest {
  const { ignored, additional } = sortParameters(body, countTokensParameters)
  const notes = { ignored, numbers: new SentNumbers(body, undefined) }
  const messages = readMessages(body, notes)
  const request: NormalizedRequest = {
    version: NORMALIZED_VERSION,
    requestId: context.requestId,
    fieldPaths: messagesFieldPaths,
    isStream: false,
    wantsStreamUsage: false,
    carriesFileBytes: false,
    messages: [...readSystem(body, notes), ...messages],
    ...readToolUse(body),
    sampling: {},
    ignored,
    ...keepDefined({
      model: readModel(body),
      output: readOutputFormat(body),
      additionalFields: readAdditionalFields(body, additional),
      extraHeaders: readExtraHeaders(body)
    })
  }
  assertBounded(request)
  return { request, texts: listCountedTexts(request) }
}

/** @param totalTokens the sum over the texts; 0 without texts. */
export function writeCountTokens(totalTokens: number): MessagesTokenCount {
  return { input_tokens: totalTokens }
}

export const messagesTokenCountFace: TokenCountClientFace = {
  members: new Members(countTokensParameters),
  read(body, context) {
    const { request, texts } = readCountTokensRequest(body, context)
    return { request, texts, extraHeaders: request.extraHeaders }
  },
  writeResponse: writeCountTokens
}
