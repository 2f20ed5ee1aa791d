// The bounded queue between the requests and the collector (operations.md 11.1 and 7.5;
// field-lessons.md K9). The batches are those of OpenTelemetry's processor; counted here is what it
// holds, so that it never holds more than the settings allow.

import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'
import { withDeadline } from '../../../shared/deadline.ts'
import type { Logger } from '../../../shared/logging.ts'

export interface SpanQueueOptions {
  readonly exporter: SpanExporter
  /** Spans that may be held, those on their way to the collector included. */
  readonly size: number
  /**
   * False: a full queue is sent at once, in parallel, and up to twice its size is held until then.
   */
  readonly dropsWhenFull: boolean
  readonly batchSize: number
  readonly counts: SpanCounts
  readonly log: Logger
  /** Monotonic. */
  readonly nowMs: () => number
}

/**
 * Takes the counters of the metrics `gateway_trace_spans_total` and
 * `gateway_trace_spans_dropped_total`.
 */
export interface SpanCounts {
  exported(count: number): void
  dropped(count: number): void
}

const EXPORT_INTERVAL_MS = 1_000
/** Beyond the timeout of an exporter, which ends an export by itself. */
export const EXPORT_TIMEOUT_MS = 5_000
const PROCESSOR_TIMEOUT_MS = EXPORT_TIMEOUT_MS + 1_000
/** Captured messages make spans large, so the texts of the held spans are bounded as well. */
const HELD_CHARACTERS_MAX = 32 * 1024 * 1024
const WARNING_INTERVAL_MS = 10_000
/**
 * How long the last spans may take, and how long when the collector did not take those before. The
 * supervisor allows a worker five seconds for everything that it closes.
 */
const CLOSE_TIMEOUT_MS = 2_000
const CLOSE_TIMEOUT_AFTER_FAILURE_MS = 500

export class SpanQueue implements SpanProcessor {
  readonly #options: SpanQueueOptions
  readonly #batches: SpanProcessor
  readonly #heldMax: number
  #heldSpans = 0
  #heldCharacters = 0
  #isFlushing = false
  #isFailing = false
  #isClosed = false
  #droppedSinceWarning = 0
  #lastWarningMs = Number.NEGATIVE_INFINITY

  constructor(options: SpanQueueOptions) {
    this.#options = options
    const { size, dropsWhenFull, batchSize } = options
    this.#heldMax = dropsWhenFull ? size : 2 * size
    this.#batches = new BatchSpanProcessor({
      exporter: this.#watch(options.exporter),
      maxQueueSize: this.#heldMax,
      maxExportBatchSize: Math.min(batchSize, this.#heldMax),
      scheduledDelayMillis: EXPORT_INTERVAL_MS,
      exportTimeoutMillis: PROCESSOR_TIMEOUT_MS
    })
  }

  onStart(): void {
    // A span is given whole, at its end.
  }

  onEnd(span: ReadableSpan): void {
    const characters = countCharacters(span)
    if (this.#isClosed || this.#heldSpans >= this.#heldMax || this.#heldCharacters + characters > HELD_CHARACTERS_MAX) {
      this.#drop(1, 'queue_full')
      return
    }
    this.#heldSpans += 1
    this.#heldCharacters += characters
    this.#batches.onEnd(span)
    if (!this.#options.dropsWhenFull && this.#heldSpans >= this.#options.size) this.#flushAtOnce()
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush()
  }

  /**
   * Sends what is held, within a fixed time; spans that are held after it count as dropped. Never
   * rejects.
   */
  async shutdown(): Promise<void> {
    const timeoutMs = this.#isFailing ? CLOSE_TIMEOUT_AFTER_FAILURE_MS : CLOSE_TIMEOUT_MS
    try {
      await withDeadline(this.#batches.shutdown(), timeoutMs)
    } catch {
      // A failed export was counted and logged when it failed.
    }
    this.#isClosed = true
    const left = this.#heldSpans
    this.#heldSpans = 0
    if (left > 0) this.#drop(left, 'closed')
    if (this.#droppedSinceWarning > 0) this.#warn('closed')
  }

  #flushAtOnce(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    const done = () => {
      this.#isFlushing = false
    }
    // A failed export was counted and logged when it failed.
    void this.#batches.forceFlush().then(done, done)
  }

  /** The same exporter, with the outcome of each export counted. */
  #watch(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, report) =>
        exporter.export(spans, result => {
          // What was held at the end of `shutdown` is counted already.
          if (!this.#isClosed) this.#settle(spans, result.error)
          report(result)
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve()
    }
  }

  #settle(spans: readonly ReadableSpan[], error: Error | undefined): void {
    this.#heldSpans -= spans.length
    for (const span of spans) this.#heldCharacters -= countCharacters(span)
    this.#isFailing = error !== undefined
    if (error === undefined) this.#options.counts.exported(spans.length)
    else this.#drop(spans.length, nameOf(error))
  }

  #drop(count: number, reason: string): void {
    this.#options.counts.dropped(count)
    this.#droppedSinceWarning += count
    if (this.#options.nowMs() - this.#lastWarningMs >= WARNING_INTERVAL_MS) this.#warn(reason)
  }

  #warn(reason: string): void {
    const fields = { event: 'trace_spans_dropped', count: this.#droppedSinceWarning, reason_id: reason }
    this.#options.log.warn(fields, 'Spans were dropped')
    this.#droppedSinceWarning = 0
    this.#lastWarningMs = this.#options.nowMs()
  }
}

/** The statuses of gRPC by their numbers, in its own words (https://grpc.github.io/grpc/core/md_doc_statuscodes.html). */
const GRPC_STATUSES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED'
]

/**
 * The code of the system, the status of HTTP or the word of gRPC: a message may name addresses or
 * repeat the collector's response.
 */
function nameOf(error: Error): string {
  if (!('code' in error) || error.code === undefined) return 'export_failed'
  const word = typeof error.code === 'number' ? GRPC_STATUSES[error.code] : undefined
  return `export_failed_${word ?? error.code}`
}

/** The texts of a span's attributes and events: what makes its size. */
function countCharacters({ attributes, events }: ReadableSpan): number {
  let count = 0
  for (const key in attributes) count += lengthOf(attributes[key])
  for (const { attributes: members = {} } of events) for (const key in members) count += lengthOf(members[key])
  return count
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (!Array.isArray(value)) return 0
  let count = 0
  for (const item of value) if (typeof item === 'string') count += item.length
  return count
}
