// Repairs request paths before routing: SDKs add a prefix to base URLs that already have one, and
// proxies add another in front of both. The repaired path is routed without a redirect, which would
// lose the body (operations.md 3.2).
import type { IncomingMessage } from 'node:http'
import type { Operation } from '../../operations/operation.ts'
import { rootOf, versionsOf } from '../../operations/path.ts'

/**
 * Roots besides those of the operations. Their paths may not end with a slash: they belong to the
 * system, or no route serves them.
 */
const OTHER_ROOTS = ['files', 'batches', 'bridge', 'health', 'ping', 'ready']

/**
 * Paths that start with these are never changed: `/_admin/logs/models` names a log record, not a
 * model list.
 */
const FIXED_ROOTS = new Set(['_admin', '_debug', 'logs', 'docs', 'redoc', 'openapi.json'])

/** The paths of explanations end in the name of a family, which may be that of a route. */
const EXPLAIN_PATH = /^\/debug\/explain\//

/** Versions under which clients find the operations of another one. */
const SAME_VERSIONS: ReadonlyMap<string, string> = new Map([['v1alpha', 'v1beta']])

/** The paths of Azure's clients, who do not encode the slashes of a model. */
const DEPLOYMENT_PATH = /^((?:\/v[12])?\/openai\/deployments\/)(.+?)(\/(?:chat\/completions|embeddings))$/

export interface PathRepairOptions {
  operations: readonly Operation[]
  /** The path of the metrics, such as `/metrics`; it is never rewritten. */
  metricsPath: string
}

/**
 * The request target to route: the path repaired, the query as it came. Repairing a repaired target
 * changes nothing. Takes the target of the request line, also in its absolute form
 * (`http://host/path`).
 */
export type RepairPath = (target: string) => string

const REPAIRED_PATHS_MAX = 512

export function createPathRepair({ operations, metricsPath }: PathRepairOptions): RepairPath {
  const roots = readRoots(operations)
  /**
   * Repaired paths by given path, a bounded number of them: clients send the same few paths again
   * and again.
   */
  const repairedPaths = new Map<string, string>()

  function repairKnown(path: string): string {
    const known = repairedPaths.get(path)
    if (known !== undefined) return known
    const repaired = repairSegments(path, roots)
    if (repairedPaths.size < REPAIRED_PATHS_MAX) repairedPaths.set(path, repaired)
    return repaired
  }

  return target => {
    const local = toLocalTarget(target)
    const queryStart = local.indexOf('?')
    const path = queryStart === -1 ? local : local.slice(0, queryStart)
    if (path === metricsPath || path.startsWith(`${metricsPath}/`)) return local
    const repaired = repairKnown(path)
    if (repaired === path) return local
    return queryStart === -1 ? repaired : repaired + local.slice(queryStart)
  }
}

/** Fastify keeps the target that it has rewritten. */
type RewrittenMessage = IncomingMessage & { readonly originalUrl?: string }

/** The target of the request line, as the client sent it. */
export function readTarget(incoming: IncomingMessage): string {
  const { url = '/', originalUrl = url }: RewrittenMessage = incoming
  return originalUrl
}

/**
 * A client that is configured with a forward proxy sends the whole URL; only its path and query are
 * routed.
 */
