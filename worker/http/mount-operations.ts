// Mounts the operations of the table under their prefixes. All of them need the gateway key while
// authentication is on, and take upstream authorization.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { GatewayError } from '../normalized/index.ts'
import type { Operation } from '../operations/operation.ts'
import { type OperationPath, readOperationPath, versionsOf, writeTemplate } from '../operations/path.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import { type RouteTraits, readWildcard, type VerbOperation } from './request/route-traits.ts'

/**
 * The decoded parameters of a path by the names that its operation gives them; a rest of the path
 * is without its verb.
 */
export type PathParameters = Readonly<Record<string, string>>

/** Responds to one operation. An error that it raises is sent in the family's form. */
export type OperationHandler = (
  request: FastifyRequest,
  reply: FastifyReply,
  path: PathParameters
) => void | Promise<void>

/** A handler for each operation by its id. */
export type OperationHandlers<Id extends string = string> = Readonly<Record<Id, OperationHandler>>

/** Raises an `Error` for an operation without a handler. */
export function mountOperations(
  app: FastifyInstance,
  operations: readonly Operation[],
  handlers: OperationHandlers
): void {
  const entries = operations.map(operation => ({ operation, path: readOperationPath(operation) }))
  for (const prefix of new Set(operations.flatMap(({ prefixes }) => prefixes))) {
    const below = entries.filter(({ operation }) => operation.prefixes.includes(prefix))
    for (const pattern of new Set(below.map(({ path }) => path.pattern))) {
      const sharing = below.filter(({ path }) => path.pattern === pattern)
      for (const method of new Set(sharing.map(({ operation }) => operation.method))) {
        mountRoute(app, { prefix, pattern, method, sharing }, handlers)
      }
    }
  }
}

interface Entry {
  readonly operation: Operation
  readonly path: OperationPath
}

interface Route {
  readonly prefix: string
  readonly pattern: string
  readonly method: Operation['method']
  /** The operations of all methods that have this pattern below this prefix. */
  readonly sharing: readonly Entry[]
}

function mountRoute(app: FastifyInstance, route: Route, handlers: OperationHandlers): void {
  const { prefix, pattern, method, sharing } = route
  const served = sharing.filter(({ operation }) => operation.method === method)
  const plain = served.find(({ path }) => path.verb === undefined)
  const described = plain ?? served[0]
  if (described === undefined) return
  const { operation, path } = described
  const apiMode = readApiMode(prefix)
  const traits: RouteTraits = {
    template: prefix + path.template,
    prefix,
    operation: plain?.operation,
    verbs: readVerbs(prefix, sharing),
    needsVerb: plain === undefined,
    family: operation.family,
    protocol: operation.protocol,
    access: 'api-key',
    takesUpstreamAuthorization: true,
    isModelRequest: served.some(entry => entry.operation.isModelRequest),
    ...(apiMode === undefined ? {} : { apiMode })
  }
  app.route({
    method: method === 'GET' ? ['GET', 'HEAD'] : method,
    url: prefix + pattern,
    config: { traits },
    handler: createRouteHandler(served, handlers)
  })
}

function readVerbs(prefix: string, sharing: readonly Entry[]): RouteTraits['verbs'] {
  const verbs = sharing.flatMap(
    ({ operation, path }): Array<[string, VerbOperation]> =>
      path.verb === undefined ? [] : [[path.verb, { operation, template: prefix + writeTemplate(path) }]]
  )
  return verbs.length === 0 ? undefined : new Map(verbs)
}

/**
 * The handler of a route: that of its only operation, or that of the operation which the verb
 * names.
 */
function createRouteHandler(served: readonly Entry[], handlers: OperationHandlers): RouteHandlerMethod {
  const byVerb = new Map(served.map(entry => [entry.path.verb, bindHandler(entry, handlers)]))
  const plain = byVerb.get(undefined)
  if (byVerb.size === 1 && plain !== undefined) return plain
  return (request, reply) => {
    const rest = readWildcard(request)
    const handle = byVerb.get(rest.slice(rest.lastIndexOf(':') + 1)) ?? plain
    // A path without a known verb was refused before, where the route has no operation for it.
    if (handle === undefined) throw new GatewayError('unknown_url')
    return handle(request, reply)
  }
}

function bindHandler({ operation, path }: Entry, handlers: OperationHandlers) {
  const handle = handlers[operation.id]
  if (handle === undefined) throw new Error(`The operation ${operation.id} has no handler.`)
  const hasParameters = path.segments.length > 0 || path.rest !== undefined
  return (request: FastifyRequest, reply: FastifyReply) =>
    handle(request, reply, hasParameters ? readPathParameters(path, request.params) : NO_PARAMETERS)
}

const NO_PARAMETERS: PathParameters = {}

/** Raises `unknown_url`: the router lets a segment be empty, but that is no path of its own. */
function readPathParameters({ segments, rest, verb }: OperationPath, params: unknown): PathParameters {
  const given = params as Readonly<Record<string, string>>
  const read: Record<string, string> = {}
  for (const name of segments) {
    const value = given[name]
    if (value === undefined || value === '') throw new GatewayError('unknown_url')
    read[name] = value
  }
  const { '*': text = '' } = given
  if (rest !== undefined) read[rest] = verb === undefined ? text : text.slice(0, -verb.length - 1)
  return read
}

function readApiMode(prefix: string): ApiMode | undefined {
  const [version] = versionsOf(prefix)
  return version === 'v1' || version === 'v2' ? version : undefined
}
