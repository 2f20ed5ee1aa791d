// Lines that every request writes, made of text that needs neither serializing nor redaction.
import type { Logger } from 'pino'
import type { Destinations } from './destinations.ts'
import { INFO_LEVEL } from './levels.ts'
import { escapeJsonLine } from './log-line.ts'

/**
 * Writes one line of the level INFO from the JSON text of its members, such as
 * `"event":"x","status":200`, which is neither checked nor redacted and must have passed
 * `escapeJsonLine` where it is not the gateway's own. For lines that every request writes: this
 * costs a tenth of a general log call.
 */
export type WritePlainLine = (members: string, message: string) => void

export function createPlainLines(
  log: Logger,
  { worker, destinations }: { worker: number | undefined; destinations: Destinations }
): WritePlainLine {
  if (!log.isLevelEnabled('info')) return () => undefined
  const source = `"pid":${process.pid}${worker === undefined ? '' : `,"worker":${worker}`}`
  const writeTime = createTimeWriter()
  let lastMessage = ''
  let quotedMessage = '""'
  return (members, message) => {
    if (message !== lastMessage) quotedMessage = escapeJsonLine(JSON.stringify(message))
    lastMessage = message
    destinations.lastLevel = INFO_LEVEL
    destinations.writeEscaped(
      `{"level":"INFO","time":"${writeTime(Date.now())}",${source},${members},"msg":${quotedMessage}}\n`
    )
  }
}

/**
 * Writes times as RFC 3339. Under load every millisecond has lines, so the text up to the second is
 * cached.
 */
function createTimeWriter(): (epochMs: number) => string {
  let lastSecond = -1
  let start = ''
  return epochMs => {
    const second = Math.floor(epochMs / 1000)
    // Up to the decimal point.
    if (second !== lastSecond) start = new Date(epochMs).toISOString().slice(0, -4)
    lastSecond = second
    return `${start}${String(epochMs - second * 1000).padStart(3, '0')}Z`
  }
}
