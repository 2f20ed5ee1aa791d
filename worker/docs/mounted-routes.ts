// The routes of the application as they are mounted, in the words of the documentation.
import type { RouteTraits } from '../http/route-traits.ts'

/** The names of the security schemes of the gateway key. */
export type KeyCarrier = 'bearer' | 'headerKey' | 'googleHeaderKey' | 'queryApiKey' | 'queryKey'

export interface MountedRoute {
  method: 'get' | 'post'
  /** With its prefix, such as `/v1/models/{model}`. */
  template: string
  /** Such as `/v1`; '' for the root. */
  prefix: string
  /** Without its prefix. */
  path: string
  family: RouteTraits['family']
  access: RouteTraits['access']
}

/** The paths of this documentation, the root that leads to it, and the page of the admin API. */
const UNLISTED = /^\/(?:$|docs(?:\/|$)|redoc$|openapi\.json$|_admin\/ui(?:\/|$))/

const PREFIX = /^(?:\/v[12])?(?:\/v1beta)?(?=\/)/

/**
 * Reads one mounted route; a route with several methods gives several. The root, the pages of the documentation, the metrics and `HEAD`
 * give none.
 */
export function readMountedRoute(
  { method, config }: { method: string | readonly string[]; config?: { traits?: RouteTraits | undefined } | undefined },
  { metricsPath }: { metricsPath: string }
): MountedRoute[] {
  const traits = config?.traits
  if (traits === undefined || UNLISTED.test(traits.template) || traits.template === metricsPath) return []
  const { template, family, access } = traits
  const prefix = PREFIX.exec(template)?.[0] ?? ''
  const described = { template, prefix, path: template.slice(prefix.length), family, access }
  return [method].flat().flatMap(word => {
    const name = word.toLowerCase()
    return name === 'get' || name === 'post' ? [{ method: name, ...described }] : []
  })
}
