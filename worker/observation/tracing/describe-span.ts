// Puts the span of a request together from what was recorded of it: name, attributes, events and
// status (operations.md 11.2 to 11.4). Pure.
import type { ModelSpan } from '../../operations/operation.ts'
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

/** The span of a request that is no call of a model, or for which no provider was chosen. */
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
   * The span of the call to its provider; undefined for a request that is no call of a model or
   * never had a provider.
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
      const span = findModelSpan(ended)
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
      const span = findModelSpan(ended)
      if (span === undefined) return undefined
      const { upstreamModel, model } = ended.closed.facts
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
 * A call has the name of its operation once its provider was chosen; before that it is a request
 * like any other.
 */
function findModelSpan({ request, closed }: EndedRequest): ModelSpan | undefined {
  return closed.facts.providerKind === undefined ? undefined : request.operation?.span
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
