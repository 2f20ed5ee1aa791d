// The stages before a handler. Their order in the application is that of operations.md 1; the
// first stage that sends a response ends the request.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../normalized/index.ts'
import { createModelPathTest } from '../operations/path.ts'
import { isFramingClear } from './connections/served-connection.ts'
import { createCredentialCheck } from './credentials.ts'
import type { HttpRuntime } from './http-runtime.ts'
import { assertAnnouncedLength, isBodyMethod, isSizeKnown } from './request/body.ts'
import type { MethodTable } from './request/method-table.ts'
import { lacksVerb, readWildcard } from './request/route-traits.ts'
import { sendWhole } from './respond.ts'
import type { CorsPolicy } from './response/cors.ts'

/**
 * One stage in front of a handler. It responds, raises a `GatewayError`, or leaves the request to
 * the next one.
 */
export type Stage = (request: FastifyRequest, reply: FastifyReply) => void

/**
 * Refuses heads that HTTP forbids. Node's own responses to these would have no body and no request
 * id.
 */
export function refuseBrokenHeads(): Stage {
  return ({ raw }) => {
    const { host, expect } = raw.headers
    if (!isFramingClear(raw)) throw unclearFraming(raw.headers['transfer-encoding'] ?? '')
    if (host === undefined && raw.httpVersion === '1.1') {
      throw new GatewayError('invalid_request', { message: 'The Host header is missing.' })
    }
    if (hasSeveralHosts(raw.rawHeaders)) {
      throw new GatewayError('invalid_request', { message: 'The Host header is given more than once.' })
    }
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
      throw new GatewayError('invalid_request', { status: 417, message: 'The expectation cannot be met.' })
    }
  }
}

/**
 * Node keeps the first of several `Host` headers; a proxy in front may have routed by another (RFC
 * 9112, section 3.2).
 */
function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === HOST.length && name.toLowerCase() === HOST) count += 1
  }
  return count > 1
}

const HOST = 'host'

/**
 * 501 for a transfer coding besides `chunked`; 400 where `chunked` is there but not exactly once,
 * or in a request of HTTP 1.0.
 */
function unclearFraming(header: string): GatewayError {
  const codings = header.split(',').map(coding => coding.trim().toLowerCase())
  const isKnown = codings.every(coding => coding === 'chunked' || coding === '')
  return new GatewayError('invalid_request', {
    status: isKnown ? 400 : 501,
    message: "The Transfer-Encoding header may only be 'chunked', in HTTP 1.1."
  })
}

/** Responds to cross-origin preflights. */
export function respondToPreflights(cors: CorsPolicy): Stage {
  return (request, reply) => {
    const { raw, context } = request
    const preflight = cors.writePreflightResponse(raw.method, raw.headers, context)
    if (preflight === undefined) return
    context.corsHeaders = preflight.headers
    const { status, body } = preflight
    if (status >= 400) context.failed(new GatewayError('invalid_request', { status, message: body }))
    sendWhole(reply, { status, contentType: 'text/plain; charset=utf-8', body })
  }
}

/**
 * Admits model requests, and refuses them while the worker drains, then also on paths that only
 * look like one.
 */
export function refuseWhileDraining({ drainGate, operations }: HttpRuntime): Stage {
  const isModelPath = createModelPathTest(operations)
  return ({ context }) => {
    const isModelRequest = context.traits?.isModelRequest === true
    if (isModelRequest || (drainGate.isDraining && isModelPath(context.routedPath))) drainGate.admit(context)
  }
}

/** Refuses a body whose announced length is beyond the limit. */
export function acceptLengths(runtime: HttpRuntime): Stage {
  const limitBytes = runtime.settings.maxRequestBodyBytes
  return ({ raw }) => {
    if (isBodyMethod(raw.method)) assertAnnouncedLength(raw, limitBytes)
  }
}

/**
 * 404 for a path that nothing serves, 405 with `allow` for a path that other methods serve. A model
 * with a verb that does not exist is a path of its own.
 */
export function refuseUnknownPaths(methods: MethodTable): Stage {
  return request => {
    const { traits, routedPath } = request.context
    const rest = readWildcard(request)
    const isMissing = lacksVerb(traits, rest)
    if (!request.is404 && !isMissing) return
    const known = isMissing && rest.includes(':') ? undefined : methods.find(routedPath)
    if (known === undefined) throw new GatewayError('unknown_url')
    throw new GatewayError('method_not_allowed', { allow: known.allow })
  }
}

/** Checks the gateway key and decides which credential the upstream is called with. */
export function acceptCredentials(runtime: HttpRuntime): Stage {
  const check = createCredentialCheck(runtime)
  return request => {
    const { context } = request
    if (context.traits === undefined) return
    try {
      context.authorization = check(request, context.traits)
      // Responses of all routes tell a client how much of its limits is left.
      if (context.apiKey?.hasLimits === true) context.limitState = runtime.limiter?.open(context.apiKey)
    } catch (error) {
      // Nothing of a request without the admin key is read.
      if (context.traits.access === 'admin-key') throw error
      // 413 goes before 401: where the head does not tell the body's size, the body is counted
      // first. None of it is kept or decompressed (decisions.md 102). A client that waits for
      // `100 Continue` has sent nothing of it, and is not asked to.
      const isDecided = isSizeKnown(request.raw) || request.headers.expect !== undefined
      if (!isBodyMethod(request.method) || isDecided || !GatewayError.is(error)) throw error
      context.refusal = error
    }
  }
}