export function toLocalTarget(target: string): string {
  if (target.startsWith('/')) return target
  const authority = /^https?:\/\/[^/?]*/i.exec(target)
  if (authority === null) return target
  const rest = target.slice(authority[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** The segments at which a path may begin. */
interface Roots {
  /** The first segments of prefixes, such as `v1`. */
  readonly versions: ReadonlySet<string>
  /** Versions that stand behind another one, such as `v1beta` in `/v1/v1beta`. */
  readonly innerVersions: ReadonlySet<string>
  /** Versions and roots of operations: these paths may end with one slash. */
  readonly ofOperations: ReadonlySet<string>
  readonly others: ReadonlySet<string>
}

function readRoots(operations: readonly Operation[]): Roots {
  const prefixes = operations.flatMap(operation => operation.prefixes).map(versionsOf)
  return {
    versions: withSameVersions(prefixes.flatMap(([first]) => first ?? [])),
    innerVersions: withSameVersions(prefixes.flatMap(([, second]) => second ?? [])),
    ofOperations: withSameVersions([...prefixes.flat(), ...operations.map(rootOf)]),
    others: new Set(OTHER_ROOTS)
  }
}

function withSameVersions(names: readonly string[]): Set<string> {
  const known = new Set(names)
  for (const [name, same] of SAME_VERSIONS) if (known.has(same)) known.add(name)
  return known
}

/** Whether an operation or a version begins at this segment. */
function isOperationRoot({ ofOperations }: Roots, segments: readonly string[], index: number): boolean {
  const segment = segments[index]
  if (segment === undefined) return false
  return ofOperations.has(segment) || ofOperations.has(`${segment}/${segments[index + 1]}`)
}

function isRoot(roots: Roots, segments: readonly string[], index: number): boolean {
  return isOperationRoot(roots, segments, index) || roots.others.has(segments[index] ?? '')
}

function repairSegments(path: string, roots: Roots): string {
  const segments = path.split('/').filter(segment => segment !== '')
  const first = segments[0]
  if (first === undefined || FIXED_ROOTS.has(first) || EXPLAIN_PATH.test(path)) return path
  const rootIndex = findRoot(roots, segments, 0)
  if (rootIndex === -1) return path
  const known = segments.slice(rootIndex)
  const kept = renameVersions(collapseVersions(known, roots), roots)
  const isTrailingSlashForgiven = path.endsWith('/') && isOperationRoot(roots, kept, 0)
  const isChanged = rootIndex > 0 || kept.length < known.length || kept !== known || isTrailingSlashForgiven
  return encodeDeployment(isChanged ? `/${kept.join('/')}` : path)
}

/** Replaces versions by those whose operations they are. */
function renameVersions(segments: readonly string[], { versions, innerVersions }: Roots): readonly string[] {
  const [outer = '', inner = ''] = segments
  const isBehind = versions.has(outer) && innerVersions.has(inner) && SAME_VERSIONS.has(inner)
  if (!SAME_VERSIONS.has(outer) && !isBehind) return segments
  const renamed = (segment: string) => SAME_VERSIONS.get(segment) ?? segment
  return [renamed(outer), ...(isBehind ? [renamed(inner)] : segments.slice(1, 2)), ...segments.slice(2)]
}

function encodeDeployment(path: string): string {
  return path.replace(DEPLOYMENT_PATH, (_path, before: string, model: string, after: string) =>
    [before, model.replaceAll('/', '%2F'), after].join('')
  )
}

/**
 * Removes inner versions, and unknown segments in front of them (`/v2/openai/v1/…`): equal versions
 * become one, and the outer `/v2` wins over a `/v1` before a known root.
 */
function collapseVersions(segments: readonly string[], roots: Roots): readonly string[] {
  const [outer = ''] = segments
  if (!roots.versions.has(outer)) return segments
  let keptFrom = 1
  for (;;) {
    const innerIndex = findRoot(roots, segments, keptFrom)
    const inner = segments[innerIndex] ?? ''
    const isBeforeRoot = isRoot(roots, segments, innerIndex + 1)
    if (inner === outer || (outer === 'v2' && inner === 'v1' && isBeforeRoot)) {
      keptFrom = innerIndex + 1
      continue
    }
    // Their routes exist below each outer version.
    if (roots.innerVersions.has(inner)) keptFrom = innerIndex
    return keptFrom === 1 ? segments : [outer, ...segments.slice(keptFrom)]
  }
}

/** The index of the first known root from `start` on; -1 without one. */
function findRoot(roots: Roots, segments: readonly string[], start: number): number {
  for (let index = start; index < segments.length; index += 1) if (isRoot(roots, segments, index)) return index
  return -1
}

/** The part of a request target before its query. */
export function withoutQuery(target: string): string {
  const queryStart = target.indexOf('?')
  return queryStart === -1 ? target : target.slice(0, queryStart)
}
