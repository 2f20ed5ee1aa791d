// The routes of the documentation, through a complete worker.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseSettings } from '../../../shared/settings.ts'
import { get } from '../../support/client.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

const folder = createTemporaryFolder(t)
const shared = { GATEWAY_API_KEY: 'k1', GATEWAY_LOG_FILENAME: join(folder, 'gateway.log') }
writeFileSync(shared.GATEWAY_LOG_FILENAME, 'one line\n')
const [dev, prod] = await Promise.all(
  [{}, { GATEWAY_MODE: 'PROD' }].map(env => startWorker(t, workerOptions(parseSettings({ ...shared, ...env }))))
)
const urls = { dev: dev?.url ?? '', prod: prod?.url ?? '' }

t.test('operations 4: the root leads to the documentation in DEV and states its mode in PROD', async t => {
  for (const method of ['GET', 'HEAD']) {
    const response = await fetch(`${urls.dev}/`, { method, redirect: 'manual' })
    t.equal(response.status, 307)
    t.equal(response.headers.get('location'), '/docs')
    t.equal(await response.text(), '')
  }
  t.equal((await get(`${urls.dev}/`)).headers.get('content-type'), 'text/html; charset=utf-8')
  const status = await get(`${urls.prod}/`)
  t.equal(status.status, 200)
  t.equal(status.text, '{"status":"ok","mode":"PROD"}')
  for (const alias of ['/v1', '/v2', '/api/hello'])
    t.same((await get(urls.dev + alias)).json, { status: 'ok', mode: 'DEV' })
})

t.test('operations 5: documentation and log pages are served in DEV and do not exist in PROD', async t => {
  const pages = ['/docs', '/redoc', '/openapi.json', '/logs', '/logs/5', '/logs/html']
  // The stream of DEV stays open; its head is enough.
  for (const path of [...pages, '/logs/stream']) {
    const response = await fetch(urls.dev + path, { headers: { connection: 'close' } })
    await response.body?.cancel()
    t.equal(response.status, 200, path)
    const absent = await get(urls.prod + path, { 'x-api-key': 'k1' })
    t.equal(absent.status, 404, path)
    t.same(absent.json, { error: { code: 'not_found', message: 'Not Found' } }, path)
  }
  t.equal((await get(`${urls.prod}/docs/swagger-ui-bundle.js`)).status, 404)
})

t.test('the pages and the document need no key, and HEAD is like GET', async t => {
  for (const [path, type] of [
    ['/docs', 'text/html; charset=utf-8'],
    ['/redoc', 'text/html; charset=utf-8'],
    ['/openapi.json', 'application/json'],
    ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
    ['/docs/favicon-32x32.png', 'image/png'],
    ['/docs/start.js', 'text/javascript; charset=utf-8'],
    ['/docs/docs.css', 'text/css; charset=utf-8'],
    ['/docs/reference.css', 'text/css; charset=utf-8']
  ] as const) {
    const whole = await get(urls.dev + path)
    t.equal(whole.status, 200, path)
    t.equal(whole.headers.get('content-type'), type, path)
    t.equal(whole.headers.get('x-content-type-options'), 'nosniff', path)
    t.match(whole.headers.get('cache-control'), path.startsWith('/docs/') ? /max-age=\d{4,}/ : /no-cache/, path)
    t.notMatch(whole.headers.get('referrer-policy') ?? '', /no-referrer/, path)
    const head = await fetch(urls.dev + path, { method: 'HEAD' })
    t.equal(head.status, 200, path)
    t.equal(head.headers.get('content-length'), whole.headers.get('content-length'), path)
    t.equal(await head.text(), '', path)
  }
  t.equal((await get(`${urls.dev}/docs/index.html`)).status, 404)
  t.equal((await get(`${urls.dev}/docs/..%2fassets.ts`)).status, 404)
})

t.test('the pages hold no inline script or style and name no other host', async t => {
  for (const path of ['/docs', '/redoc']) {
    const { text, headers } = await get(urls.dev + path)
    const policy = headers.get('content-security-policy') ?? ''
    t.match(policy, /default-src 'none'/)
    t.notMatch(policy, /unsafe|\*|https?:/)
    t.notMatch(text, /<script(?![^>]* src=)/)
    t.notMatch(text, /<style|\sstyle=|\son[a-z]+=/)
    t.notMatch(text, /(?:src|href)="(?:https?:)?\/\//)
  }
})
