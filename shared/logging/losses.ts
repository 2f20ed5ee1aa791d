// Counts the lines that a slow output loses, and has them reported.

const REPORT_INTERVAL_MS = 1000

/** Where log lines go (operations.md 12). */
export type Output = 'file' | 'stdout'

const OUTPUTS: readonly Output[] = ['file', 'stdout']

interface LossReports {
  /** Counts what is lost of the lines that were written before. */
  settle(): void
  /** Writes the line about lost lines to one output. Returns false when it takes no line at the moment. */
  tell(output: Output, lostBy: Output, lostLines: number): boolean
}

/**
 * Counts the lines that each output loses. At most once a second a line on that output reports the
 * losses since its previous report, so that its reports add up to all losses. An output that
 * accepts no line gets its report later, independently of the other output.
 */
export function createLossCounter({ settle, tell }: LossReports) {
  const untold = { file: { file: 0, stdout: 0 }, stdout: { file: 0, stdout: 0 } }
  let isScheduled = false

  function schedule(): void {
    if (!isScheduled) setTimeout(tellAll, REPORT_INTERVAL_MS).unref()
    isScheduled = true
  }

  function tellAll(): void {
    isScheduled = false
    settle()
    for (const output of OUTPUTS) {
      for (const lostBy of OUTPUTS) {
        const lostLines = untold[output][lostBy]
        if (lostLines === 0) continue
        if (tell(output, lostBy, lostLines)) untold[output][lostBy] -= lostLines
        else schedule()
      }
    }
  }

  return {
    tellAll,
    count(lostBy: Output, lines: number): void {
      for (const output of OUTPUTS) untold[output][lostBy] += lines
      schedule()
    }
  }
}
