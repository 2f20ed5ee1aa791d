// Shows only the lines of the log from a level on.

export const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const
export type Level = (typeof LEVELS)[number]

/** The start of a line in either format; client text can stand only behind it. */
const JSON_HEAD = /^\{"level":"([A-Z]+)"/
const TEXT_HEAD = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \| ([A-Z]+) *\|/

/**
 * Creates the filter of one stream: whether a line is at least as severe as `level`. A line without a level, such as one of a stack, goes
 * with the line before it.
 */
export function createLevelFilter(level: Level | undefined): (line: string) => boolean {
  if (level === undefined) return () => true
  const least = LEVELS.indexOf(level)
  let isShown = false
  return line => {
    const found = JSON_HEAD.exec(line)?.[1] ?? TEXT_HEAD.exec(line)?.[1]
    if (found !== undefined) isShown = (LEVELS as readonly string[]).indexOf(found) >= least
    return isShown
  }
}
