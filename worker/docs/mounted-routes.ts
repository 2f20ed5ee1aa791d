// The routes of the application as they are mounted, in the words of the documentation.
import type { RouteTraits } from '../http/request/route-traits.ts'
import type { Operation } from '../operations/operation.ts'
import { DOCUMENT_METHODS, type RouteDocument } from './operation.ts'

/** The names of the security schemes of the gateway key. */
export type KeyCarrier = 'bearer' | 'headerKey' | 'googleHeaderKey' | 'queryApiKey' | 'queryKey'

export interface MountedRoute {
  method: RouteDocument['method']
  /** With its prefix, such as `/v1/models/{model}:countTokens`. */
  template: string
  /** Such as `/v1`; '' for the root. */
  prefix: string
  /** Without its prefix. */
  path: string
  /** Undefined for a system route. */
  operation: Operation | undefined
  access: RouteTraits['access']
}

/** The paths of this documentation, the root that leads to it, and the page of the admin API. */
const UNLISTED = /^\/(?:$|docs(?:\/|$)|redoc$|openapi\.json$|_admin\/ui(?:\/|$))/

const documentMethods: Readonly<Partial<Record<string, MountedRoute['method']>>> = DOCUMENT_METHODS

/**
 * Reads one mounted route; a route with several methods or operations gives several. The root, the
 * pages of the documentation, the metrics and `HEAD` give none.
 */
export function readMountedRoute(
  { method, config }: { method: string | readonly string[]; config?: { traits?: RouteTraits | undefined } | undefined },
  { metricsPath }: { metricsPath: string }
): MountedRoute[] {
  const traits = config?.traits
  if (traits === undefined || UNLISTED.test(traits.template) || traits.template === metricsPath) return []
  return [method].flat().flatMap(name => {
    const listed = documentMethods[name]
    return listed === undefined ? [] : listServed(traits, name).map(served => ({ method: listed, ...served }))
  })
}

function listServed(traits: RouteTraits, method: string): Array<Omit<MountedRoute, 'method'>> {
  const { template, prefix, operation, verbs, needsVerb, access } = traits
  const plain = needsVerb === true ? [] : [{ template, operation }]
  const named = [...(verbs?.values() ?? [])].filter(verb => verb.operation.method === method)
  return [...plain, ...named].map(served => ({
    ...served,
    prefix,
    path: served.template.slice(prefix.length),
    access
  }))
}
