// Selects the texts that a token count sends to a provider that counts texts (messages.md 7.3).

import {
  assertNever,
  type ContentPart,
  type FunctionTool,
  type NormalizedMessage,
  type NormalizedRequest,
  type OutputFormat,
  selectCallableTools
} from '../../normalized/index.ts'
import { coerceToolResult } from './tools/tool-result.ts'

/**
 * The texts of a request that reach the model, none of them empty; images, files and earlier reasoning are not counted
 * (field-lessons.md D5, D8).
 */
export function listCountedTexts(request: NormalizedRequest): string[] {
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
