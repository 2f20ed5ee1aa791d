// Whether a sink is available: counts failed attempts, chooses the pause before the next one, and reports the outage in the log.
import type { Logger } from '../../shared/logging.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'

export interface OutageOptions {
  readonly retryMinMs: number
  readonly retryMaxMs: number
  /** Between two lines of the log about one outage. */
  readonly reportIntervalMs: number
}

export interface OutageDependencies {
  readonly log: Logger
  /** From 0 to 1. */
  readonly random: () => number
  /** Milliseconds of any clock that does not jump. */
  readonly nowMs: () => number
}

/** What the log shows of a failure. */
export interface FailureReport {
  readonly error: unknown
  /** Records in memory. */
  readonly waiting: number
}

export class Outage {
  readonly #sink: SinkName
  readonly #options: OutageOptions
  readonly #dependencies: OutageDependencies
  /** Failed attempts since the sink was available; 0 while it is. */
  #failures = 0
  #reportedAtMs = Number.NEGATIVE_INFINITY
  #slowReportedAtMs = Number.NEGATIVE_INFINITY

  constructor(sink: SinkName, options: OutageOptions, dependencies: OutageDependencies) {
    this.#sink = sink
    this.#options = options
    this.#dependencies = dependencies
  }

  get isOngoing(): boolean {
    return this.#failures > 0
  }

  /** Counts a failed attempt; returns the milliseconds to wait before the next one. */
  noteFailure(report: FailureReport): number {
    const { nowMs, random } = this.#dependencies
    const { retryMinMs, retryMaxMs, reportIntervalMs } = this.#options
    this.#failures += 1
    if (nowMs() - this.#reportedAtMs >= reportIntervalMs) {
      this.#reportedAtMs = nowMs()
      this.report('traffic_sink_unavailable', report, 'A sink of the traffic log is not available')
    }
    const delayMs = Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(this.#failures - 1, 16))
    return delayMs / 2 + (delayMs / 2) * random()
  }

  /** Says, not too often, that a write takes longer than it should while so many records are in memory. */
  noteSlowWrite(waiting: number): void {
    const { nowMs, log } = this.#dependencies
    if (nowMs() - this.#slowReportedAtMs < this.#options.reportIntervalMs) return
    this.#slowReportedAtMs = nowMs()
    const fields = { event: 'traffic_sink_slow', sink: this.#sink, waiting }
    log.warn(fields, 'A write into a sink of the traffic log takes long; records wait for its end')
  }

  /** Ends the outage, if there is one, because an attempt has succeeded. */
  noteSuccess(): void {
    if (this.isOngoing) {
      const fields = { event: 'traffic_sink_available', sink: this.#sink, failures: this.#failures }
      this.#dependencies.log.info(fields, 'A sink of the traffic log is available again')
    }
    this.forget()
  }

  /** Ends the outage without a log line, because no record waits for an attempt. */
  forget(): void {
    this.#failures = 0
    this.#reportedAtMs = Number.NEGATIVE_INFINITY
  }

  /** Writes a warning with the number of failed attempts. */
  report(event: string, { error, waiting }: FailureReport, text: string): void {
    this.#dependencies.log.warn({ event, sink: this.#sink, failures: this.#failures, waiting, err: error }, text)
  }
}
