// Counting the tokens of a message request: which texts of it count, and the answer (messages.md 7.3).

import {
  assertNever,
  type ContentPart,
  type FunctionTool,
  NORMALIZED_VERSION,
  type NormalizedMessage,
  type NormalizedRequest,
  type OutputFormat,
  selectCallableTools
} from '../../../normalized/index.ts'
import { readAdditionalFields } from '../../shared/additional-fields.ts'
import { keepDefined, readOptionalObject } from '../../shared/field.ts'
import { readModel } from '../../shared/model.ts'
import { sortParameters } from '../../shared/parameters.ts'
import { coerceToolResult } from '../../shared/tool-result.ts'
import { messagesFieldPaths } from './field-paths.ts'
import { readMessages, readSystem } from './read-messages.ts'
import { readOutputFormat } from './read-output.ts'
import { readToolUse } from './read-tools.ts'
import { type CountTokensRequestBody, countTokensParameters, type MessagesTokenCount } from './schema.ts'

export interface CountTokensRequest {
  /** What would be asked if it were a message request: the plan of the route and other providers' own counts start from it. */
  request: NormalizedRequest
  /** What the native upstream counts, in order; empty when there is nothing to count and so nothing to ask. */
  texts: string[]
}

/**
 * Reads the parsed body of a count. A conversation that could not be continued yet, without messages or with calls that wait for
 * their results, can be counted all the same.
 * Raises `GatewayError` with the path of the member at fault, as the reader of a message request does.
 */
export function readCountTokensRequest(
  body: CountTokensRequestBody,
  context: { requestId: string }
): CountTokensRequest {
  const { ignored, additional } = sortParameters(body, countTokensParameters)
  const messages = readMessages(body, ignored)
  const request: NormalizedRequest = {
    version: NORMALIZED_VERSION,
    requestId: context.requestId,
    fieldPaths: messagesFieldPaths,
    isStream: false,
    wantsStreamUsage: false,
    carriesFileBytes: false,
    messages: [...readSystem(body, ignored), ...messages],
    ...readToolUse(body),
    sampling: {},
    ignored,
    ...keepDefined({
      model: readModel(body),
      output: readOutputFormat(body),
      additionalFields: readAdditionalFields(body, additional),
      extraHeaders: readOptionalObject(body, 'extra_headers')
    })
  }
  return { request, texts: listCountedTexts(request) }
}

/** @param counts the tokens of each text. */
export function writeCountTokens(counts: readonly number[]): MessagesTokenCount {
  return { input_tokens: counts.reduce((sum, count) => sum + count, 0) }
}

/** The texts of a request that reach the model; an image, a file and a former thought count nothing (field lessons D5, D8). */
function listCountedTexts(request: NormalizedRequest): string[] {
  const { functions } = selectCallableTools(request.tools, request.toolChoice ?? { type: 'auto' })
  const texts = [
    ...request.messages.flatMap(listMessageTexts),
    ...functions.map(joinFunction),
    ...listFormatTexts(request.output)
  ]
  return texts.filter(text => text !== '')
}

/** The results first, then what was said, then the calls: the order in which the upstream gets them. */
function listMessageTexts({ content }: NormalizedMessage): string[] {
  const results: string[] = []
  const said: string[] = []
  const calls: string[] = []
  for (const part of content) addText(part, { results, said, calls })
  return [...results, said.join('\n'), ...calls]
}

function addText(part: ContentPart, texts: { results: string[]; said: string[]; calls: string[] }): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      texts.said.push(part.text)
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
