// How many tokens a request is reserved for, and how many were used where a provider reports none (keys.md 2). Never a tokenizer: the
// figures only have to be alike for all requests.
import type { ContentPart, NormalizedEvent, NormalizedRequest } from '../normalized/index.ts'

export interface TokenEstimate {
  readonly input: number
  /** What the response is reserved for. */
  readonly output: number
}

const BYTES_PER_TOKEN = 4
/** For each image and each file of any size. */
const MEDIA_TOKENS = 1000
/** Of a request that sets no limit. */
const OUTPUT_TOKENS = 1024

/** Text in bytes, and media by their number. */
interface Measure {
  bytes: number
  media: number
}

/**
 * The estimate of a chat. One that stands in for a body which the gateway could not read is measured by that body.
 * @param bodyBytes the length of the client's body.
 * @param outputTokensMax what the alias allows.
 */
export function estimateChat(
  { isStandIn, messages, tools, output, sampling }: NormalizedRequest & { isStandIn?: true },
  { bodyBytes, outputTokensMax = Number.POSITIVE_INFINITY }: { bodyBytes: number; outputTokensMax?: number | undefined }
): TokenEstimate {
  const wanted = Math.min(sampling.maxOutputTokens ?? OUTPUT_TOKENS, outputTokensMax)
  if (isStandIn === true) return { input: countTokens({ bytes: bodyBytes, media: 0 }), output: wanted }
  const measure: Measure = { bytes: 0, media: 0 }
  for (const { content } of messages) for (const part of content) addPart(measure, part)
  for (const tool of tools) {
    if (tool.type !== 'function') continue
    addText(measure, tool.name)
    addText(measure, tool.description ?? '')
    addJson(measure, tool.parameters)
  }
  if (output?.type === 'json-schema') addJson(measure, output.schema)
  return { input: countTokens(measure), output: wanted }
}

/** The estimate of embeddings, which have an input alone. */
export function estimateTexts(texts: readonly string[]): TokenEstimate {
  const measure: Measure = { bytes: 0, media: 0 }
  for (const text of texts) addText(measure, text)
  return { input: countTokens(measure), output: 0 }
}

/** Counts what a response generates, event by event. */
export interface GeneratedTokens {
  readonly tokens: number
  add(events: readonly NormalizedEvent[]): void
}

export function createGeneratedTokens(): GeneratedTokens {
  const measure: Measure = { bytes: 0, media: 0 }
  return {
    get tokens() {
      return countTokens(measure)
    },
    add(events) {
      for (const event of events) addEvent(measure, event)
    }
  }
}

function addEvent(measure: Measure, event: NormalizedEvent): void {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      addText(measure, event.text)
      return
    case 'tool-call-start':
      addText(measure, event.name)
      return
    case 'tool-call-delta':
      addText(measure, event.arguments)
      return
    case 'file':
      measure.media += 1
  }
}

function addPart(measure: Measure, part: ContentPart): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      addText(measure, part.text)
      return
    case 'tool-call':
      addText(measure, part.name)
      if (part.argumentsText === undefined) addJson(measure, part.arguments)
      else addText(measure, part.argumentsText)
      return
    case 'tool-result':
      for (const inner of part.content) addPart(measure, inner)
      return
    default:
      measure.media += 1
  }
}

function addJson(measure: Measure, value: unknown): void {
  addText(measure, JSON.stringify(value) ?? '')
}

function addText(measure: Measure, text: string): void {
  measure.bytes += Buffer.byteLength(text)
}

function countTokens({ bytes, media }: Measure): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN) + media * MEDIA_TOKENS
}
