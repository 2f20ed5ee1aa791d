// The family of a request, and how logs and metrics name what it asks for (operations.md 7.4).
import type { FastifyRequest } from 'fastify'
import { type Family, type Operation, PROTOCOL_OF_FAMILY, type Protocol } from '../../operations/operation.ts'
import { detectModelsFamily, type FindFamily, type QueryValues } from './families.ts'
import type { MethodTable } from './method-table.ts'
import { findVerb, type RouteTraits } from './route-traits.ts'

export interface RouteDescription {
  family: Family
  protocol: Protocol
  /** Template of the route, or `unmatched`. */
  route: string
  /**
   * Undefined for system routes, for paths that no route serves and where a needed verb is missing.
   */
  operation: Operation | undefined
}

export interface DescribedRequest extends Pick<FastifyRequest, 'headers'> {
  /** Repaired, without the query. */
  path: string
  query: QueryValues
}

export interface RequestDescriber {
  /**
   * Describes a request for its matched route; `rest` is the decoded text in place of the pattern's
   * `*`.
   */
  describeRoute(traits: RouteTraits, request: DescribedRequest, rest: string): RouteDescription
  /**
   * Describes a request that no route serves: on a path that another method serves it counts under
   * that path's route.
   */
  describePath(request: DescribedRequest): RouteDescription
}

export function createRequestDescriber({
  methods,
  findFamily
}: {
  methods: MethodTable
  findFamily: FindFamily
}): RequestDescriber {
  function findRouteFamily({ family, verbs }: RouteTraits, hasVerb: boolean, request: DescribedRequest): Family {
    const { path, headers, query } = request
    if (family === 'by-client') return detectModelsFamily(headers, query)
    // Without a verb the path is that of a model, which all families have.
    return verbs === undefined || hasVerb ? family : findFamily(path, headers, query)
  }

  return {
    describeRoute(traits, request, rest) {
      const named = findVerb(traits, rest)
      return describe(traits, named, findRouteFamily(traits, named !== undefined, request))
    },
    describePath({ path, headers, query }) {
      const known = methods.find(path)
      // Several families may have routes with this path.
      const family = findFamily(path, headers, query)
      if (known?.traits === undefined) return { family, protocol: 'system', route: 'unmatched', operation: undefined }
      return describe(known.traits, findVerb(known.traits, known.rest), family)
    }
  }
}

function describe(
  { operation, protocol, template }: RouteTraits,
  named: ReturnType<typeof findVerb>,
  family: Family
): RouteDescription {
  if (named === undefined) {
    return { family, protocol: protocol ?? PROTOCOL_OF_FAMILY[family], route: template, operation }
  }
  // The protocol is that of the verb, also where the method is that of a model list.
  const { family: verbFamily, protocol: verbProtocol } = named.operation
  const protocolFamily = verbFamily === 'by-client' ? family : verbFamily
  return {
    family,
    protocol: verbProtocol ?? PROTOCOL_OF_FAMILY[protocolFamily],
    route: named.template,
    operation: named.operation
  }
}
