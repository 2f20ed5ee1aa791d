// Sends the lines of the log as server-sent events while they are written (operations.md 2.3).
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import type { Logger } from '../../../shared/logging.ts'
import type { DrainGate } from '../../http/drain-gate.ts'
import { type EventStreamWriter, startEventStream } from '../../http/event-stream.ts'
import { createLevelFilter, type Level } from './level-filter.ts'
import { isMissing, reportUnreadable } from './log-file.ts'
import { type LogLine, type LogTail, openLogTail } from './log-tail.ts'

const POLL_INTERVAL_MS = 500

export interface LogStreamOptions {
  readonly path: string
  readonly level: Level | undefined
  /** The client's `last-event-id`. */
  readonly lastId: string | undefined
  /** Lines before the new ones. */
  readonly lines?: number | undefined
  readonly keepAliveIntervalMs?: number
}

/** Streams until the client disconnects, the drain starts or the file cannot be read any more. */
export async function streamLog(
  { reply, drainGate, clock, log }: { reply: FastifyReply; drainGate: DrainGate; clock: Clock; log: Logger },
  { path, level, lastId, lines, keepAliveIntervalMs }: LogStreamOptions
): Promise<void> {
  const { signal } = reply.request.context
  const ending = new AbortController()
  const end = () => ending.abort()
  signal.addEventListener('abort', end)
  const leave = drainGate.onClosingConnections(end)
  // Opened before the head is sent: from then on the client counts on every line.
  const opening = openLogTail({ path, lastId, lines })
  await opening.catch(ignoreUntilStarted)
  const stream = startEventStream(reply, {
    cacheControl: 'no-store',
    keepAliveText: () => `: ping - ${writePingTime(clock.nowMs())}\r\n\r\n`,
    ...(keepAliveIntervalMs === undefined ? {} : { keepAliveIntervalMs })
  })
  try {
    const tail = await opening
    try {
      await follow(tail, { stream, isShown: createLevelFilter(level), ending: ending.signal })
    } finally {
      await tail.close()
    }
    stream.end()
  } catch (error) {
    reportUnreadable(log, error)
    stream.end(writeEvent('error', isMissing(error) ? 'Log file not found.' : 'Error accessing log file.'))
  } finally {
    leave()
    signal.removeEventListener('abort', end)
  }
}

function ignoreUntilStarted(): void {
  // The error is an event of the stream.
}

interface Following {
  stream: EventStreamWriter
  isShown: (line: string) => boolean
  ending: AbortSignal
}

/** One block of the file is in memory at a time: the next one is read when the client has taken this one. */
async function follow(tail: LogTail, { stream, isShown, ending }: Following): Promise<void> {
  const ended = new Promise<void>(resolve => ending.addEventListener('abort', () => resolve(), { once: true }))
  while (!ending.aborted && !stream.isClosed) {
    const lines = await tail.read()
    if (lines === undefined) {
      await pause(POLL_INTERVAL_MS, undefined, { signal: ending, ref: false }).catch(ignoreEnd)
      continue
    }
    const shown = lines.filter(line => isShown(line.text))
    if (!stream.write(shown.map(writeLine).join(''))) await Promise.race([stream.whenDrained(), ended])
  }
}

function ignoreEnd(): void {
  // The loop looks at the signal itself.
}

function writeLine({ text, id }: LogLine): string {
  return writeEvent('message', text, id)
}

/** A carriage return inside of the data would end the field. */
function writeEvent(name: string, data: string, id?: string): string {
  const fields = [`event: ${name}`, `data: ${data.replaceAll('\r', '\r\ndata: ')}`]
  if (id !== undefined) fields.push(`id: ${id}`)
  return `${fields.join('\r\n')}\r\n\r\n`
}

/** Such as `2026-01-05 10:00:15.123456+00:00`. The clock has milliseconds. */
function writePingTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace('T', ' ').replace('Z', '000+00:00')
}
