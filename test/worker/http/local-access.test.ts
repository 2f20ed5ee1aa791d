// Who may call: by mode, authentication, bound address, host, origin, route and kind of request (decisions.md 101).
import { once } from 'node:events'
import http from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { systemTraits } from '../../../worker/http/request/route-traits.ts'
import { sendWhole } from '../../../worker/http/respond.ts'
import { mountOperation } from '../../support/operations.ts'
import { type StartedApplication, startApplication } from './support.ts'

const KEY = 'a-key-of-production'
const PORT = 8090
const OWN = `127.0.0.1:${PORT}`

/** Routes of all kinds; none of the system ones may be read by pages of other origins, except liveness. */
const ROUTES = [
  { path: '/v1/chat/completions', isShared: true },
  { path: '/v1/messages', isShared: true },
  { path: '/v1beta/models/m:generateContent', isShared: true },
  { path: '/health', isShared: true },
  { path: '/ready', isShared: false },
  { path: '/bridge/models', isShared: false },
  { path: '/_admin/logs', isShared: false },
  { path: '/_admin/ui', isShared: false },
  { path: '/_debug/translate', isShared: false },
  { path: '/logs/5', isShared: false },
  { path: '/metrics', isShared: false },
  { path: '/openapi.json', isShared: false },
  { path: '/nope', isShared: false }
] as const

function mountAll(app: Parameters<NonNullable<Parameters<typeof startApplication>[1]>['routes'] & object>[0]): void {
  const handler = (_request: unknown, reply: Parameters<typeof sendWhole>[0]) =>
    sendWhole(reply, { status: 200, body: 'served' })
  mountOperation(app, {
    method: 'POST',
    path: '/chat/completions',
    family: 'completions',
    isModelRequest: true,
    handler
  })
  mountOperation(app, { method: 'POST', path: '/messages', family: 'messages', isModelRequest: true, handler })
  for (const path of [
    '/bridge/models',
    '/_admin/logs',
    '/_admin/ui',
    '/_debug/translate',
    '/logs/5',
    '/metrics',
    '/openapi.json'
  ]) {
    app.route({ method: ['GET', 'POST'], url: path, config: { traits: systemTraits(path) }, handler })
  }
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
t.teardown(() => agent.destroy())

interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
  body: string
}

/** Sends one request over a connection that is kept; without a host in HTTP 1.0. */
async function ask(
  { port }: StartedApplication,
  { method = 'POST', path, host = OWN, origin, further = {} }: Asked
): Promise<Answer> {
  if (host === 'none') return askBefore11(port, `${method} ${path}`)
  const headers = { host, 'x-api-key': KEY, ...(origin === undefined ? {} : { origin }), ...further }
  const isUpgrade = 'upgrade' in further
  const outgoing = http.request({ port, host: '127.0.0.1', method, path, headers, agent: isUpgrade ? false : agent })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [http.IncomingMessage]
  const body = Buffer.concat(await response.toArray()).toString()
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

async function askBefore11(port: number, line: string): Promise<Answer> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`${line} HTTP/1.0\r\nx-api-key: ${KEY}\r\ncontent-length: 0\r\n\r\n`)
  const text = Buffer.concat(await socket.toArray()).toString()
  return { status: Number(text.split(' ')[1]), headers: {}, body: '' }
}

interface Asked {
  method?: string
  path: string
  host?: string | undefined
  origin?: string
  further?: Readonly<Record<string, string>>
}

const start = (t: Test, env: Record<string, string>) =>
  startApplication(t, { env: { GATEWAY_PORT: String(PORT), GATEWAY_API_KEY: KEY, ...env }, routes: mountAll })

const MODES = [
  { mode: 'DEV', auth: false, host: '127.0.0.1', isLocalOnly: true },
  { mode: 'DEV', auth: false, host: 'localhost', isLocalOnly: true },
  { mode: 'DEV', auth: false, host: '::1', isLocalOnly: true },
  { mode: 'DEV', auth: false, host: '0.0.0.0', isLocalOnly: false },
  { mode: 'DEV', auth: true, host: '127.0.0.1', isLocalOnly: false },
  { mode: 'DEV', auth: true, host: '0.0.0.0', isLocalOnly: false },
  { mode: 'PROD', auth: true, host: '127.0.0.1', isLocalOnly: false },
  { mode: 'PROD', auth: true, host: '0.0.0.0', isLocalOnly: false }
] as const

const HOSTS = [
  [OWN, true],
  [`localhost:${PORT}`, true],
  ['LOCALHOST.', true],
  ['[::1]:1', true],
  ['tools.example:8090', true],
  ['none', true],
  ['', true],
  ['evil.example:8090', false],
  ['0.0.0.0:8090', false],
  ['localhost.evil.example', false]
] as const

/** Whether pages of the origin may call, without settings for it and with those of this test. */
const ORIGINS = [
  [undefined, true],
  ['http://localhost:3000', true],
  ['https://127.0.0.1', true],
  ['http://[::1]:5173', true],
  ['https://app.example', true],
  ['https://evil.example', false],
  ['http://localhost.evil.example', false],
  ['null', false]
] as const

