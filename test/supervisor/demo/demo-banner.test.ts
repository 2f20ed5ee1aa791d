import t from 'tap'
import { type DemoFacts, writeBaseUrl, writeDemoBanner } from '../../../supervisor/demo/demo-banner.ts'

const facts: DemoFacts = {
  address: { host: '127.0.0.1', port: 8090 },
  isTls: false,
  isAuthRequired: false,
  model: 'GigaChat-2-Max',
  controlUrl: 'http://127.0.0.1:9/__control',
  logFile: 'gateway.log',
  dashboard: { adminKey: undefined }
}

t.test('the banner shows the base URL, the control URL and a request per family that can be pasted', async t => {
  const banner = writeDemoBanner(facts)
  t.match(banner, 'http://127.0.0.1:8090\n')
  t.match(banner, 'http://127.0.0.1:9/__control')
  t.match(banner, 'http://127.0.0.1:8090/docs\n')
  const requests = [...banner.matchAll(/curl (\S+) .*?-d '(.*?)'\n/gs)].map(([, url, body]) => [
    url,
    JSON.parse(String(body))
  ])
  t.same(
    requests.map(([url]) => url),
    ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1beta/models/GigaChat-2-Max:generateContent'].map(
      path => `http://127.0.0.1:8090${path}`
    )
  )
  t.same(requests[0]?.[1], { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'Hello!' }] })
  t.notMatch(banner, /authorization/)
})

t.test('with authentication on it names the variable of the key', async t => {
  t.match(writeDemoBanner({ ...facts, isAuthRequired: true }), '"authorization: Bearer $GATEWAY_API_KEY"')
})

t.test('it shows the page of the admin API with the key of this run, or names the variable of the key', async t => {
  const address = '  Requests as they end    http://127.0.0.1:8090/_admin/ui\n'
  t.match(
    writeDemoBanner({ ...facts, dashboard: { adminKey: '0123abcd' } }),
    `${address}  Admin key for the page  0123abcd\n`
  )
  t.match(writeDemoBanner(facts), `${address}  Admin key for the page  the value of GATEWAY_ADMIN_API_KEY\n`)
  t.notMatch(writeDemoBanner({ ...facts, dashboard: undefined }), /_admin|ADMIN/)
})

t.test('an unspecified address is shown as loopback, IPv6 in brackets', async t => {
  t.equal(writeBaseUrl({ host: '0.0.0.0', port: 1 }, false), 'http://127.0.0.1:1')
  t.equal(writeBaseUrl({ host: '::', port: 1 }, true), 'https://127.0.0.1:1')
  t.equal(writeBaseUrl({ host: '::1', port: 1 }, false), 'http://[::1]:1')
  t.equal(writeBaseUrl({ host: 'localhost', port: 1 }, false), 'http://localhost:1')
})
