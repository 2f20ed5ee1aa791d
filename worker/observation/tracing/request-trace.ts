// What tracing keeps of one request between its head and its end.
import type { NormalizedUsage } from '../../normalized/index.ts'
import type { UpstreamCallReport, UpstreamOperation } from '../../providers/types.ts'
import type { RemoteParent, RequestView, TraceContext } from '../observer.ts'
import { CallRecord } from './call-record.ts'
import type { CaptureSwitches } from './capture-switches.ts'
import type { HeadSampler } from './head-sampler.ts'
import { makeRequestIds, type RequestIds, writeTraceparent } from './trace-ids.ts'

/** All exchanges of a request with its provider: the first attempt and what was repeated. Times as in `RequestView.startedAtMs`. */
export interface ProviderExchange {
  readonly operation: UpstreamOperation
  startMs: number
  endMs: number
  /** Exchanges so far. */
  attempts: number
  /** That of the last exchange, in the words of its report. */
  status: string
}

export class RequestTrace implements TraceContext {
  readonly ids: RequestIds
  readonly isSampled: boolean
  readonly parent: RemoteParent | undefined
  exchange: ProviderExchange | undefined
  lastCall: UpstreamCallReport | undefined
  usage: NormalizedUsage | undefined
  #record: CallRecord | undefined

  constructor(request: RequestView, isSampledAtHead: HeadSampler) {
    this.parent = request.remoteParent
    this.ids = makeRequestIds(request.requestId, this.parent)
    this.isSampled = isSampledAtHead(this.ids.traceId, this.parent)
  }

  get traceId(): string {
    return this.ids.traceId
  }

  get spanId(): string {
    return this.ids.serverSpanId
  }

  get traceparent(): string {
    return writeTraceparent({ traceId: this.traceId, spanId: this.ids.clientSpanId, isSampled: this.isSampled })
  }

  get tracestate(): string | undefined {
    return this.parent?.tracestate
  }

  /** What is known of the call, made at the first need: a request that is no call needs none. */
  recordWith(capture: CaptureSwitches): CallRecord {
    this.#record ??= new CallRecord(capture)
    return this.#record
  }

  /** An exchange with the provider has ended, at this time. */
  addCall(report: UpstreamCallReport, endMs: number): void {
    this.lastCall = report
    const { operation, status } = report
    const startMs = endMs - report.durationMs
    const { exchange } = this
    if (exchange === undefined) {
      this.exchange = { operation, startMs, endMs, attempts: 1, status }
      return
    }
    exchange.startMs = Math.min(exchange.startMs, startMs)
    exchange.endMs = Math.max(exchange.endMs, endMs)
    exchange.attempts += 1
    exchange.status = status
  }
}
