// Counts the tokens of a message request: selects the counted texts and writes the response (messages.md 7.3).

import {
  assertBounded,
  assertNever,
  type ContentPart,
  type FunctionTool,
  NORMALIZED_VERSION,
  type NormalizedMessage,
  type NormalizedRequest,
  type OutputFormat,
  selectCallableTools
} from '../../../normalized/index.ts'
import type { TokenCountClientFace } from '../../face.ts'
import { readAdditionalFields } from '../../shared/additional-fields.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { keepDefined } from '../../shared/field.ts'
import { Members } from '../../shared/members.ts'
import { readModel } from '../../shared/model.ts'
import { sortParameters } from '../../shared/parameters.ts'
import { SentNumbers } from '../../shared/sent-numbers.ts'
import { coerceToolResult } from '../../shared/tool-result.ts'
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

/**
 * The texts of a request that reach the model; images, files and earlier reasoning are not counted
 * (field-lessons.md D5, D8).
 */
function listCountedTexts(request: NormalizedRequest): string[] {
  const { functions } = selectCallableTools(request.tools, request.toolChoice ?? { type: 'auto' })
  const texts = [
    ...request.messages.flatMap(listMessageTexts),
    ...functions.map(joinFunction),
    ...listFormatTexts(request.output)
  ]
  return texts.filter(text => text !== '')
}

/** Tool results first, then texts, then tool calls: the order in which the upstream gets them. */
function listMessageTexts({ content }: NormalizedMessage): string[] {
  const results: string[] = []
  const visible: string[] = []
  const calls: string[] = []
  for (const part of content) addText(part, { results, visible, calls })
  return [...results, visible.join('\n'), ...calls]
}

function addText(part: ContentPart, texts: { results: string[]; visible: string[]; calls: string[] }): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      texts.visible.push(part.text)
      return
    case 'tool-call':
      texts.calls.push(part.name, JSON.stringify(part.arguments))
      return
    case 'tool-result':
      texts.results.push(coerceToolResult(part.content, part.isError).text)
      return
    case 'reasoning':
    case 'image':
    case 'file':
      return
    default:
      assertNever(part)
  }
}

function joinFunction({ name, description, parameters }: FunctionTool): string {
  return joinWords(name, description, JSON.stringify(parameters))
}

function listFormatTexts(output: OutputFormat | undefined): string[] {
  return output?.type === 'json-schema' ? [joinWords(output.name, JSON.stringify(output.schema))] : []
}

function joinWords(...words: Array<string | undefined>): string {
  return words.filter(word => word !== undefined && word !== '').join(' ')
}
