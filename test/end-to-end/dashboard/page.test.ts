// The page and its files as a worker serves them.
import t from 'tap'
import { buildDashboard } from '../../../ops/dashboard/build.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

t.before(buildDashboard)

t.test('the page and its files need no key, hold no inline script or style and name no other host', async t => {
  const { url } = await startWorker(t, workerOptions(parseSettings({ GATEWAY_ADMIN_API_ENABLED: 'True' })))
  const page = await fetch(`${url}/_admin/ui`)
  const html = await page.text()
  t.match(page, { status: 200 })
  t.match(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.equal(page.headers.get('cache-control'), 'no-cache')
  t.match(page.headers.get('content-security-policy'), /default-src 'none'.*require-trusted-types-for 'script'/)
  t.notMatch(page.headers.get('content-security-policy'), /unsafe/)
  t.notMatch(html, /<style|style=|<script(?![^>]* src=)| on\w+=|https?:/)

  const files = [...html.matchAll(/(?:src|href)="\.\/(ui\/[^"]+)"/g)].map(([, path]) => path)
  t.equal(files.length, 2, 'a script and a style sheet')
  for (const path of files) {
    const response = await fetch(`${url}/_admin/${path}`)
    const { headers } = response
    t.equal(response.status, 200)
    t.match(headers.get('content-type'), path?.endsWith('.js') ? /^text\/javascript/ : /^text\/css/)
    t.match(headers.get('cache-control'), /immutable/)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    await response.body?.cancel()
  }
  t.equal((await fetch(`${url}/_admin/ui`, { method: 'HEAD' })).status, 200)
  for (const path of ['x.js', '..%2Findex.html', '%2e%2e%2findex.html']) {
    const response = await fetch(`${url}/_admin/ui/${path}`)
    t.match(await response.json(), { error: { code: 'not_found' } }, path)
  }
})

t.test('without the admin API there is no page', async t => {
  const { url } = await startWorker(t, workerOptions(parseSettings({})))
  t.equal((await fetch(`${url}/_admin/ui`)).status, 404)
})
