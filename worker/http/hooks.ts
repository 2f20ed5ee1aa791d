// The hooks of the application in the framework. The framework's handling of bodies, errors and responses is not used.
import type { FastifyInstance } from 'fastify'
import type { GatewayError } from '../normalized/index.ts'
import { memoryRoom } from '../performance/memory-room.ts'
import { createTurnBatch } from '../performance/turn-batch.ts'
import { findConnection } from './connections/served-connection.ts'
import { shuttingDown } from './drain-gate.ts'
import type { HttpRuntime } from './http-runtime.ts'
import { isBodyMethod, readBody } from './request/body.ts'
import { BodyShare } from './request/body-share.ts'
import { createMethodTable, type MethodTable } from './request/method-table.ts'
import type { RequestContext } from './request-context.ts'
import type { Stage } from './stages.ts'

/** Longest pause of a client that is sending a body. */
const BODY_IDLE_TIMEOUT_MS = 60_000

/**
 * Runs the stages in their order for every request, until one responds or raises. They share one hook of the framework: with a hook
 * for each, the framework would check for a promise between any two of them.
 */
export function runStages(app: FastifyInstance, stages: readonly Stage[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    for (const stage of stages) {
      stage(request, reply)
      if (reply.sent) return
    }
    done()
  })
}

/** Declares the context that every request gets. */
export function expectContexts(app: FastifyInstance): void {
  app.decorateRequest('context')
  // Responses that Fastify sends get the same headers; those that are written directly skip this hook.
  app.addHook('onSend', (request, reply, _payload, done) => {
    const { context } = request
    const headers = context.responseHeaders()
    for (let index = 0; index < headers.length; index += 2) reply.header(headers[index] ?? '', headers[index + 1])
    context.firstByte()
    done()
  })
}

/** Collects the methods of every route that is mounted from here on. */
export function collectMethods(app: FastifyInstance): MethodTable {
  const table = createMethodTable()
  app.addHook('onRoute', ({ url, method, config }) => {
    table.add(url, Array.isArray(method) ? method : [method], config?.traits)
  })
  return table
}

/**
 * Lets requests of the client protocols wait while there is no room for their traffic records
 * (operations.md 8.3). The wait ends with room, a client disconnect, the deadline of the request or
 * the start of a drain. System routes never wait: a probe that hangs would end the gateway.
 */
export function waitForRecordRoom(app: FastifyInstance, { recordRoom, drainGate, log }: HttpRuntime): void {
  if (recordRoom === undefined) return
  app.addHook('onRequest', ({ context }, _reply, done) => {
    if (!recordRoom.isFull || context.protocol === 'system') {
      done()
      return
    }
    log.warn({ event: 'traffic_log_full', ...context.logIds }, 'Traffic log queue is full; requests wait')
    const { signal } = context
    const onAbort = () => finish(signal.reason)
    const ends = [recordRoom.whenRoom(() => finish()), drainGate.onDraining(() => finish(shuttingDown()))]
    signal.addEventListener('abort', onAbort)
    function finish(error?: GatewayError): void {
      for (const end of ends) end()
      signal.removeEventListener('abort', onAbort)
      done(error)
    }
    if (signal.aborted) onAbort()
    else if (drainGate.isDraining) finish(shuttingDown())
  })
}

/**
 * Reads the bodies of all content types. Fastify's own body handling is switched off: it requires a content type that it knows,
 * creates an async resource per request, and bounds compressed bodies only after decompression.
 */
export function acceptBodies(app: FastifyInstance, runtime: HttpRuntime): void {
  for (const method of ['DELETE', 'OPTIONS', 'PATCH', 'POST', 'PUT']) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  const limitBytes = runtime.settings.maxRequestBodyBytes
  const continueInTurn = createTurnBatch<() => void>(next => next())
  app.addHook('preValidation', (request, reply, done) => {
    if (!isBodyMethod(request.method)) {
      done()
      return
    }
    const { context } = request
    const { fault } = findConnection(request.raw.socket) ?? {}
    if (fault !== undefined) {
      done(fault)
      return
    }
    // Sent only after the stages: a request that they refuse does not need its body.
    if (request.headers.expect !== undefined) reply.raw.writeContinue()
    const isKept = context.refusal === undefined
    const share = isKept && memoryRoom.isLimited ? new BodyShare() : undefined
    context.bodyShare = share
    const reading = { limitBytes, idleTimeoutMs: BODY_IDLE_TIMEOUT_MS, isKept, share }
    // A body that arrived with its head is read at once; the requests of all others continue in one batch per turn.
    let isWaiting = false
    context.lifetime.cancelBody = readBody(request.raw, reading, (error, body) => {
      context.lifetime.cancelBody = undefined
      context.body = body
      context.payloadLog?.request(context)
      if (context.isModelRequest) context.bodyReceived(body)
      if (error !== undefined) noteFullRoom(runtime, context, error)
      const proceed = () => done(error ?? context.refusal)
      if (isWaiting) continueInTurn(proceed)
      else proceed()
    })
    isWaiting = true
  })
}

/** Says why a large body was refused: the operator can give the container more memory. */
function noteFullRoom({ log }: HttpRuntime, context: RequestContext, error: GatewayError): void {
  if (error.code !== 'gateway_overloaded') return
  log.warn(
    { event: 'large_body_refused', ...context.logIds },
    'A large body was refused: the memory limit leaves no room for it beside those that are being served'
  )
}
