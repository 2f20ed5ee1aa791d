// Distinguishes an unknown path from a known path with a wrong method: the router reports "not
// found" for both.
import { lacksVerb, type RouteTraits } from './route-traits.ts'

export interface KnownPath {
  /** Methods that the path is served with, as the `allow` header lists them. */
  allow: string
  /** Of the first route that serves the path with another method. */
  traits: RouteTraits | undefined
  /** What the path has in place of the route's `*`, decoded; '' without one. */
  rest: string
}

export interface MethodTable {
  /** Adds a registered route; `traits` describes it. */
  add(pattern: string, methods: readonly string[], traits: RouteTraits | undefined): void
  /** Looks up a path without its query; undefined for one that no method is served on. */
  find(path: string): KnownPath | undefined
}

interface Entry {
  pattern: RegExp
  routes: Array<{ methods: readonly string[]; traits: RouteTraits | undefined }>
}

/**
 * The table is only used after routing failed, so a walk over all patterns is cheap enough (5 us
 * for 60 routes).
 */
export function createMethodTable(): MethodTable {
  const entries = new Map<string, Entry>()
  return {
    add(pattern, methods, traits) {
      const entry = entries.get(pattern) ?? { pattern: toRegExp(pattern), routes: [] }
      entry.routes.push({ methods, traits })
      entries.set(pattern, entry)
    },
    find(path) {
      const allowed = new Set<string>()
      let first: Pick<KnownPath, 'traits' | 'rest'> | undefined
      for (const { pattern, routes } of entries.values()) {
        const match = pattern.exec(path)
        if (match === null) continue
        const rest = decode(match[1] ?? '')
        for (const { methods, traits } of routes) {
          if (lacksVerb(traits, rest)) continue
          first ??= { traits, rest }
          for (const method of methods) allowed.add(method)
        }
      }
      // HEAD is served with every GET, so it is not listed.
      allowed.delete('HEAD')
      return first === undefined || allowed.size === 0 ? undefined : { allow: [...allowed].sort().join(', '), ...first }
    }
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * The router's pattern language as far as the gateway uses it: `:name` is one segment, `*` is the
 * rest.
 */
function toRegExp(pattern: string): RegExp {
  const source = pattern
    .split(/(:[A-Za-z_]\w*|\*)/)
    .map(part => {
      if (part === '*') return '(.*)'
      return part.startsWith(':') ? '[^/]+' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    })
    .join('')
  return new RegExp(`^${source}$`)
}
