// The stages in front of a handler, and what runs them. The order in which the application lists them is the contract (operations
// contract, section 1): whoever answers first, answers alone.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../normalized/index.ts'
import { createAccessLog } from './access-log.ts'
import type { HttpRuntime } from './application.ts'
import { assertAnnouncedLength, isBodyMethod, isSizeKnown, readBody } from './body.ts'
import type { CorsPolicy } from './cors.ts'
import { createCredentialCheck } from './credentials.ts'
import { isModelPath } from './drain-gate.ts'
import { createErrorResponder } from './errors.ts'
import { familyOfPath, type QueryValues } from './families.ts'
import { createMethodTable } from './method-table.ts'
import { RequestContext, withoutQuery } from './request-context.ts'
import { sendWhole } from './respond.ts'
import { familyOfRoute } from './route-traits.ts'

/** Longest silence of a client that is sending a body. */
const BODY_IDLE_TIMEOUT_MS = 60_000

/** Gives a request its context; from then on the client's leaving is noticed. */
export type OpenContext = Stage

export function createContextOpener(runtime: HttpRuntime, cors: CorsPolicy): OpenContext {
  const { settings, drainGate, log } = runtime
  const logAccess = settings.accessLog ? createAccessLog({ ...runtime, metricsPath: settings.metricsPath }) : undefined

  function onClosed(context: RequestContext): void {
    drainGate.release(context)
    logAccess?.(context)
  }

  function onHeadersDropped(context: RequestContext, droppedCount: number): void {
    const fields = { event: 'headers_dropped', request_id: context.requestId, count: droppedCount }
    log.debug(fields, 'Not all headers of the request were forwarded')
  }

  return (request, reply) => {
    // Read once: the framework builds a new object at each look.
    const { traits } = request.routeOptions.config ?? {}
    const query = (request.query ?? {}) as QueryValues
    const path = withoutQuery(request.raw.url ?? '/')
    const context = new RequestContext({
      incoming: request.raw,
      outgoing: reply.raw,
      query,
      family: traits === undefined ? familyOfPath(path, request.headers, query) : familyOfRoute(traits, request),
      apiMode: traits?.apiMode ?? settings.upstreamApiMode,
      route: traits?.template ?? 'unmatched',
      traits,
      corsHeaders: cors.responseHeaders(request.headers.origin),
      drain: drainGate,
      onClosed,
      onHeadersDropped
    })
    request.context = context
    if (traits?.isModelRequest !== true) return
    const deadlineMs = readDeadline(settings.requestTimeoutSeconds, context)
    if (deadlineMs !== undefined) context.startDeadline(deadlineMs)
  }
}

/** The setting, or what a content client allows when that is less (content contract, section 1.4). */
function readDeadline(settingSeconds: number, context: RequestContext): number | undefined {
  const given = context.family === 'content' ? Number(context.incoming.headers['x-server-timeout']) : Number.NaN
  const wished = given > 0 ? given : Number.POSITIVE_INFINITY
  const seconds = Math.min(wished, settingSeconds === 0 ? Number.POSITIVE_INFINITY : settingSeconds)
  return Number.isFinite(seconds) ? seconds * 1000 : undefined
}

/** One stage in front of a handler. It answers, raises a `GatewayError`, or leaves the request to the next one. */
export type Stage = (request: FastifyRequest, reply: FastifyReply) => void

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

/** Prepares the framework for what `OpenContext` gives every request. */
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

export function answerPreflights(cors: CorsPolicy): Stage {
  return (request, reply) => {
    const answer = cors.answerPreflight(request.raw.method, request.raw.headers)
    if (answer === undefined) return
    request.context.corsHeaders = answer.headers
    sendWhole(reply, { status: answer.status, contentType: 'text/plain; charset=utf-8', body: answer.body })
  }
}

/** Takes model requests in, and refuses them while the worker drains; a path that looks like one is not even looked up then. */
export function refuseWhileDraining({ drainGate }: HttpRuntime): Stage {
  return ({ context }) => {
    const isModelRequest = context.traits?.isModelRequest === true
    if (isModelRequest || (drainGate.isDraining && isModelPath(context.path))) drainGate.admit(context)
  }
}

export function acceptLengths(runtime: HttpRuntime): Stage {
  const limitBytes = runtime.settings.maxRequestBodyBytes
  return ({ raw }) => {
    if (isBodyMethod(raw.method)) assertAnnouncedLength(raw, limitBytes)
  }
}

/** 404 for a path that nothing serves, 405 with `allow` for a path that other methods serve. */
export function refuseUnknownPaths(app: FastifyInstance): Stage {
  const table = createMethodTable()
  app.addHook('onRoute', ({ url, method }) => table.add(url, Array.isArray(method) ? method : [method]))
  return request => {
    if (!request.is404) return
    const allow = table.allowedMethods(request.context.path)
    throw allow === undefined ? new GatewayError('unknown_url') : new GatewayError('method_not_allowed', { allow })
  }
}

/** Checks the gateway key and notes on whose behalf the upstream is called. */
export function acceptCredentials(runtime: HttpRuntime): Stage {
  const check = createCredentialCheck({ ...runtime, nowMs: runtime.clock.monotonicMs })
  return request => {
    const { context } = request
    if (context.traits === undefined) return
    try {
      context.authorization = check(request, context.traits)
    } catch (error) {
      // A body that is too large is refused before a key is looked at; where its size is not known from the head, that is only
      // known once it was counted. None of it is kept.
      if (!isBodyMethod(request.method) || isSizeKnown(request.raw) || !GatewayError.is(error)) throw error
      context.refusal = error
    }
  }
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
  app.addHook('preValidation', (request, reply, done) => {
    if (!isBodyMethod(request.method)) {
      done()
      return
    }
    const { context } = request
    // Only now: a client that asks first is not invited to send a body that nobody wants.
    if (request.headers.expect !== undefined) reply.raw.writeContinue()
    const reading = { limitBytes, idleTimeoutMs: BODY_IDLE_TIMEOUT_MS, isKept: context.refusal === undefined }
    context.cancelBody = readBody(request.raw, reading, (error, body) => {
      context.cancelBody = undefined
      context.body = body
      done(error ?? context.refusal)
    })
  })
}
