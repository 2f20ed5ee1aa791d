// A real logger that writes into memory.

import { pino } from 'pino'
import type { Logger } from '../../../../shared/logging.ts'

export interface MemoryLog {
  log: Logger
  lines: Array<Record<string, unknown>>
  text: () => string
}

export function createMemoryLog(level = 'debug'): MemoryLog {
  const texts: string[] = []
  const lines: Array<Record<string, unknown>> = []
  const log = pino(
    { level },
    {
      write(text: string) {
        texts.push(text)
        lines.push(JSON.parse(text))
      }
    }
  )
  return { log, lines, text: () => texts.join('') }
}
