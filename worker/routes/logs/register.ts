// The log pages: the last lines, a stream of new lines, and a viewer of that stream (operations contract, sections 2.2 to 2.5).
import type { FileHandle } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { shuttingDown } from '../../http/drain-gate.ts'
import { whenDrained } from '../../http/event-stream.ts'
import {
  integer,
  oneOf,
  optional,
  type ParameterType,
  readParameters,
  required,
  withDefault
} from '../../http/parameters.ts'
import { sendWhole } from '../../http/respond.ts'
import { systemTraits } from '../../http/route-traits.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { WorkerRuntime } from '../worker-runtime.ts'
import { createAllowlist } from './allowlist.ts'
import { findLastLines, openLog, readText } from './last-lines.ts'
import { LEVELS } from './level-filter.ts'
import { streamLog } from './stream.ts'
import { createViewerPage } from './viewer-page.ts'

const lineCount: ParameterType<number> = integer({ min: 1, max: 5000 })
const queryParameters = { lines: withDefault(lineCount, 100) }
const pathParameters = { last_n_lines: required(lineCount) }
const streamParameters = { level: optional(oneOf(LEVELS)) }

/** The parts of a worker that the log pages use. */
export type LogRuntime = Pick<WorkerRuntime, 'settings' | 'control' | 'drainGate' | 'clock'>

/** Mounts `/logs`, `/logs/{last_n_lines}`, `/logs/stream` and `/logs/html`. */
export function registerLogRoutes(app: FastifyInstance, runtime: LogRuntime): void {
  const { settings, control, drainGate, clock } = runtime
  const assertAllowed = createAllowlist(settings)

  async function sendLastLines(request: FastifyRequest, reply: FastifyReply, lines: number): Promise<void> {
    assertAllowed(request.raw)
    const file = await openLog(settings.logFilename)
    try {
      await sendText(reply, file, lines)
    } finally {
      await file.close()
    }
  }

  async function sendStream(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { context } = request
    const { level } = readParameters('query', context.query, streamParameters)
    assertAllowed(request.raw)
    const release = await control.acquireHostSlot('log-stream', context.signal)
    if (release === null) throw context.signal.reason ?? new GatewayError('too_many_streams')
    try {
      if (drainGate.isDraining) throw shuttingDown()
      const lastId = request.headers['last-event-id']
      const options = { path: settings.logFilename, level, lastId: typeof lastId === 'string' ? lastId : undefined }
      await streamLog({ reply, drainGate, clock }, options)
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
    config: { traits: systemTraits('/logs', 'api-key') },
    handler: (request, reply) =>
      sendLastLines(request, reply, readParameters('query', request.context.query, queryParameters).lines)
  })
  app.route({
    method: methods,
    url: '/logs/html',
    config: { traits: systemTraits('/logs/html', 'api-key') },
    handler: sendViewer
  })
  const streamTraits = systemTraits('/logs/stream', 'api-key')
  app.route({ method: 'GET', url: '/logs/stream', config: { traits: streamTraits }, handler: sendStream })
  // Without a route of its own, the path would be taken for a number of lines.
  app.route({ method: 'HEAD', url: '/logs/stream', config: { traits: streamTraits }, handler: refuseHead })
  app.route({
    method: methods,
    url: '/logs/:last_n_lines',
    config: { traits: systemTraits('/logs/{last_n_lines}', 'api-key') },
    handler: (request, reply) => {
      const values = request.params as Record<string, string>
      // The router lets a parameter be empty: `/logs/` is no path of its own.
      if (values.last_n_lines === '') throw new GatewayError('unknown_url')
      return sendLastLines(request, reply, readParameters('path', values, pathParameters).last_n_lines)
    }
  })
}

function refuseHead(): never {
  throw new GatewayError('method_not_allowed', { allow: 'GET' })
}

/** Sends the last lines block by block, so that a client that does not read keeps no more than a block in memory. */
async function sendText(reply: FastifyReply, file: FileHandle, lines: number): Promise<void> {
  const range = await findLastLines(file, lines)
  const response = reply.raw
  const { context } = reply.request
  reply.hijack()
  if (response.destroyed) return
  response.writeHead(200, [
    ...context.responseHeaders(),
    'content-type',
    'text/plain; charset=utf-8',
    'cache-control',
    'no-store'
  ])
  context.firstByte()
  if (reply.request.method === 'HEAD') {
    response.end()
    return
  }
  try {
    for await (const block of readText(file, range)) {
      if (!response.write(block)) await whenDrained(response)
      if (response.destroyed) return
    }
    response.end()
  } catch (cause) {
    const error = new GatewayError('log_file_unreadable', { cause })
    context.failed(error)
    context.cut(error)
  }
}
