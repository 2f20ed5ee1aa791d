// Records a request from its head to its end, and writes its spans when it has ended
// (operations.md 11.2).
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import type { RequestObserver, RequestView } from '../observer.ts'
import { type EndedRequest, isFailed } from './attributes.ts'
import { type CaptureSwitches, toDescriptionOptions } from './capture-switches.ts'
import { createSpanDescriber, type DescribedSpan } from './describe-span.ts'
import type { HeadSampler } from './head-sampler.ts'
import { type ProviderExchange, RequestTrace } from './request-trace.ts'
import { listLinks } from './span-links.ts'
import type { EndedSpan, SpanWriter } from './span-writer.ts'

export interface TracingObserverOptions {
  readonly capture: CaptureSwitches
  readonly profiles: ProfileSet
  readonly isSampledAtHead: HeadSampler
  readonly writer: Pick<SpanWriter, 'write'>
  /** Called when the spans of a request, so many, could not be written. */
  readonly onFailed: (error: unknown, spans: number) => void
}

/** Creates the observer that writes the spans of a request when the request has ended. */
export function createTracingObserver(options: TracingObserverOptions): RequestObserver {
  const { capture, isSampledAtHead, writer, onFailed } = options
  const describer = createSpanDescriber(capture)
  const redact = (text: string) => capture.redactor?.redactText(text) ?? text
  const servers = listServers(options.profiles)

  /** The span of the call to the provider; undefined when no provider was called. */
  function describeExchange(ended: EndedRequest, exchange: ProviderExchange | undefined): EndedSpan | undefined {
    if (exchange === undefined) return undefined
    const { startMs, endMs } = exchange
    const { profileId, model } = ended.closed.facts
    const more = {
      ...exchangeAttributes(exchange),
      ...(profileId !== undefined && servers.get(profileId))
    }
    const call: DescribedSpan = describer.describeCall(ended, more) ?? {
      name: model === undefined ? exchange.operation : redact(`${exchange.operation} ${model}`),
      attributes: more,
      events: [],
      error: isSuccess(exchange) ? undefined : { description: exchange.status }
    }
    return { ...call, startMs, endMs }
  }

  function writeSpans({ trace, ended, links }: ToWrite): void {
    try {
      const startMs = ended.request.startedAtMs
      const server = { ...describer.describeRequest(ended), startMs, endMs: startMs + ended.closed.durationMs }
      writer.write(trace, { ...server, links }, describeExchange(ended, trace.exchange))
    } catch (error) {
      onFailed(error, trace.exchange === undefined ? 1 : 2)
    }
  }

  return {
    name: 'tracing',
    descriptionOptions: toDescriptionOptions(capture),
    // A request that is not sampled is only exported when it fails, and then without what it asked for: the others cost nothing.
    follows: request => traceOf(request)?.isSampled === true,
    opened(request) {
      request.traceContext = new RequestTrace(request, isSampledAtHead)
    },
    described(request, description) {
      const trace = traceOf(request)
      if (trace?.isSampled === true) trace.recordWith(capture).description = description
    },
    planned(request, facts) {
      const trace = traceOf(request)
      if (trace?.isSampled === true) trace.recordWith(capture).planned = facts
    },
    events(request, events) {
      const trace = traceOf(request)
      if (trace?.isSampled === true) trace.recordWith(capture).take(events, performance.now())
    },
    upstreamCall(request, report) {
      traceOf(request)?.addCall(report, performance.now())
    },
    usage(request, usage) {
      const trace = traceOf(request)
      if (trace !== undefined) trace.usage = usage
    },
    closed(request, closed) {
      const trace = traceOf(request)
      if (trace === undefined || !(trace.isSampled || isFailed({ closed }))) return
      const record = trace.recordWith(capture)
      record.usage ??= trace.usage
      record.upstreamCall = trace.lastCall
      writeSpans({ trace, ended: { request, closed, record }, links: listLinks(request) })
    }
  }
}

/** A request whose spans are to be written. */
interface ToWrite {
  trace: RequestTrace
  ended: EndedRequest
  links: ReturnType<typeof listLinks>
}

function traceOf({ traceContext }: RequestView): RequestTrace | undefined {
  return traceContext instanceof RequestTrace ? traceContext : undefined
}

function exchangeAttributes(exchange: ProviderExchange) {
  const { httpStatus } = exchange
  return {
    ...(httpStatus !== undefined && { 'http.response.status_code': httpStatus }),
    ...(!isSuccess(exchange) && { 'error.type': exchange.status }),
    ...(exchange.attempts > 1 && { 'http.request.resend_count': exchange.attempts - 1 })
  }
}

function isSuccess({ status }: ProviderExchange): boolean {
  return /^[23]\d\d$/.test(status)
}

/** Host and port of each profile's provider. */
function listServers({
  profiles
}: ProfileSet): ReadonlyMap<string, { 'server.address': string; 'server.port': number }> {
  return new Map(
    profiles.map(({ profileId, baseUrl }) => {
      const { hostname, port, protocol } = new URL(baseUrl)
      const defaultPort = protocol === 'https:' ? 443 : 80
      const address = hostname.replace(/^\[|\]$/g, '')
      return [profileId, { 'server.address': address, 'server.port': port === '' ? defaultPort : Number(port) }]
    })
  )
}
