// What tracing keeps of one request between its head and its end.
import type { NormalizedUsage } from '../../normalized/index.ts'
import type { UpstreamCallReport, UpstreamOperation } from '../../providers/types.ts'
import type { RemoteParent, RequestView, TraceContext } from '../observer.ts'
import { CallRecord } from './call-record.ts'
import type { CaptureSwitches } from './capture-switches.ts'
import type { HeadSampler } from './head-sampler.ts'
import { makeRequestIds, type RequestIds, writeTraceparent } from './trace-ids.ts'

/** All exchanges of a request with its provider. Times as in `RequestView.startedAtMs`. */
export interface ProviderExchange {
  operation: UpstreamOperation
  startMs: number
  endMs: number
  /** How often the call itself was sent; files that are moved for it do not count. */
  attempts: number
  /** That of the last attempt, in the words of its report. */
  status: string
  /** Of its response; undefined where none began. */
  httpStatus: number | undefined
}

const TRANSFERS: ReadonlySet<UpstreamOperation> = new Set(['upload', 'download'])

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
    const { operation, status, httpStatus } = report
    const startMs = endMs - report.durationMs
    const isTransfer = TRANSFERS.has(operation)
    const { exchange } = this
    if (exchange === undefined) {
      this.exchange = { operation, startMs, endMs, attempts: isTransfer ? 0 : 1, status, httpStatus }
      return
    }
    exchange.startMs = Math.min(exchange.startMs, startMs)
    exchange.endMs = Math.max(exchange.endMs, endMs)
    if (isTransfer && exchange.attempts > 0) return
    exchange.operation = operation
    exchange.status = status
    exchange.httpStatus = httpStatus
    if (!isTransfer) exchange.attempts += 1
  }
}
