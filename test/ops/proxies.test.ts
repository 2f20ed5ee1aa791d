// What can be read from the proxy sites. Tests of deployment run them; Traefik comes in a package that not every machine has, so its files are
// compared with the rules of the guide to deployment here as well.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { parseSettings } from '../../shared/settings.ts'

const read = (file: string) => parse(readFileSync(join(import.meta.dirname, '../../ops/proxies/traefik', file), 'utf8'))
const start = read('traefik.yaml')
const { http, tls } = read('gateway.yaml')
const router = http.routers['llm-gateway']
const { loadBalancer } = http.services['llm-gateway']
const transport = http.serversTransports['llm-gateway']

t.test('its parts name each other', async t => {
  t.strictSame(router.entryPoints, Object.keys(start.entryPoints))
  t.equal(router.service, 'llm-gateway')
  t.equal(loadBalancer.serversTransport, 'llm-gateway')
  t.equal(start.providers.file.filename, '/etc/traefik/gateway.yaml')
  t.match(tls.certificates, [{ certFile: /\.pem$/, keyFile: /\.pem$/ }])
})

t.test('what operators use has no route', async t => {
  const [, pattern = ''] = /!PathRegexp\(`(.+)`\)$/.exec(router.rule) ?? []
  const isInternal = (path: string) => new RegExp(pattern).test(path)
  for (const path of ['/metrics', '/_admin/logs', '/_admin', '/_debug/translate', '/logs/5'])
    t.ok(isInternal(path), path)
  for (const path of ['/v1/models', '/v1/logs', '/metricsx', '/ready']) t.notOk(isInternal(path), path)
})

t.test('nothing is cut off, and no connection is used that the gateway closes', async t => {
  const { readTimeout, writeTimeout } = start.entryPoints.websecure.transport.respondingTimeouts
  t.strictSame([readTimeout, writeTimeout], ['0s', '0s'])
  t.equal(transport.forwardingTimeouts.responseHeaderTimeout, '0s')
  t.ok(Number.parseInt(transport.forwardingTimeouts.idleConnTimeout, 10) < 75)
  t.equal(start.entryPoints.websecure.http.encodedCharacters.allowEncodedSlash, true)
  t.strictSame(loadBalancer.healthCheck.path, '/ready')
})

t.test('decisions.md 115: its log has no query and no header', async t => {
  t.strictSame(start.accessLog.fields, { queryParameters: { defaultMode: 'drop' }, headers: { defaultMode: 'drop' } })
})

t.test('each proxy closes an idle connection before the gateway does', async t => {
  const idle: Readonly<Record<string, RegExp>> = {
    'nginx.conf': /^ {2}keepalive_timeout (\d+)s;/m,
    Caddyfile: /keepalive (\d+)s/,
    // Idle ones are closed after that, and one that belongs to a client's connection with it.
    'haproxy.cfg': /timeout http-keep-alive (\d+)s/,
    'envoy.yaml': /common_http_protocol_options: \{idle_timeout: (\d+)s\}\n {6}#/,
    'traefik/gateway.yaml': /idleConnTimeout: (\d+)s/
  }
  const { keepAliveSeconds } = parseSettings({})
  for (const [file, pattern] of Object.entries(idle)) {
    const [, seconds] = pattern.exec(readFileSync(join(import.meta.dirname, '../../ops/proxies', file), 'utf8')) ?? []
    t.ok(Number(seconds) > 0 && Number(seconds) < keepAliveSeconds, `${file} ${seconds}`)
  }
})
