// Hands the spans of an ended request to the SDK: one of the request, kind SERVER, and one of its
// call to the provider, kind CLIENT (operations.md 11.2 and 11.6). A span begins and ends here, in
// one step, so that none can stay open.
import {
  type Attributes,
  type Context,
  createTraceState,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace
} from '@opentelemetry/api'
import type { RequestTrace } from './request-trace.ts'
import type { DecidedIds } from './trace-ids.ts'

export interface SpanEvent {
  readonly name: string
  /** As in `RequestView.startedAtMs`. */
  readonly atMs: number
  readonly attributes: Attributes
}

/** A span that is over. Its times are those of `RequestView.startedAtMs`. */
export interface EndedSpan {
  readonly name: string
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly events?: readonly SpanEvent[]
  readonly links?: Link[]
  /** Undefined for a success. */
  readonly error?: { readonly description: string } | undefined
}

export class SpanWriter {
  readonly #tracer: Tracer
  readonly #ids: DecidedIds

  constructor(tracer: Tracer, ids: DecidedIds) {
    this.#tracer = tracer
    this.#ids = ids
  }

  write(request: RequestTrace, server: EndedSpan, client: EndedSpan | undefined): void {
    const { traceId, serverSpanId, clientSpanId } = request.ids
    this.#ids.traceId = traceId
    this.#write(server, { kind: SpanKind.SERVER, spanId: serverSpanId, context: parentContext(request) })
    if (client === undefined) return
    const spanContext = { traceId, spanId: serverSpanId, traceFlags: TraceFlags.SAMPLED, ...stateOf(request) }
    const context = trace.setSpanContext(ROOT_CONTEXT, spanContext)
    this.#write(client, { kind: SpanKind.CLIENT, spanId: clientSpanId, context })
  }

  #write(ended: EndedSpan, place: { kind: SpanKind; spanId: string; context: Context }): void {
    const { name, startMs, endMs, attributes, events = [], links = [], error } = ended
    this.#ids.spanId = place.spanId
    const span = this.#tracer.startSpan(
      name,
      { kind: place.kind, startTime: startMs, attributes, links },
      place.context
    )
    for (const event of events) span.addEvent(event.name, event.attributes, event.atMs)
    if (error === undefined) span.setStatus({ code: SpanStatusCode.OK })
    else span.setStatus({ code: SpanStatusCode.ERROR, message: error.description })
    span.end(endMs)
  }
}

/** The client's own span, so that the gateway's span is its child. */
function parentContext(request: RequestTrace): Context {
  const { parent } = request
  if (parent === undefined) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...stateOf(request)
  })
}

function stateOf({ tracestate }: RequestTrace) {
  return tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }
}