for (const { mode, auth, host, isLocalOnly } of MODES) {
  t.test(`decisions.md 101: ${mode}, authentication ${auth ? 'on' : 'off'}, bound to ${host}`, async t => {
    const gateway = await start(t, {
      GATEWAY_MODE: mode,
      GATEWAY_ENABLE_API_KEY_AUTH: String(auth),
      GATEWAY_HOST: host,
      GATEWAY_ALLOWED_HOSTS: 'tools.example',
      GATEWAY_CORS_ALLOW_ORIGINS: '["https://app.example"]'
    })
    for (const { path, isShared } of ROUTES) {
      for (const [host, isOwnHost] of HOSTS) {
        const { status } = await ask(gateway, { path, host })
        t.equal(status === 421, isLocalOnly && !isOwnHost, `${path} host ${host}: ${status}`)
      }
      for (const [origin, isAllowed] of ORIGINS) {
        if (origin === undefined) continue
        const name = `${path} origin ${origin}`
        const allowOrigin = isShared && isAllowed ? origin : undefined
        const simple = await ask(gateway, { path, origin, further: { 'content-type': 'text/plain' } })
        t.equal(simple.status === 403, isLocalOnly && !isAllowed, `${name}: ${simple.status}`)
        t.equal(simple.headers['access-control-allow-origin'], allowOrigin, name)
        t.equal(simple.headers['access-control-expose-headers'] !== undefined, allowOrigin !== undefined, name)
        const preflight = await ask(gateway, {
          method: 'OPTIONS',
          path,
          origin,
          further: { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' }
        })
        t.equal(preflight.status, isShared && isAllowed ? 200 : 400, `${name} preflight`)
        t.equal(preflight.headers['access-control-allow-origin'], allowOrigin, `${name} preflight`)
        if (!isShared) {
          const names = Object.keys(preflight.headers).filter(header => header.startsWith('access-control-'))
          t.same(names, [], `${name} preflight`)
        }
      }
    }
    for (const [origin, isAllowed] of ORIGINS) {
      const upgrade = await ask(gateway, {
        method: 'GET',
        path: '/v1/responses',
        ...(origin === undefined ? {} : { origin }),
        further: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA=='
        }
      })
      t.equal(upgrade.status, isAllowed ? 426 : 403, `upgrade of ${origin}`)
    }
  })
}

t.test('decisions.md 101: each family has its own form of the refusals', async t => {
  const gateway = await start(t, { GATEWAY_HOST: '127.0.0.1' })
  const paths = {
    completions: '/v1/chat/completions',
    messages: '/v1/messages',
    content: '/v1beta/models/m:generateContent',
    system: '/health',
    machine: '/ready'
  }
  const forms = {
    completions: { error: { type: 'invalid_request_error', code: 'host_not_allowed' } },
    messages: { type: 'error', error: { code: 'host_not_allowed' } },
    content: { error: { code: 421, status: 'FAILED_PRECONDITION', details: [{ reason: 'host_not_allowed' }] } },
    system: { error: { code: 'host_not_allowed' } },
    machine: { schema_version: 'gateway.error.v1', error: { code: 'host_not_allowed' } }
  }
  for (const [form, path] of Object.entries(paths)) {
    const { status, headers, body } = await ask(gateway, { path, host: 'evil.example' })
    t.equal(status, 421, form)
    t.match(JSON.parse(body), forms[form as keyof typeof forms], form)
    t.ok(headers['x-request-id'], form)
    t.notOk(body.includes('evil'), form)
    const foreign = await ask(gateway, { path, origin: 'https://evil.example' })
    t.equal(foreign.status, 403, form)
    t.ok(foreign.body.includes('GATEWAY_CORS_ALLOW_ORIGINS'), form)
  }
  const refused = gateway.logged.filter(({ event }) => event === 'request_refused')
  t.match(refused[0], { code: 'host_not_allowed' })
})

t.test('decisions.md 101: a page of the gateway itself may send requests, under an allowed name too', async t => {
  const gateway = await start(t, { GATEWAY_HOST: '127.0.0.1', GATEWAY_ALLOWED_HOSTS: '["Tools.Example:8090"]' })
  const host = 'tools.example:8090'
  const path = '/_admin/logs'
  t.equal((await ask(gateway, { path, host, origin: 'http://tools.example:8090' })).status, 200)
  t.equal((await ask(gateway, { path, host, origin: 'https://tools.example:8090' })).status, 200)
  t.equal((await ask(gateway, { path, host, origin: 'http://tools.example' })).status, 403)
  // The page of an attacker whose name leads here.
  const evil = { path, host: 'evil.example:8090', origin: 'http://evil.example:8090' }
  t.equal((await ask(gateway, evil)).status, 421)
})

t.test('decisions.md 101: the host in a target counts as well', async t => {
  const gateway = await start(t, { GATEWAY_HOST: '127.0.0.1' })
  for (const [target, status] of [
    [`http://${OWN}/health`, 405],
    ['http://localhost/health', 405],
    ['http://evil.example/health', 421],
    ['HTTP://evil.example', 421]
  ] as const) {
    t.equal((await ask(gateway, { path: target })).status, status, target)
  }
})

t.test('decisions.md 101: with the wildcard, DEV serves pages of all origins', async t => {
  const gateway = await start(t, { GATEWAY_HOST: '127.0.0.1', GATEWAY_CORS_ALLOW_ORIGINS: '["*"]' })
  const path = '/v1/messages'
  for (const origin of ['https://a.example', 'null', 'app://obsidian.md']) {
    const { status, headers } = await ask(gateway, { path, origin })
    t.equal(status, 200, origin)
    t.equal(headers['access-control-allow-origin'], origin)
  }
  t.equal(
    (await ask(gateway, { path: '/_admin/logs', origin: 'https://a.example' })).headers['access-control-allow-origin'],
    undefined
  )
})
