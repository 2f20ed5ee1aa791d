// The facts of a route that the stages before its handler need. Each route declares them once, when it is mounted.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Protocol } from '../observation/observer.ts'
import { rememberCombinations } from '../performance/remember-texts.ts'
import type { ApiMode } from '../protocols/face.ts'
import { detectModelsFamily, type Family, familyOfPath, PROTOCOL_OF_FAMILY, type QueryValues } from './families.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    traits?: RouteTraits
  }
}

export interface RouteTraits {
  /** Path as metrics and logs show it, such as `/v1/models/{model}`. */
  template: string
  /**
   * The operation that the decoded text in place of the pattern's `*` names, such as `countTokens`; undefined when it names none.
   * Its template and family take the place of the route's own.
   */
  readOperation?: ((rest: string) => string | undefined) | undefined
  /** The route serves only paths that name an operation. */
  needsOperation?: boolean
  /** `by-client`: the shared model lists, whose form depends on the client's headers. */
  family: Family | 'by-client'
  /** For logs and metrics where it is not the family's. */
  protocol?: Protocol | undefined
  /** `api-key`: the gateway key is needed while authentication is on. `admin-key`: the admin key, always and instead of the gateway key. */
  access: 'open' | 'api-key' | 'admin-key'
  /** The bearer token may carry upstream authorization instead of the gateway key. */
  takesUpstreamAuthorization: boolean
  /** Starts model work: refused while draining, and a drain waits for it. */
  isModelRequest: boolean
  /** Upstream contract that the prefix selects; absent: the setting decides. */
  apiMode?: ApiMode
}

export interface OperationRoute {
  /** `GET` serves `HEAD` too. */
  method: 'GET' | 'POST'
  /** Router pattern without prefix, such as `/models/*`. */
  path: string
  /** The same for metrics and logs, such as `/models/{model}`; the path itself when it has no parameters. */
  template?: string
  /** The root is ''; every other prefix starts with the version that it selects, and `/v1beta` selects none. */
  prefixes?: readonly string[]
  readOperation?: RouteTraits['readOperation']
  family: RouteTraits['family']
  protocol?: Protocol
  isModelRequest: boolean
  handler: (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
}

const DEFAULT_PREFIXES = ['', '/v1', '/v2']

/**
 * Mounts one operation of a client protocol under its prefixes, by default the root, `/v1` and `/v2`. All of them need the gateway key
 * while authentication is on and take upstream authorization.
 */
export function mountOperation(app: FastifyInstance, route: OperationRoute): void {
  const method = route.method === 'GET' ? ['GET', 'HEAD'] : route.method
  for (const prefix of route.prefixes ?? DEFAULT_PREFIXES) {
    const apiMode = readApiMode(prefix)
    const traits: RouteTraits = {
      template: prefix + (route.template ?? route.path),
      readOperation: route.readOperation,
      needsOperation: route.method === 'POST' && route.readOperation !== undefined,
      family: route.family,
      protocol: route.protocol,
      access: 'api-key',
      takesUpstreamAuthorization: true,
      isModelRequest: route.isModelRequest,
      ...(apiMode === undefined ? {} : { apiMode })
    }
    app.route({ method, url: prefix + route.path, config: { traits }, handler: route.handler })
  }
}

/** Traits of a system route: errors have the system form, and no key is needed unless `access` says so. */
export function systemTraits(template: string, access: RouteTraits['access'] = 'open'): RouteTraits {
  return {
    template,
    family: 'system',
    access,
    takesUpstreamAuthorization: false,
    isModelRequest: false
  }
}

/** The family of a request, and how logs and metrics name what it asks for (operations.md 7.4). */
export interface RouteDescription {
  family: Family
  protocol: Protocol
  route: string
}

export interface RoutedRequest extends Pick<FastifyRequest, 'headers'> {
  /** Repaired, without the query. */
  path: string
  query: QueryValues
  /** The decoded text in place of the pattern's `*`. */
  rest: string
}

/** The decoded text in place of the `*` of the matched pattern; '' without one. */
export function readWildcard({ params }: Pick<FastifyRequest, 'params'>): string {
  return (params as { '*'?: string } | undefined)?.['*'] ?? ''
}

/** True where the pattern of a route fits a path that the route does not serve. */
export function lacksOperation(traits: RouteTraits | undefined, rest: string): boolean {
  return traits?.needsOperation === true && traits.readOperation?.(rest) === undefined
}

/** Describes a request for a matched route. */
export function describeRoute(traits: RouteTraits, request: RoutedRequest): RouteDescription {
  const operation = traits.readOperation?.(request.rest)
  const family = findFamily(traits, operation, request)
  // All routes with operations under one pattern belong to this family, also where the method is that of a model list.
  if (operation !== undefined) {
    return { family, protocol: PROTOCOL_OF_FAMILY.content, route: nameOperation(traits.template, operation) }
  }
  return { family, protocol: traits.protocol ?? PROTOCOL_OF_FAMILY[family], route: traits.template }
}

/** Describes a request for the path of a route that does not serve its method: several families may have routes with this path. */
export function describeWrongMethod(traits: RouteTraits, request: RoutedRequest): RouteDescription {
  const family = familyOfPath(request.path, request.headers, request.query)
  const { route, protocol } = describeRoute({ ...traits, family }, request)
  return { family, protocol, route }
}

function findFamily(
  { family, readOperation }: RouteTraits,
  operation: string | undefined,
  request: RoutedRequest
): Family {
  if (family === 'by-client') return detectModelsFamily(request.headers, request.query)
  // Without an operation the path is that of a model, which all families have.
  if (readOperation === undefined || operation !== undefined) return family
  return familyOfPath(request.path, request.headers, request.query)
}

/** One text for each operation: observers look their memory up by it, and a new text would be hashed and compared each time. */
const nameOperation = rememberCombinations((template: string, operation: string) => `${template}:${operation}`)

function readApiMode(prefix: string): ApiMode | undefined {
  if (prefix === '/v1' || prefix.startsWith('/v1/')) return 'v1'
  if (prefix === '/v2' || prefix.startsWith('/v2/')) return 'v2'
  return undefined
}
