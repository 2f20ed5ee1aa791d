// How many tokens a request is reserved for, and how many were used where a provider reports none (keys.md 2). Never a tokenizer: the
// figures only have to be alike for all requests.
import { measureRequest, type NormalizedEvent, type NormalizedRequest, type TextMeasure } from '../normalized/index.ts'

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

/** Counts text in bytes, and media by their number. */
class Measure implements TextMeasure {
  #bytes = 0
  #media = 0

  addText(text: string): void {
    this.#bytes += Buffer.byteLength(text)
  }

  addMedia(): void {
    this.#media += 1
  }

  get tokens(): number {
    return tokensOfBytes(this.#bytes) + this.#media * MEDIA_TOKENS
  }
}

function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/**
 * The estimate of a chat. One that stands in for a body which the gateway could not read is measured by that body.
 * @param bodyBytes the length of the client's body.
 * @param outputTokensMax what the alias allows.
 */
export function estimateChat(
  request: NormalizedRequest & { isStandIn?: true },
  { bodyBytes, outputTokensMax = Number.POSITIVE_INFINITY }: { bodyBytes: number; outputTokensMax?: number | undefined }
): TokenEstimate {
  const wanted = Math.min(request.sampling.maxOutputTokens ?? OUTPUT_TOKENS, outputTokensMax)
  if (request.isStandIn === true) return { input: tokensOfBytes(bodyBytes), output: wanted }
  const measure = new Measure()
  measureRequest(request, measure)
  return { input: measure.tokens, output: wanted }
}

/** The estimate of embeddings, which have an input alone. */
export function estimateTexts(texts: readonly string[]): TokenEstimate {
  const measure = new Measure()
  for (const text of texts) measure.addText(text)
  return { input: measure.tokens, output: 0 }
}

/** Counts what a response generates, event by event. */
export class GeneratedTokens {
  readonly #measure = new Measure()

  get tokens(): number {
    return this.#measure.tokens
  }

  add(events: readonly NormalizedEvent[]): void {
    for (const event of events) addEvent(this.#measure, event)
  }
}

function addEvent(measure: Measure, event: NormalizedEvent): void {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      measure.addText(event.text)
      return
    case 'tool-call-start':
      measure.addText(event.name)
      return
    case 'tool-call-delta':
      measure.addText(event.arguments)
      return
    case 'file':
      measure.addMedia()
  }
}
