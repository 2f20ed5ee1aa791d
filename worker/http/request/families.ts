// Decides which client protocol a request belongs to: by its path, and on the shared model lists by
// the client's headers.
import type { IncomingHttpHeaders } from 'node:http'
import type { Family, Operation } from '../../operations/operation.ts'
import { readOperationPath, rootOf, versionsOf } from '../../operations/path.ts'

/** Values of a query string, as the router parsed them. */
export type QueryValues = Readonly<Record<string, string | string[] | undefined>>

/**
 * Family of the shared `/models` routes, from what the SDKs say about themselves (bridge.md 6.3).
 * The messages headers win over the content headers, because that SDK is also used through proxies
 * that add Google headers.
 */
export function detectModelsFamily(headers: IncomingHttpHeaders, query: QueryValues): Family {
  const userAgent = headers['user-agent']?.toLowerCase() ?? ''
  if (headers['anthropic-version'] !== undefined || headers['anthropic-beta'] !== undefined) return 'messages'
  if (userAgent.startsWith('anthropic/')) return 'messages'
  if (
    headers['x-goog-api-client'] !== undefined ||
    headers['x-goog-api-key'] !== undefined ||
    headers['x-goog-user-project'] !== undefined ||
    query.key !== undefined
  ) {
    return 'content'
  }
  const isContentAgent =
    userAgent.includes('google-generative-ai') || userAgent.startsWith('google-genai') || userAgent.startsWith('genai/')
  return isContentAgent ? 'content' : 'completions'
}

/**
 * Family whose error form is used for a path that no route serves (operations.md 1.1). The path is
 * repaired and without its query.
 */
export type FindFamily = (path: string, headers: IncomingHttpHeaders, query: QueryValues) => Family

/** Roots of the completions protocol that the gateway does not serve. */
const UNSERVED_ROOTS = ['completions', 'files', 'batches']

interface Root {
  readonly family: Operation['family']
  /** Of the operations with a verb below this root. */
  readonly verbFamily?: Family
}

/** Creates the search by the roots and the versions of the operations. */
export function createFamilyFinder(operations: readonly Operation[]): FindFamily {
  const roots = readRoots(operations)
  const verbs = readVerbs(operations)
  return (path, headers, query) => {
    const segments = path.split('/').filter(segment => segment !== '')
    // Clients of this family read no other form, so the path before the operation does not count.
    const verb = /:(\w+)$/.exec(segments.at(-1) ?? '')?.[1]
    const verbFamily = verb === undefined ? undefined : verbs.get(verb)
    if (verbFamily !== undefined) return verbFamily
    const isVersioned = isContract(segments[0])
    const root = roots.get((isVersioned ? segments[1] : segments[0]) ?? '')
    if (root === undefined) return isVersioned ? 'completions' : 'system'
    if (root.family !== 'by-client') return root.family
    const hasVerb = segments.at(-1)?.includes(':') === true
    return (hasVerb ? root.verbFamily : undefined) ?? detectModelsFamily(headers, query)
  }
}

/** The families of the operations that a verb names, by verb. */
function readVerbs(operations: readonly Operation[]): Map<string, Family> {
  return new Map(
    operations.flatMap((operation): Array<[string, Family]> => {
      const { verb } = readOperationPath(operation)
      return verb === undefined || operation.family === 'by-client' ? [] : [[verb, operation.family]]
    })
  )
}

function readRoots(operations: readonly Operation[]): Map<string, Root> {
  const roots = new Map<string, Root>(UNSERVED_ROOTS.map(root => [root, { family: 'completions' }]))
  for (const operation of operations) {
    const { family } = operation
    const { verb } = readOperationPath(operation)
    for (const prefix of operation.prefixes) {
      const version = versionsOf(prefix).find(segment => !isContract(segment))
      const name = version ?? rootOf(operation).split('/')[0] ?? ''
      const known = roots.get(name)
      const isByClient = family === 'by-client' || known?.family === 'by-client'
      const verbFamily = known?.verbFamily ?? (verb === undefined || family === 'by-client' ? undefined : family)
      roots.set(name, {
        family: isByClient ? 'by-client' : (known?.family ?? family),
        ...(verbFamily === undefined ? {} : { verbFamily })
      })
    }
  }
  return roots
}

/** Whether a segment selects a contract of the native upstream. */
function isContract(segment: string | undefined): boolean {
  return segment === 'v1' || segment === 'v2'
}
