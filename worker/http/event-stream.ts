// The writing end of a streamed answer: head at once, one write per call, back-pressure that also ends when the client leaves.
import type { FastifyReply } from 'fastify'

export interface EventStreamWriter {
  /** Writes whole frames as one piece. False: the client is slow, wait for `whenDrained` before the next one. */
  write(text: string): boolean
  /** Resolves when more can be written, or when the client is gone. */
  whenDrained(): Promise<void>
  /** Writes the last frames, if any, and ends the answer. */
  end(text?: string): void
  /** Nothing can be written any more: the answer was ended, or the client is gone. */
  readonly isClosed: boolean
}

export interface EventStreamOptions {
  contentType?: string
  /** Headers besides those that every answer and every stream has. */
  headers?: Readonly<Record<string, string>>
  /** Written when nothing else was for a while, so that proxies keep the connection: a comment or a `ping` frame. */
  keepAliveText?: string
  keepAliveIntervalMs?: number
  /** How long a client may take nothing of what is ready for it. */
  stallTimeoutMs?: number
}

/** Common proxies give up a silent connection after 30 to 60 seconds. */
const KEEP_ALIVE_INTERVAL_MS = 15_000
/** A client may think between two reads; one that reads nothing for so long keeps an upstream's answer and a place from others. */
const STALL_TIMEOUT_MS = 300_000

/**
 * Starts a streamed answer with status 200 and takes the reply over (completions contract, section 6.4). Call it with the first
 * event in hand: after it, errors can only be frames. When the client is gone already, the writer is closed from the start.
 */
export function startEventStream(reply: FastifyReply, options: EventStreamOptions = {}): EventStreamWriter {
  const { context } = reply.request
  const response = reply.raw
  reply.hijack()
  context.expectStream()
  if (response.destroyed || response.headersSent) return createClosedWriter()
  context.isStreaming = true
  response.writeHead(200, [
    ...context.responseHeaders(),
    'content-type',
    options.contentType ?? 'text/event-stream; charset=utf-8',
    'cache-control',
    'no-cache',
    'x-accel-buffering',
    'no',
    ...Object.entries(options.headers ?? {}).flat()
  ])
  // The head goes out in this turn of the loop even when no frame follows, and in one packet with the first frame when one does.
  const { socket } = response
  socket?.cork()
  response.flushHeaders()
  process.nextTick(() => socket?.uncork())

  const keepAlive = startKeepAlive(options, text => {
    if (!response.writableNeedDrain) response.write(text)
  })
  response.once('close', () => clearTimeout(keepAlive))

  return {
    get isClosed() {
      return response.destroyed || response.writableEnded
    },
    write(text) {
      if (text === '' || response.destroyed || response.writableEnded) return true
      keepAlive?.refresh()
      return response.write(text)
    },
    whenDrained() {
      if (response.destroyed || !response.writableNeedDrain) return Promise.resolve()
      return new Promise(resolve => {
        // Waiting for the drain alone would hang for ever when the client leaves (field lesson H7), or stays and reads nothing.
        const timer = setTimeout(() => response.destroy(), options.stallTimeoutMs ?? STALL_TIMEOUT_MS)
        function finish(): void {
          clearTimeout(timer)
          response.removeListener('drain', finish)
          response.removeListener('close', finish)
          resolve()
        }
        response.once('drain', finish)
        response.once('close', finish)
      })
    },
    end(text = '') {
      clearTimeout(keepAlive)
      if (response.destroyed || response.writableEnded) return
      response.end(text)
    }
  }
}

function startKeepAlive(options: EventStreamOptions, write: (text: string) => void): NodeJS.Timeout | undefined {
  const { keepAliveText } = options
  if (keepAliveText === undefined) return undefined
  const timer = setTimeout(() => {
    write(keepAliveText)
    timer.refresh()
  }, options.keepAliveIntervalMs ?? KEEP_ALIVE_INTERVAL_MS)
  return timer
}

function createClosedWriter(): EventStreamWriter {
  return {
    isClosed: true,
    write: () => true,
    whenDrained: () => Promise.resolve(),
    end: () => undefined
  }
}
