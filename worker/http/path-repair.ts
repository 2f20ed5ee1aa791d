// Repairs request paths before routing: SDKs add a prefix to base URLs that already have one, and
// proxies add another in front of both. The repaired path is routed without a redirect, which would
// lose the body (operations.md 3.2).

/** Paths with these roots may end with one slash; system routes may not. */
const FAMILY_ROOTS = new Set([
  'v1',
  'v2',
  'v1beta',
  'chat',
  'models',
  'tunedModels',
  'embeddings',
  'responses',
  'messages',
  'model'
])

const ROOTS = new Set([...FAMILY_ROOTS, 'files', 'batches', 'bridge', 'health', 'ping', 'ready'])

const VERSIONS = new Set(['v1', 'v2', 'v1beta'])

/** Paths that start with these are never changed: `/_admin/logs/models` names a log record, not a model list. */
const FIXED_ROOTS = new Set(['_admin', '_debug', 'logs', 'docs', 'redoc', 'openapi.json'])

/** The paths of explanations end in the name of a family, which may be that of a route. */
const EXPLAIN_PATH = /^\/debug\/explain\//

export interface PathRepairOptions {
  /** The path of the metrics, such as `/metrics`; it is never rewritten. */
  metricsPath: string
}

/**
 * The request target to route: the path repaired, the query as it came. Repairing a repaired target changes nothing.
 * Takes the target of the request line, also in its absolute form (`http://host/path`).
 */
export function repairPath(target: string, options: PathRepairOptions): string {
  const local = toLocalTarget(target)
  const queryStart = local.indexOf('?')
  const path = queryStart === -1 ? local : local.slice(0, queryStart)
  if (path === options.metricsPath || path.startsWith(`${options.metricsPath}/`)) return local
  const repaired = repairKnown(path)
  if (repaired === path) return local
  return queryStart === -1 ? repaired : repaired + local.slice(queryStart)
}

/** A client that is configured with a forward proxy sends the whole URL; only its path and query are routed. */
export function toLocalTarget(target: string): string {
  if (target.startsWith('/')) return target
  const authority = /^https?:\/\/[^/?]*/i.exec(target)
  if (authority === null) return target
  const rest = target.slice(authority[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Repaired paths by given path, a bounded number of them: clients send the same few paths again and again. */
const repairedPaths = new Map<string, string>()
const REPAIRED_PATHS_MAX = 512

function repairKnown(path: string): string {
  const known = repairedPaths.get(path)
  if (known !== undefined) return known
  const repaired = repairSegments(path)
  if (repairedPaths.size < REPAIRED_PATHS_MAX) repairedPaths.set(path, repaired)
  return repaired
}

function repairSegments(path: string): string {
  const segments = path.split('/').filter(segment => segment !== '')
  const first = segments[0]
  if (first === undefined || FIXED_ROOTS.has(first) || EXPLAIN_PATH.test(path)) return path
  const rootIndex = segments.findIndex(segment => ROOTS.has(segment))
  if (rootIndex === -1) return path
  const known = segments.slice(rootIndex)
  const kept = collapseVersions(known)
  const isTrailingSlashForgiven = path.endsWith('/') && FAMILY_ROOTS.has(kept[0] ?? '')
  return rootIndex > 0 || kept.length < known.length || isTrailingSlashForgiven ? `/${kept.join('/')}` : path
}

/**
 * Removes inner versions, and unknown segments in front of them (`/v2/openai/v1/…`): equal versions become one, and the outer `/v2` wins
 * over a `/v1` before a known root.
 */
function collapseVersions(segments: readonly string[]): readonly string[] {
  const [outer = ''] = segments
  if (!VERSIONS.has(outer)) return segments
  let keptFrom = 1
  for (;;) {
    const innerIndex = findRoot(segments, keptFrom)
    const inner = segments[innerIndex] ?? ''
    const isBeforeRoot = ROOTS.has(segments[innerIndex + 1] ?? '')
    if (inner === outer || (outer === 'v2' && inner === 'v1' && isBeforeRoot)) {
      keptFrom = innerIndex + 1
      continue
    }
    // The routes of `v1beta` exist below each outer version.
    if (inner === 'v1beta') keptFrom = innerIndex
    return keptFrom === 1 ? segments : [outer, ...segments.slice(keptFrom)]
  }
}

/** The index of the first known root from `start` on; -1 without one. */
function findRoot(segments: readonly string[], start: number): number {
  for (let index = start; index < segments.length; index += 1) if (ROOTS.has(segments[index] ?? '')) return index
  return -1
}
