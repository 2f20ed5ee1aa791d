// Puts the span of a request together from what was recorded of it: name, attributes, events and
// status (operations.md 11.2 to 11.4). Pure.
import type { ModelSpan } from '../../operations/operation.ts'
import type { RequestView } from '../observer.ts'
import { type AttributeFilter, createAttributeFilter, type SpanAttributes } from './attribute-filter.ts'
import {
  callAttributes,
  clientAttributes,
  commonAttributes,
  type EndedRequest,
  findFinishReason,
  isFailed,
  lifecycleAttributes,
  tokenAttributes,
  type Values
} from './attributes.ts'
import type { Milestone } from './call-record.ts'
import type { CaptureSwitches } from './capture-switches.ts'

/** The span of a request that is for no model. */
const OTHER_SPAN_NAME = 'gateway.request'

export interface DescribedEvent {
  readonly name: string
  /** As in `RequestView.startedAtMs`. */
  readonly atMs: number
  readonly attributes: SpanAttributes
}

export interface DescribedSpan {
  readonly name: string
  readonly attributes: SpanAttributes
  readonly events: readonly DescribedEvent[]
  /** Undefined for a success. */
  readonly error: { readonly description: string } | undefined
}

export interface SpanDescriber {
  /** The span of the request itself; `more` are further attributes of it. */
  describeRequest(ended: EndedRequest, more?: Values): DescribedSpan
  /**
   * The span of the call to its provider; undefined for a request that is for no model or never
   * had a provider.
   */
  describeCall(ended: EndedRequest, more?: Values): DescribedSpan | undefined
}

export function createSpanDescriber(capture: CaptureSwitches): SpanDescriber {
  const filter = createAttributeFilter(capture)
  const redact = (text: string) => capture.redactor?.redactText(text) ?? text

  function describeError(ended: EndedRequest): DescribedSpan['error'] {
    if (!isFailed(ended)) return undefined
    const { failure, errorType, status } = ended.closed
    const message = capture.content ? failure?.message : undefined
    const { description } = filter({ description: message ?? errorType ?? `HTTP ${status}` })
    return { description: String(description) }
  }

  return {
    describeRequest(ended, more = {}) {
      const span = findModelSpan(ended.request)
      const common = commonAttributes(ended)
      const error = describeError(ended)
      if (span === undefined) {
        const attributes = filter({ ...common, ...lifecycleAttributes(ended), ...more })
        return { name: OTHER_SPAN_NAME, attributes, events: [], error }
      }
      const attributes = filter({
        ...common,
        ...(error !== undefined && lifecycleAttributes(ended)),
        ...callAttributes(ended, span, capture),
        ...more
      })
      return { name: span.spanName, attributes, events: describeEvents(ended, span, filter), error }
    },
    describeCall(ended, more = {}) {
      const span = findModelSpan(ended.request)
      const { upstreamModel, model, providerKind } = ended.closed.facts
      if (span === undefined || providerKind === undefined) return undefined
      // Clients choose the model, and some write a key into it by mistake.
      const name = redact(`${span.genAiOperation} ${upstreamModel ?? model}`)
      return {
        name,
        attributes: filter({ ...clientAttributes(ended, span), ...more }),
        events: [],
        error: describeError(ended)
      }
    }
  }
}

/**
 * A request for a model has the name of its operation, also where it is refused before a provider
 * is chosen (specification.md 6.3). A preflight or a wrong method on its path asks for no model.
 */
function findModelSpan({ operation, method }: RequestView): ModelSpan | undefined {
  return operation?.method === method ? operation.span : undefined
}

function describeEvents(ended: EndedRequest, span: ModelSpan, filter: AttributeFilter): DescribedEvent[] {
  const { record } = ended
  const common: Values = {
    'llm.model_name': ended.closed.facts.model,
    'llm.provider': ended.closed.facts.providerKind,
    'openinference.span.kind': span.kind
  }
  const ends = describeAbort(ended)
  return [...record.milestones, ...ends].map(({ name, atMs, attributes }) => ({
    name,
    atMs,
    attributes: filter({ ...common, ...describeEnd(name, ended), ...attributes })
  }))
}

/** What is known only at the end of the request. */
function describeEnd(name: string, { closed, record }: EndedRequest): Values {
  switch (name) {
    case 'stream.completed':
      return { ...tokenAttributes(record), 'llm.finish_reason': findFinishReason(record) }
    case 'stream.error':
      return { error_type: closed.errorType }
    case 'stream.aborted':
      return {
        ...tokenAttributes(record),
        error_type: closed.errorType,
        status: 'ERROR',
        status_code: closed.status,
        latency_ms: Math.round(closed.durationMs)
      }
    default:
      return {}
  }
}

/**
 * Adds the event of a stream that ended by a client disconnect or at the drain deadline: its record
 * has none.
 */
function describeAbort({ request, closed, record }: EndedRequest): Milestone[] {
  if (closed.lifecycle !== 'streaming_aborted' || closed.errorType !== 'stream_cancelled') return []
  if (record.response.eventCount === 0) return []
  return [{ name: 'stream.aborted', atMs: request.startedAtMs + closed.durationMs, attributes: {} }]
}
