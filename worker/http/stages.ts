// The stages in front of a handler. The order in which the application lists them is the contract (operations contract, section 1):
// whoever answers first, answers alone.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../normalized/index.ts'
import type { HttpRuntime } from '../runtime.ts'
import { assertAnnouncedLength, isBodyMethod, isSizeKnown } from './body.ts'
import type { CorsPolicy } from './cors.ts'
import { createCredentialCheck } from './credentials.ts'
import { isModelPath } from './drain-gate.ts'
import { createMethodTable } from './method-table.ts'
import { sendWhole } from './respond.ts'

/** One stage in front of a handler. It answers, raises a `GatewayError`, or leaves the request to the next one. */
export type Stage = (request: FastifyRequest, reply: FastifyReply) => void

/** What HTTP demands of a head. Node's own answers to these would have no body and no request id. */
export function refuseBrokenHeads(): Stage {
  return ({ raw }) => {
    const { host, expect } = raw.headers
    if (host === undefined && raw.httpVersion === '1.1') {
      throw new GatewayError('invalid_request', { message: 'The Host header is missing.' })
    }
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
      throw new GatewayError('invalid_request', { status: 417, message: 'The expectation cannot be met.' })
    }
  }
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
