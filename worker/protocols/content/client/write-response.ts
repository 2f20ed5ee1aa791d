// The whole answer in the family's form, and the pieces of it that the stream writer shows in the same form (content.md 5.1).

import {
  flattenToolName,
  type GeneratedFile,
  type HostedSource,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  type NormalizedResponse,
  type NormalizedUsage,
  type OutputItem,
  type ProviderState,
  type UrlCitation
} from '../../../normalized/index.ts'
import type { ResponseContext } from '../../face.ts'
import { type AnswerContent, mapFinishReason, writePromptFeedback } from './finish-reason.ts'
import type {
  ContentAnswerPart,
  ContentCallPart,
  ContentFilePart,
  ContentGrounding,
  ContentResponse,
  ContentTextPart,
  ContentUsage
} from './schema.ts'
import { writeThoughtSignature } from './thought-signature.ts'

/** Writes a whole answer. It is the sum of what the stream writer would have sent for the same events (field lesson B3). */
export function writeContentResponse(response: NormalizedResponse, context: ResponseContext): ContentResponse {
  const { items, finish } = response
  const parts = writeParts(items, context.request)
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
        content: { role: 'model', parts: parts.length === 0 ? [EMPTY_PART] : parts },
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

/** What a content has that has nothing to say: the SDK takes one without parts for invalid. */
export const EMPTY_PART: ContentTextPart = { text: '' }

function summarizeContent(items: readonly OutputItem[]): AnswerContent {
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

/** The client wants the value of an enum and not its JSON text. */
export function wantsBareString(request: NormalizedRequest): boolean {
  return request.output?.type === 'json-schema' && request.output.wantsBareString === true
}

/** The string that `text` is the JSON of; the text itself where it is something else. */
export function unwrapString(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : text
  } catch {
    // Cut short, or never JSON: the client sees what there is.
    return text
  }
}

function writeParts(items: readonly OutputItem[], request: NormalizedRequest): ContentAnswerPart[] {
  const showsThoughts = areThoughtsVisible(request)
  const isBare = wantsBareString(request)
  const parts: ContentAnswerPart[] = []
  for (const item of items) {
    switch (item.type) {
      case 'text':
        addText(parts, isBare ? unwrapString(item.text) : item.text, item.state)
        break
      case 'refusal':
        addText(parts, item.text, item.state)
        break
      case 'reasoning':
        if (showsThoughts) addThought(parts, item)
        break
      case 'tool-call':
        parts.push(writeCall({ ...item, name: flattenToolName(item) }))
        break
      case 'file':
        parts.push(writeFile(item.file, item.state))
        break
      case 'hosted-tool':
        break
    }
  }
  return parts
}

/**
 * Neighbouring texts are one part, up to a signature, which covers its own part only. Empty texts without a signature would be
 * refused by an SDK (field lesson G2).
 */
function addText(parts: ContentAnswerPart[], text: string, state: ProviderState | undefined): void {
  const signature = writeThoughtSignature({ state })
  if (text === '' && signature === undefined) return
  const signed = signature === undefined ? {} : { thoughtSignature: signature }
  const last = parts.at(-1)
  const isContinued =
    last !== undefined && 'text' in last && last.thought !== true && last.thoughtSignature === undefined
  if (isContinued) Object.assign(last, { text: last.text + text }, signed)
  else parts.push({ text, ...signed })
}

/** What separates one thought from the next. */
export const THOUGHT_SEPARATOR = '\n'

function addThought(parts: ContentAnswerPart[], thought: { text: string; state?: ProviderState }): void {
  const signature = writeThoughtSignature({ state: thought.state })
  if (thought.text === '' && signature === undefined) return
  const signed = signature === undefined ? {} : { thoughtSignature: signature }
  const last = parts.at(-1)
  const isContinued =
    last !== undefined && 'text' in last && last.thought === true && last.thoughtSignature === undefined
  const added = thought.text === '' ? '' : THOUGHT_SEPARATOR + thought.text
  if (isContinued) Object.assign(last, { text: last.text + added }, signed)
  else parts.push({ text: thought.text, thought: true, ...signed })
}

/** A call with its whole arguments; `name` as the client declared it. */
export function writeCall(call: {
  id: string
  name: string
  arguments: string
  state?: ProviderState | undefined
}): ContentCallPart {
  const signature = writeThoughtSignature({ callId: call.id, state: call.state })
  return {
    functionCall: { id: call.id, name: call.name, args: readArguments(call.arguments) },
    ...(signature === undefined ? {} : { thoughtSignature: signature })
  }
}

/** The family has an object there and nothing else. */
function readArguments(text: string): JsonObject {
  if (text.trim() === '') return {}
  const value = parseJson(text)
  return isJsonObject(value) ? value : { arguments: value }
}

function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    // The client can still see what the model wrote.
    return text
  }
}

const UNKNOWN_MEDIA_TYPE = 'application/octet-stream'

/** A file with its bytes where somebody fetched them, else under the name by which a later request can refer to it. */
export function writeFile(file: GeneratedFile, state: ProviderState | undefined): ContentFilePart {
  const { fileId, mediaType, base64 } = file
  const signature = writeThoughtSignature({ state })
  const signed = signature === undefined ? {} : { thoughtSignature: signature }
  if (base64 !== undefined)
    return { inlineData: { mimeType: mediaType ?? UNKNOWN_MEDIA_TYPE, data: base64 }, ...signed }
  const fileData = { fileUri: `files/${fileId}`, ...(mediaType === undefined ? {} : { mimeType: mediaType }) }
  return { fileData, ...signed }
}

/** Where the text comes from: what it cites, or what was found where it cites nothing. Each address once. */
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

/** The counts that are known; undefined when none is. */
export function writeUsage(usage: NormalizedUsage | null): ContentUsage | undefined {
  if (usage === null) return undefined
  const { inputTokens, cacheReadTokens, outputTokens, reasoningTokens, totalTokens } = usage
  const written: ContentUsage = {}
  if (inputTokens !== null) written.promptTokenCount = inputTokens
  // This family counts thoughts beside the answer, not in it: prompt, candidates and thoughts add up to the total.
  if (outputTokens !== null) written.candidatesTokenCount = Math.max(0, outputTokens - (reasoningTokens ?? 0))
  if (totalTokens !== null) written.totalTokenCount = totalTokens
  if (cacheReadTokens !== null) written.cachedContentTokenCount = cacheReadTokens
  if (reasoningTokens !== null) written.thoughtsTokenCount = reasoningTokens
  return Object.keys(written).length === 0 ? undefined : written
}
