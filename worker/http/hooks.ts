// What the application hangs into the framework, whose own handling of bodies, errors and answers is not used.
import type { FastifyInstance } from 'fastify'
import { createTurnBatch } from '../performance/turn-batch.ts'
import type { HttpRuntime } from '../runtime.ts'
import { isBodyMethod, readBody } from './body.ts'
import { createErrorResponder } from './errors.ts'
import type { Stage } from './stages.ts'

/** Longest silence of a client that is sending a body. */
const BODY_IDLE_TIMEOUT_MS = 60_000

/**
 * Runs the stages in their order for every request, until one answers or raises. They are one hook of the framework: a hook each
 * would put an iteration, and with it a promise check, between any two of them.
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

/** Prepares the framework for the context that every request gets. */
export function expectContexts(app: FastifyInstance): void {
  app.decorateRequest('context')
  // Answers that go through Fastify's own sending get the same headers; those that are written directly never come here.
  app.addHook('onSend', (request, reply, _payload, done) => {
    const headers = request.context.responseHeaders()
    for (let index = 0; index < headers.length; index += 2) reply.header(headers[index] ?? '', headers[index + 1])
    done()
  })
}

/** Whatever is thrown from here on is answered in the client's own form. */
export function answerErrors(app: FastifyInstance, runtime: HttpRuntime): void {
  app.setErrorHandler(createErrorResponder(runtime))
}

/**
 * Reads bodies as they are. Fastify's own body handling is switched off: it wants a content type that it knows, makes an async
 * resource per request, and bounds compressed bodies only after they were unpacked.
 */
export function acceptBodies(app: FastifyInstance, runtime: HttpRuntime): void {
  for (const method of ['DELETE', 'OPTIONS', 'PATCH', 'POST', 'PUT']) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  const limitBytes = runtime.settings.maxRequestBodyBytes
  const goOnInTurn = createTurnBatch<() => void>(goOn => goOn())
  app.addHook('preValidation', (request, reply, done) => {
    if (!isBodyMethod(request.method)) {
      done()
      return
    }
    const { context } = request
    // Only now: a client that asks first is not invited to send a body that nobody wants.
    if (request.headers.expect !== undefined) reply.raw.writeContinue()
    const reading = { limitBytes, idleTimeoutMs: BODY_IDLE_TIMEOUT_MS, isKept: context.refusal === undefined }
    // A body that came with its head is there while the heads of this turn are looked at; others are waited for.
    let isWaiting = false
    context.cancelBody = readBody(request.raw, reading, (error, body) => {
      context.cancelBody = undefined
      context.body = body
      const goOn = () => done(error ?? context.refusal)
      if (isWaiting) goOnInTurn(goOn)
      else goOn()
    })
    isWaiting = true
  })
}
