// Keeps a repeated warning from filling the log: at most ten equal lines per second are written, then one line with the number of
// suppressed lines.

const WINDOW_MS = 1000
const EQUAL_LINES_MAX = 10
/** Number of texts tracked at once. A further text replaces the oldest, whose lines are then counted from zero again. */
const TEXTS_MAX = 256

export interface Suppressed {
  readonly text: string
  readonly count: number
}

export interface WarningLimiter {
  /** Whether a warning with this text may be written now. */
  admit(text: string, nowMs: number): boolean
  /** Returns, once, the texts whose second has ended and the number of their suppressed lines. */
  takeSuppressed(nowMs: number): Suppressed[]
}

interface Window {
  readonly startedAtMs: number
  count: number
}

export function createWarningLimiter(): WarningLimiter {
  const windows = new Map<string, Window>()
  const finished: Suppressed[] = []

  function finish(text: string, window: Window): void {
    windows.delete(text)
    if (window.count > EQUAL_LINES_MAX) finished.push({ text, count: window.count - EQUAL_LINES_MAX })
  }

  return {
    admit(text, nowMs) {
      const window = windows.get(text)
      if (window !== undefined && nowMs - window.startedAtMs < WINDOW_MS) {
        window.count += 1
        return window.count <= EQUAL_LINES_MAX
      }
      if (window !== undefined) finish(text, window)
      if (windows.size >= TEXTS_MAX) {
        const [oldest] = windows
        if (oldest !== undefined) finish(...oldest)
      }
      windows.set(text, { startedAtMs: nowMs, count: 1 })
      return true
    },
    takeSuppressed(nowMs) {
      for (const [text, window] of windows) {
        if (nowMs - window.startedAtMs >= WINDOW_MS) finish(text, window)
      }
      return finished.splice(0)
    }
  }
}
