// The output limit of a request to an alias (decisions.md 73): what the client asks for is bounded by what the alias declares, and by what
// its window leaves behind the input. It is never refused for being large.

import { GatewayError, type NormalizedRequest } from '../normalized/index.ts'
import { estimateBodyTokens, estimateInputTokens, measureInput } from './input-size.ts'
import type { LeftOut } from './left-out.ts'
import type { DeclaredCapabilities } from './resolve-route.ts'

/** An input that leaves less for the output is too long for the model. */
const OUTPUT_TOKENS_MIN = 256
/** The same of a very small window, as a part of it. */
const OUTPUT_SHARE_MIN = 1 / 4

/** No token is shorter than a byte, so that an input of few bytes needs no closer look. */
const BYTES_OF_SHORT_TOKEN = 1

export type OutputBounds = Pick<DeclaredCapabilities, 'outputTokensMax' | 'contextWindow'>

/**
 * The most output tokens that the provider may be asked for. Raises `context_length_exceeded` for an input that leaves no room. The
 * tokenizer of the provider is unknown: the estimate of the input is generous where it bounds the output, and sparing where it refuses.
 * @param bodyBytes the length of the client's body, where it is known.
 */
export function findOutputMax(
  request: NormalizedRequest,
  { outputTokensMax, contextWindow }: OutputBounds,
  bodyBytes = Number.POSITIVE_INFINITY
): number {
  const wanted = Math.min(request.sampling.maxOutputTokens ?? outputTokensMax, outputTokensMax)
  if (contextWindow - bodyBytes / BYTES_OF_SHORT_TOKEN >= wanted) return outputTokensMax
  const { least, likely } = estimateInputTokens(measureInput(request))
  const left = contextWindow - likely
  if (left >= wanted) return outputTokensMax
  const leastOutput = Math.min(OUTPUT_TOKENS_MIN, Math.ceil(contextWindow * OUTPUT_SHARE_MIN))
  if (contextWindow - least < leastOutput) {
    throw exceedContext(
      { tokens: least, most: contextWindow - leastOutput, contextWindow },
      request.fieldPaths.messages
    )
  }
  return Math.min(Math.max(left, leastOutput), outputTokensMax)
}

/** Whether a body of so many bytes leaves room for what its client asks for, so that its input need not be measured. */
export function fitsWindow(
  { sampling }: Pick<NormalizedRequest, 'sampling'>,
  { outputTokensMax, contextWindow }: OutputBounds,
  bodyBytes: number
): boolean {
  const wanted = Math.min(sampling.maxOutputTokens ?? outputTokensMax, outputTokensMax)
  return contextWindow - estimateBodyTokens(bodyBytes) >= wanted
}

/** The words are those that agents look for before they compact their history. */
function exceedContext(
  { tokens, most, contextWindow }: { tokens: number; most: number; contextWindow: number },
  param: string
): GatewayError {
  return new GatewayError('context_length_exceeded', {
    param,
    message: `prompt is too long: ${tokens} tokens > ${most} maximum. The context window of this model has ${contextWindow} tokens.`
  })
}

/** Bounds the client's own limit, with a notice. */
export function boundOutput(request: NormalizedRequest, outputMax: number, leftOut: LeftOut): NormalizedRequest {
  const { maxOutputTokens } = request.sampling
  if (maxOutputTokens === undefined || maxOutputTokens <= outputMax) return request
  leftOut.add(request.fieldPaths.maxOutputTokens ?? '', 'output_limit_bounded')
  return { ...request, sampling: { ...request.sampling, maxOutputTokens: outputMax } }
}
