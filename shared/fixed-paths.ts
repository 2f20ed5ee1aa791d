// The paths of the GET routes that settings can mount. A path that the operator chooses must differ
// from them: the start checks it before any fork, and the workers, which own the routes, check it
// again.

const MODEL_PATHS = ['/v1beta/models', '/v1beta/tunedModels', '/models', '/tunedModels', '/model/info']
const ADMIN_PATHS = [
  '',
  '/tail',
  '/export.ndjson',
  '/export.csv',
  '/sums',
  '/latencies',
  '/health',
  '/running',
  '/providers'
].map(path => `/_admin/logs${path}`)

const FIXED_PATHS: ReadonlySet<string> = new Set([
  ...['/', '/v1', '/v2', '/api/hello', '/health', '/livez', '/ping', '/ready', '/readyz'],
  ...['/bridge/models', '/bridge/capabilities'],
  ...['', '/v1', '/v2'].flatMap(prefix => MODEL_PATHS.map(path => prefix + path)),
  ...['/openapi.json', '/docs', '/redoc', '/logs', '/logs/html', '/logs/stream'],
  ...ADMIN_PATHS,
  '/_admin/threads',
  '/_admin/keys',
  '/_admin/ui'
])

/** Whether a route of the gateway has this path, or files of a page stand below it. */
export function isFixedPath(path: string): boolean {
  return FIXED_PATHS.has(path) || /^\/(?:docs|_admin\/ui)\//.test(path)
}
