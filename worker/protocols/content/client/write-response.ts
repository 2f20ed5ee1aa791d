// Writes a whole response, and the parts that the stream writer writes in the same form (content.md 5.1).

import {
  flattenToolName,
  type GeneratedFile,
  type HostedSource,
  type NormalizedRequest,
  type NormalizedResponse,
  type NormalizedUsage,
  type OutputItem,
  type ProviderState,
  type ReasoningItem,
  type UrlCitation
} from '../../../normalized/index.ts'
import type { ResponseContext } from '../../client-face.ts'
import { isShownAsLine, writeFileLines } from '../../shared/media/generated-files.ts'
import { isCutCall } from '../../shared/tools/cut-calls.ts'
import { writeInputObject } from '../../shared/tools/tool-arguments.ts'
import { type ContentSummary, mapFinishReason, writePromptFeedback } from './finish-reason.ts'
import type {
  ContentCallPart,
  ContentFilePart,
  ContentGrounding,
  ContentResponse,
  ContentResponsePart,
  ContentTextPart,
  ContentUsage
} from './schema.ts'
import { writeThoughtSignature } from './thought-signature.ts'

/**
 * Writes a whole response. It equals the sum of the chunks that the stream writer gives for the
 * same events (field-lessons.md B3).
 */
export function writeContentResponse(response: NormalizedResponse, context: ResponseContext): ContentResponse {
  const { finish } = response
  const items = response.items.filter(item => !isCutCall(item, finish))
  const parts = writeParts(items, context.request)
  addText(parts, '', response.state)
  if (parts.length === 0) parts.push(writeEmptyPart(undefined))
  const content = summarizeContent(items)
  const finishReason = mapFinishReason(finish, content)
  const grounding = writeGrounding(
    items.flatMap(item => (item.type === 'text' ? item.citations : [])),
    items.flatMap(item => (item.type === 'hosted-tool' ? item.sources : []))
  )
  const usage = writeUsage(response.usage)
  return {
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts },
        finishReason,
        safetyRatings: [],
        ...(grounding === undefined ? {} : { groundingMetadata: grounding })
      }
    ],
    ...writePromptFeedback(finishReason, content),
    modelVersion: context.model,
    responseId: context.requestId,
    ...(usage === undefined ? {} : { usageMetadata: usage })
  }
}

/**
 * The part of an empty content, because the SDK treats a content without parts as invalid.
 * @param state of the whole message, which the provider wants back.
 */
export function writeEmptyPart(state: ProviderState | undefined): ContentTextPart {
  const thoughtSignature = writeThoughtSignature({ state })
  return thoughtSignature === undefined ? { text: '' } : { text: '', thoughtSignature }
}

function summarizeContent(items: readonly OutputItem[]): ContentSummary {
  return {
    hasContent: items.some(item => item.type !== 'reasoning' && item.type !== 'hosted-tool'),
    hasCall: items.some(item => item.type === 'tool-call'),
    hasRefusal: items.some(item => item.type === 'refusal')
  }
}

/** Thoughts are shown only to a client that asked for them. */
export function areThoughtsVisible(request: NormalizedRequest): boolean {
  return request.reasoning?.isVisible === true
}

/** True when the client requests the value of an enum without JSON quotes. */
export function wantsBareString(request: NormalizedRequest): boolean {
  return request.output?.type === 'json-schema' && request.output.wantsBareString === true
}

/** Decodes the JSON text of a string, also of one that a stop string or the output limit cut; any other text stays as it is. */
export function unwrapString(text: string): string {
  return readJsonString(text) ?? readJsonString(`${dropCutEscape(text)}"`) ?? text
}

