// The log pages: the last lines, a stream of new lines, and a viewer of that stream
// (operations.md 2.2 to 2.5).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { whenDrained } from '../../http/connections/client-writes.ts'
import { shuttingDown } from '../../http/drain-gate.ts'
import {
  integer,
  oneOf,
  optional,
  type ParameterType,
  readParameters,
  required,
  withDefault
} from '../../http/request/parameters.ts'
import { systemTraits } from '../../http/request/route-traits.ts'
import { sendWhole } from '../../http/respond.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { WorkerRuntime } from '../worker-runtime.ts'
import { createAllowlist } from './allowlist.ts'
import { findLastLines, readText } from './last-lines.ts'
import { LEVELS } from './level-filter.ts'
import { openRegularFile, reportUnreadable, toLogError } from './log-file.ts'
import { streamLog } from './stream.ts'
import { createViewerPage } from './viewer-page.ts'

const LOG_STREAM_TYPE = 'text/event-stream; charset=utf-8'

const LINES_MAX = 5000
const lineCount: ParameterType<number> = integer({ min: 1, max: LINES_MAX })
const queryParameters = { lines: withDefault(lineCount, 100) }
const pathParameters = { last_n_lines: required(lineCount) }
const streamParameters = {
  level: optional(oneOf(LEVELS)),
  lines: withDefault(integer({ min: 0, max: LINES_MAX }), 0)
}

/** The parts of a worker that the log pages use. */
export type LogRuntime = Pick<WorkerRuntime, 'settings' | 'control' | 'drainGate' | 'clock' | 'log'>

/** Mounts `/logs`, `/logs/{last_n_lines}`, `/logs/stream` and `/logs/html`. */
export function registerLogRoutes(app: FastifyInstance, runtime: LogRuntime): void {
  const { settings, control, drainGate, clock, log } = runtime
  const assertAllowed = createAllowlist(settings)

  async function sendLastLines(request: FastifyRequest, reply: FastifyReply, lines: number): Promise<void> {
    assertAllowed(request.raw)
    try {
      await sendText(reply, settings.logFilename, lines)
    } catch (error) {
      reportUnreadable(log, error)
      throw toLogError(error)
    }
  }

  async function sendStream(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { context } = request
    const { level, lines } = readParameters('query', context.query, streamParameters)
    assertAllowed(request.raw)
    if (request.method === 'HEAD') {
      sendWhole(reply, { status: 200, contentType: LOG_STREAM_TYPE, headers: ['cache-control', 'no-store'], body: '' })
      return
    }
    const release = await control.acquireHostSlot('log-stream', context.signal)
    if (release === null) throw context.signal.reason ?? new GatewayError('too_many_streams')
    try {
      if (drainGate.isDraining) throw shuttingDown()
      const lastId = request.headers['last-event-id']
      const from = { lastId: typeof lastId === 'string' ? lastId : undefined, lines }
      const options = { path: settings.logFilename, level, ...from }
      await streamLog({ reply, drainGate, clock, log }, options)
    } finally {
      release()
    }
  }

  function sendViewer(request: FastifyRequest, reply: FastifyReply): void {
    assertAllowed(request.raw)
    const { headers, body } = createViewerPage()
    sendWhole(reply, { status: 200, contentType: 'text/html; charset=utf-8', headers, body })
  }

  const methods = ['GET', 'HEAD']
  app.route({
    method: methods,
    url: '/logs',
    config: { traits: systemTraits('/logs', 'operator-key') },
    handler: (request, reply) =>
      sendLastLines(request, reply, readParameters('query', request.context.query, queryParameters).lines)
  })
  app.route({
    method: methods,
    url: '/logs/html',
    config: { traits: systemTraits('/logs/html', 'operator-key') },
    handler: sendViewer
  })
  const streamTraits = systemTraits('/logs/stream', 'operator-key')
  app.route({ method: methods, url: '/logs/stream', config: { traits: streamTraits }, handler: sendStream })
  app.route({
    method: methods,
    url: '/logs/:last_n_lines',
    config: { traits: systemTraits('/logs/{last_n_lines}', 'operator-key') },
    handler: (request, reply) => {
      const values = request.params as Record<string, string>
      // The router lets a parameter be empty: `/logs/` is no path of its own.
      if (values.last_n_lines === '') throw new GatewayError('unknown_url')
      return sendLastLines(request, reply, readParameters('path', values, pathParameters).last_n_lines)
    }
  })
}

/**
 * Sends the last lines block by block, so that a client that does not read keeps no more than a block in memory. Rejects with the system's
 * error as long as nothing is sent.
 */
async function sendText(reply: FastifyReply, path: string, lines: number): Promise<void> {
  const file = await openRegularFile(path)
  try {
    const range = await findLastLines(file, lines)
    reply.hijack()
    if (startText(reply)) await sendBlocks(reply, readText(file, range))
  } finally {
    await file.close()
  }
}

/** Sends the head. Returns whether a body follows. */
function startText(reply: FastifyReply): boolean {
  const response = reply.raw
  const { context } = reply.request
  if (response.destroyed) return false
  response.writeHead(200, [
    ...context.responseHeaders(),
    'content-type',
    'text/plain; charset=utf-8',
    'x-content-type-options',
    'nosniff',
    'cache-control',
    'no-store'
  ])
  context.firstByte()
  const hasBody = reply.request.method !== 'HEAD'
  if (!hasBody) response.end()
  return hasBody
}

async function sendBlocks(reply: FastifyReply, blocks: AsyncIterable<Buffer>): Promise<void> {
  const response = reply.raw
  const { context } = reply.request
  try {
    for await (const block of blocks) {
      if (!response.write(block)) await whenDrained(response)
      if (response.destroyed) return
    }
    response.end()
  } catch (cause) {
    const error = new GatewayError('log_file_unreadable', { cause })
    context.failed(error)
    context.lifetime.cut(error)
  }
}
