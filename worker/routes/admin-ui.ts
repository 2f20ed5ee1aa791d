// Mounts the dashboard of the admin API. Its page and files hold no data and need no key; the key is entered in the page, which sends it
// with every request to the admin API. Loaded only where `GATEWAY_ADMIN_API_ENABLED` is on.
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'
import { readDashboard } from '../dashboard/assets.ts'
import { systemTraits } from '../http/request/route-traits.ts'
import { sendWhole } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'

const PAGE = '/_admin/ui'

/**
 * The page loads only files of this gateway and talks to no other host. Records are written by clients, so no text may become markup or
 * script: there is no inline script or style, and the script itself cannot turn text into markup.
 */
const PAGE_HEADERS = [
  'content-security-policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
  'cache-control',
  'no-cache'
]

const ASSET_HEADERS = ['x-content-type-options', 'nosniff', 'cache-control', 'public, max-age=31536000, immutable']

const NOT_BUILT_HEADERS = ['x-content-type-options', 'nosniff', 'cache-control', 'no-store']

const NOT_BUILT = 'The dashboard has not been built. Run `npm run build` in the checkout of the gateway.\n'

/** Mounts `/_admin/ui` and the files that the page loads. They are read with the first request, and again while they are missing. */
export function registerAdminUiRoutes(app: FastifyInstance): void {
  let reading: ReturnType<typeof readDashboard> | undefined
  async function read() {
    reading ??= readDashboard()
    const dashboard = await reading.catch((error: unknown) => {
      reading = undefined
      throw error
    })
    if (dashboard === undefined) reading = undefined
    return dashboard
  }

  function mount(url: string, template: string, handler: RouteHandlerMethod): void {
    app.route({ method: ['GET', 'HEAD'], url, config: { traits: systemTraits(template) }, handler })
  }

  mount(PAGE, PAGE, async (_request, reply) => {
    const dashboard = await read()
    if (dashboard === undefined) return sendNotBuilt(reply)
    sendWhole(reply, {
      status: 200,
      contentType: 'text/html; charset=utf-8',
      headers: PAGE_HEADERS,
      body: dashboard.page
    })
  })
  mount(`${PAGE}/:name`, `${PAGE}/{name}`, async ({ params }, reply) => {
    const asset = (await read())?.assets.get((params as { name: string }).name)
    if (asset === undefined) throw new GatewayError('unknown_url')
    sendWhole(reply, { status: 200, contentType: asset.contentType, headers: ASSET_HEADERS, body: asset.body })
  })
}

function sendNotBuilt(reply: FastifyReply): void {
  sendWhole(reply, {
    status: 503,
    contentType: 'text/plain; charset=utf-8',
    headers: NOT_BUILT_HEADERS,
    body: NOT_BUILT
  })
}
