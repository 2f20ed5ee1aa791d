// One warning a minute for a store of responses that gives no answers, with how many there were.
import type { Logger } from '../logging.ts'

const INTERVAL_MS = 60_000

export interface FailureLog {
  /** `fields`: what the line says beside the number of failures since the last one. */
  note(fields: Readonly<Record<string, unknown>>): void
}

export interface FailureLogOptions {
  readonly log: Logger
  readonly nowMs: () => number
  readonly event: string
  readonly text: string
}

/** A log whose first failure is written at once. */
export function createFailureLog({ log, nowMs, event, text }: FailureLogOptions): FailureLog {
  let count = 0
  let writtenAtMs = Number.NEGATIVE_INFINITY
  return {
    note(fields) {
      count += 1
      if (nowMs() - writtenAtMs < INTERVAL_MS) return
      log.warn({ event, ...fields, count }, text)
      writtenAtMs = nowMs()
      count = 0
    }
  }
}
