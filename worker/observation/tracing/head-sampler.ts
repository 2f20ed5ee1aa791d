// Decides at a request's head whether its spans are exported (operations.md 11.1 and 11.6).
import type { RemoteParent } from '../observer.ts'

export type HeadSampler = (traceId: string, parent: RemoteParent | undefined) => boolean

/** The last digits of a trace id are random, in a UUID as in the ids that W3C trace context asks for. */
const RANDOM_DIGITS = 12

/**
 * Parent-based: a client's decision is taken over. Without one, the ratio is applied to the trace id, so that every worker decides alike.
 * The rule is that of OpenTelemetry's consistent sampling: a large random value is sampled. Every request passes here, and the SDK's sampler
 * costs 1 us.
 */
export function createHeadSampler(ratio: number): HeadSampler {
  const lowest = Math.ceil((1 - ratio) * 16 ** RANDOM_DIGITS)
  if (lowest >= 16 ** RANDOM_DIGITS) return (_traceId, parent) => parent?.isSampled ?? false
  // Numbers of one length are ordered like their digits.
  const lowestDigits = lowest.toString(16).padStart(RANDOM_DIGITS, '0')
  return (traceId, parent) => parent?.isSampled ?? traceId.slice(-RANDOM_DIGITS) >= lowestDigits
}
