// Says in the log that this worker has no connection to the writer of traffic records, as long as that lasts: its records wait in memory,
// and those that no longer fit are lost.
import type { Logger } from '../../shared/logging.ts'

/** A writer that starts again is back within a second or two. */
const CHECK_INTERVAL_MS = 5_000
/** Between two warnings about one absence, in checks. */
const CHECKS_BETWEEN_WARNINGS = 12

export interface AbsenceReportDependencies {
  readonly log: Logger
  readonly isConnected: () => boolean
  /** Records that wait for the writer. */
  readonly waiting: () => number
}

/** Starts to look; returns the function that ends it. */
export function reportAbsence(dependencies: AbsenceReportDependencies): () => void {
  const timer = setInterval(createAbsenceCheck(dependencies), CHECK_INTERVAL_MS).unref()
  return () => clearInterval(timer)
}

/** Returns the function that looks once; it is called at an even interval. */
export function createAbsenceCheck({ log, isConnected, waiting }: AbsenceReportDependencies): () => void {
  let absentChecks = 0
  return () => {
    if (isConnected()) {
      if (absentChecks > 1)
        log.info({ event: 'traffic_writer_reached' }, 'The writer of the traffic log is reached again')
      absentChecks = 0
      return
    }
    absentChecks += 1
    // The first absence may be the start of a writer.
    if (absentChecks % CHECKS_BETWEEN_WARNINGS !== 2) return
    log.warn(
      { event: 'traffic_writer_unreachable', waiting: waiting() },
      'The writer of the traffic log cannot be reached; records wait in this worker'
    )
  }
}
