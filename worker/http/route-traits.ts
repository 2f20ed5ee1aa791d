// What the layers in front of a handler need to know about its route. Every route says it once, when it is registered.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiMode } from '../bridge/plan.ts'
import { detectModelsFamily, type Family, type QueryValues } from './families.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    traits?: RouteTraits
  }
}

export interface RouteTraits {
  /** Path as metrics and logs show it, such as `/v1/models/{model}`. */
  template: string
  /** `by-client`: the shared model lists, whose form depends on who asks. */
  family: Family | 'by-client'
  /** `api-key`: the gateway key is needed while authentication is on. */
  access: 'open' | 'api-key'
  /** The bearer token may carry upstream authorization instead of the gateway key. */
  takesUpstreamAuthorization: boolean
  /** Starts model work: refused while draining, and waited for. */
  isModelRequest: boolean
  /** Upstream contract that the prefix selects; absent: the setting decides. */
  apiMode?: ApiMode
}

export interface OperationRoute {
  method: 'GET' | 'POST'
  /** Router pattern without prefix, such as `/models/*`. */
  path: string
  /** The same for metrics and logs, such as `/models/{model}`; the path itself when it has no parameters. */
  template?: string
  /** The root is ''; every other prefix starts with the version that it selects, and `/v1beta` selects none. */
  prefixes?: readonly string[]
  family: RouteTraits['family']
  isModelRequest: boolean
  handler: (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
}

const DEFAULT_PREFIXES = ['', '/v1', '/v2']

/**
 * Mounts one operation of a client protocol under its prefixes: the root, `/v1` and `/v2` unless said otherwise. All of them need the gateway key while
 * authentication is on and take upstream authorization.
 */
export function mountOperation(app: FastifyInstance, route: OperationRoute): void {
  for (const prefix of route.prefixes ?? DEFAULT_PREFIXES) {
    const apiMode = readApiMode(prefix)
    const traits: RouteTraits = {
      template: prefix + (route.template ?? route.path),
      family: route.family,
      access: 'api-key',
      takesUpstreamAuthorization: true,
      isModelRequest: route.isModelRequest,
      ...(apiMode === undefined ? {} : { apiMode })
    }
    app.route({ method: route.method, url: prefix + route.path, config: { traits }, handler: route.handler })
  }
}

/** Traits of a system route: open to everybody, in the system form. */
export function systemTraits(template: string): RouteTraits {
  return {
    template,
    family: 'system',
    access: 'open',
    takesUpstreamAuthorization: false,
    isModelRequest: false
  }
}

/** The family of a matched route for one request. */
export function familyOfRoute(traits: RouteTraits, request: FastifyRequest): Family {
  return traits.family === 'by-client'
    ? detectModelsFamily(request.headers, request.query as QueryValues)
    : traits.family
}

function readApiMode(prefix: string): ApiMode | undefined {
  if (prefix === '/v1' || prefix.startsWith('/v1/')) return 'v1'
  if (prefix === '/v2' || prefix.startsWith('/v2/')) return 'v2'
  return undefined
}
