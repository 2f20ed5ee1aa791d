// The facts of a route that the stages before its handler need. Each route declares them once, when
// it is mounted.
import type { FastifyRequest } from 'fastify'
import type { Operation, Protocol } from '../../operations/operation.ts'
import type { ApiMode } from '../../protocols/provider-face.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    traits?: RouteTraits
  }
}

export interface RouteTraits {
  /** Path as metrics and logs show it, such as `/v1/models/{model}`. */
  template: string
  /** Prefix of the template, such as `/v1`; '' for the root and for system routes. */
  prefix: string
  /**
   * The operation that the pattern alone names; undefined for system routes and where a verb names
   * it.
   */
  operation?: Operation | undefined
  /**
   * The operations that share the pattern and are named by a verb behind the last colon, by verb,
   * those of other methods included.
   */
  verbs?: ReadonlyMap<string, VerbOperation> | undefined
  /** The route serves only paths with a verb. */
  needsVerb?: boolean
  /** `by-client`: the shared model lists, whose form depends on the client's headers. */
  family: Operation['family']
  /** For logs and metrics where it is not the family's. */
  protocol?: Protocol | undefined
  /**
   * `api-key`: the gateway key is needed while authentication is on. `admin-key`: the admin key,
   * always and instead of the gateway key. While a keys file is in force, `file-key` needs any key,
   * and `operator-key` the default or the admin key; without one the first is open, and the second
   * is `api-key` (keys.md 2).
   */
  access: 'open' | 'api-key' | 'file-key' | 'operator-key' | 'admin-key'
  /** The bearer token may carry upstream authorization instead of the gateway key. */
  takesUpstreamAuthorization: boolean
  /** Starts model work: refused while draining, and a drain waits for it. */
  isModelRequest: boolean
  /** Upstream contract that the prefix selects; absent: the setting decides. */
  apiMode?: ApiMode
}

/** An operation that a verb names, below one prefix. */
export interface VerbOperation {
  operation: Operation
  /**
   * One text for all requests: observers look their memory up by it, and a new text would be hashed
   * and compared each time.
   */
  template: string
}

/**
 * Traits of a system route: errors have the system form, and no key is needed unless `access` says
 * so.
 */
export function systemTraits(template: string, access: RouteTraits['access'] = 'open'): RouteTraits {
  return {
    template,
    prefix: '',
    family: 'system',
    access,
    takesUpstreamAuthorization: false,
    isModelRequest: false
  }
}

/** The decoded text in place of the `*` of the matched pattern; '' without one. */
export function readWildcard({ params }: Pick<FastifyRequest, 'params'>): string {
  return (params as { '*'?: string } | undefined)?.['*'] ?? ''
}

/** The operation that the verb in this rest of a path names; undefined without a known verb. */
export function findVerb({ verbs }: Pick<RouteTraits, 'verbs'>, rest: string): VerbOperation | undefined {
  if (verbs === undefined) return undefined
  const colon = rest.lastIndexOf(':')
  return colon < 0 ? undefined : verbs.get(rest.slice(colon + 1))
}

/** True where the pattern of a route fits a path that the route does not serve. */
export function lacksVerb(traits: RouteTraits | undefined, rest: string): boolean {
  return traits?.needsVerb === true && findVerb(traits, rest) === undefined
}