function readJsonString(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the text without an escape, such as `\u00`, that was cut at its end. */
function dropCutEscape(text: string): string {
  const start = text.lastIndexOf('\\')
  if (start === -1 || !/^\\(?:u[\da-fA-F]{0,3})?$/.test(text.slice(start))) return text
  let first = start
  while (text[first - 1] === '\\') first--
  // An odd number of backslashes before it escape this one.
  return (start - first) % 2 === 0 ? text.slice(0, start) : text
}

function writeParts(items: readonly OutputItem[], request: NormalizedRequest): ContentResponsePart[] {
  const showsThoughts = areThoughtsVisible(request)
  const isBare = wantsBareString(request)
  const parts: ContentResponsePart[] = []
  const listedFiles: GeneratedFile[] = []
  for (const item of items) {
    switch (item.type) {
      case 'text':
        addText(parts, isBare ? unwrapString(item.text) : item.text, item.state)
        break
      case 'refusal':
        addText(parts, item.text, item.state)
        break
      case 'reasoning':
        addThought(parts, item, showsThoughts)
        break
      case 'tool-call':
        parts.push(writeCall({ ...item, name: flattenToolName(item) }))
        break
      case 'file':
        parts.push(writeFile(item.file, item.state))
        // The bytes themselves need no line.
        if (isShownAsLine(item.file) && item.file.base64 === undefined) listedFiles.push(item.file)
        break
      case 'hosted-tool':
        break
    }
  }
  addText(parts, writeFileLines(listedFiles, request, parts.some(isVisibleText)), undefined)
  return parts
}

function isVisibleText(part: ContentResponsePart): boolean {
  return 'text' in part && part.text !== '' && part.thought !== true
}

/**
 * Joins adjacent texts into one part, up to a signature, which covers only its own part. Empty
 * texts without a signature are left out, because an SDK refuses them (field-lessons.md G2).
 */
function addText(parts: ContentResponsePart[], text: string, state: ProviderState | undefined): void {
  const signature = writeThoughtSignature({ state })
  if (text === '' && signature === undefined) return
  const signed = signature === undefined ? {} : { thoughtSignature: signature }
  const last = parts.at(-1)
  const isContinued =
    last !== undefined && 'text' in last && last.thought !== true && last.thoughtSignature === undefined
  if (isContinued) Object.assign(last, { text: last.text + text }, signed)
  else parts.push({ text, ...signed })
}

/** Separates one thought from the next. */
export const THOUGHT_SEPARATOR = '\n'

function addThought(parts: ContentResponsePart[], { text, state }: ReasoningItem, isShown: boolean): void {
  const signature = writeThoughtSignature({ state, hiddenText: isShown ? '' : text })
  const shown = isShown ? text : ''
  if (shown === '' && signature === undefined) return
  const signed = signature === undefined ? {} : { thoughtSignature: signature }
  const last = parts.at(-1)
  const isContinued =
    last !== undefined && 'text' in last && last.thought === true && last.thoughtSignature === undefined
  const added = shown === '' ? '' : THOUGHT_SEPARATOR + shown
  if (isContinued) Object.assign(last, { text: last.text + added }, signed)
  else parts.push({ text: shown, thought: true, ...signed })
}

/** Writes a call with its complete arguments; `name` is the client's name of the function. */
export function writeCall(call: {
  id: string
  name: string
  arguments: string
  state?: ProviderState | undefined
}): ContentCallPart {
  const signature = writeThoughtSignature({ callId: call.id, state: call.state })
  return {
    functionCall: { id: call.id, name: call.name, args: writeInputObject(call.arguments) },
    ...(signature === undefined ? {} : { thoughtSignature: signature })
  }
}

const UNKNOWN_MEDIA_TYPE = 'application/octet-stream'

/** Writes a file with its bytes when they were fetched, else with the name by which a later request can refer to it. */
export function writeFile(file: GeneratedFile, state: ProviderState | undefined): ContentFilePart {
  const { fileId, mediaType, base64 } = file
  const signature = writeThoughtSignature({ state })
  const signed = signature === undefined ? {} : { thoughtSignature: signature }
  if (base64 !== undefined)
    return { inlineData: { mimeType: mediaType ?? UNKNOWN_MEDIA_TYPE, data: base64 }, ...signed }
  const fileData = { fileUri: `files/${fileId}`, ...(mediaType === undefined ? {} : { mimeType: mediaType }) }
  return { fileData, ...signed }
}

/** Writes the cited sources, or all sources when the text cites none. Each URL once. */
export function writeGrounding(
  citations: readonly UrlCitation[],
  sources: readonly HostedSource[]
): ContentGrounding | undefined {
  const byUrl = new Map<string, { uri: string; title: string }>()
  for (const { url, title } of citations.length > 0 ? citations : sources) {
    if (!byUrl.has(url)) byUrl.set(url, { uri: url, title })
  }
  return byUrl.size === 0 ? undefined : { groundingChunks: [...byUrl.values()].map(web => ({ web })) }
}

/** Writes the known counts; undefined when none is known. */
export function writeUsage(usage: NormalizedUsage | null): ContentUsage | undefined {
  if (usage === null) return undefined
  const { inputTokens, cacheReadTokens, outputTokens, reasoningTokens, totalTokens } = usage
  const written: ContentUsage = {}
  if (inputTokens !== null) written.promptTokenCount = inputTokens
  // This protocol counts thoughts apart from the candidates: prompt, candidates and thoughts add up to the total.
  if (outputTokens !== null) written.candidatesTokenCount = Math.max(0, outputTokens - (reasoningTokens ?? 0))
  if (totalTokens !== null) written.totalTokenCount = totalTokens
  if (cacheReadTokens !== null) written.cachedContentTokenCount = cacheReadTokens
  if (reasoningTokens !== null) written.thoughtsTokenCount = reasoningTokens
  return Object.keys(written).length === 0 ? undefined : written
}
