// What is no traffic record unless the operator wants it (decisions.md 96): requests that programs repeat by themselves, and files of pages.
// They would fill the store, and hide the requests that an operator looks for.

/** Templates of the routes by which orchestrators and balancers see whether a gateway is alive. Their access lines are left out as well. */
export const PROBE_ROUTES = ['/health', '/ping', '/livez', '/ready', '/readyz'] as const

/** In a list of routes that are left out it stands for the path of the metrics, wherever that is. */
const METRICS = '/metrics'

/** The value of `GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES` where it is not set. */
export const UNRECORDED_ROUTES: readonly string[] = Object.freeze([
  ...PROBE_ROUTES,
  // Clients and balancers ask for these to see whether a server is there.
  ...['/', '/v1', '/v2', '/api/hello'],
  METRICS,
  ...['/docs/{asset}', '/favicon.ico', '/_admin/ui', '/_admin/ui/{name}'],
  // The dashboard repeats these reads while it is open.
  ...['', '/tail', '/sums', '/latencies', '/health', '/running', '/providers'].map(path => `/_admin/logs${path}`),
  '/_admin/keys'
])

/** Whether a request is left out: by the template of its route, or by its path where nothing serves that. */
export function createRouteFilter(
  excluded: readonly string[],
  { metricsPath }: { metricsPath: string }
): (request: { readonly route: string; readonly path: string }) => boolean {
  const names = new Set(excluded)
  if (names.has(METRICS)) names.add(metricsPath)
  return ({ route, path }) => names.has(route) || (route === 'unmatched' && names.has(path))
}
