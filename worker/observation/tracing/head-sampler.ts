// Decides at a request's head whether its spans are exported (operations contract, sections 11.1 and 11.6).
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import type { RemoteParent } from '../observer.ts'

export type HeadSampler = (traceId: string, parent: RemoteParent | undefined) => boolean

/**
 * Parent-based: a client's decision is taken over. Without one, the ratio is applied to the trace id, so that every worker and every
 * service with the same ratio decides alike.
 */
export function createHeadSampler(ratio: number): HeadSampler {
  const sampler = new TraceIdRatioBasedSampler(ratio)
  return (traceId, parent) =>
    parent?.isSampled ?? sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
}
