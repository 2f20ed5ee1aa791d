import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { parseSettings } from '../../../../shared/settings.ts'
import { type CorsRoute, createCorsPolicy } from '../../../../worker/http/response/cors.ts'
import { writeFamilyLimitHeaders } from '../../../../worker/http/response/limit-headers.ts'

const CHAT: CorsRoute = { family: 'completions', route: '/v1/chat/completions' }

/** The rules of the settings, for a chat unless another route is given. */
function policy(env: Record<string, string> = {}) {
  const rules = createCorsPolicy(parseSettings(env))
  return {
    responseHeaders: (origin: string | undefined, route = CHAT) => rules.responseHeaders(origin, route),
    writePreflightResponse: (method: string, headers: IncomingHttpHeaders, route = CHAT) =>
      rules.writePreflightResponse(method, headers, route)
  }
}

const EVERY_ORIGIN = { GATEWAY_CORS_ALLOW_ORIGINS: '["*"]' }
const LOCAL = 'http://localhost:3000'

const prod = { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'k1' }

function toRecord(flat: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {}
  for (let index = 0; index < flat.length; index += 2) record[flat[index]!] = flat[index + 1]!
  return record
}

function preflight(env: Record<string, string>, headers: Record<string, string>) {
  const response = policy(env).writePreflightResponse('OPTIONS', {
    'access-control-request-method': 'POST',
    ...headers
  })
  return response === undefined ? undefined : { ...response, headers: toRecord(response.headers) }
}

t.test('in DEV origins of this machine are allowed with credentials; without an origin only vary is set', async t => {
  t.same(toRecord(policy().responseHeaders(LOCAL)), {
    vary: 'Origin',
    'access-control-allow-origin': LOCAL,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'x-request-id, request-id, retry-after, x-gateway-ignored, x-gateway-target'
  })
  t.same(policy().responseHeaders(undefined), ['vary', 'Origin'])
})

t.test('keys 6: with a keys file a browser may read what its key may still use', async t => {
  const headers = toRecord(policy({ GATEWAY_KEYS_FILE: 'keys.yaml' }).responseHeaders(LOCAL))
  const exposed = headers['access-control-expose-headers']?.split(', ') ?? []
  const meter = { limit: 1, remaining: 1, resetMs: 1 }
  const limits = { key: 'k', reserved: undefined, readMeters: () => ({ requests: meter, tokens: meter }) }
  for (const family of ['completions', 'messages'] as const) {
    const names = Object.keys(toRecord(writeFamilyLimitHeaders(family, limits, 0)))
    t.equal(names.length, 6)
    for (const name of names) t.ok(exposed.includes(name), name)
  }
  t.ok(exposed.includes('x-should-retry') && exposed.includes('retry-after'))
  t.strictSame(writeFamilyLimitHeaders('content', limits, 0), [])
  t.strictSame(writeFamilyLimitHeaders('messages', { ...limits, readMeters: () => undefined }, 0), [])
})

t.test('operations 28: a preflight in DEV is allowed the method and headers that it requests', async t => {
  const requested = { origin: 'http://a.b', 'access-control-request-headers': 'authorization,x-foo' }
  const response = preflight(EVERY_ORIGIN, requested)
  t.same(response, {
    status: 200,
    body: 'OK',
    headers: {
      vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      'access-control-allow-methods': 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT',
      'access-control-max-age': '600',
      'access-control-allow-origin': 'http://a.b',
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': 'authorization,x-foo'
    }
  })
})

t.test(
  'operations 29: in PROD the wildcard is dropped, so no origin of another machine is allowed by default',
  async t => {
    const response = preflight({ ...prod, ...EVERY_ORIGIN }, { origin: 'http://a.b' })
    t.same(preflight(prod, { origin: 'http://a.b' }), response)
    t.same(response, {
      status: 400,
      body: 'Disallowed CORS origin',
      headers: {
        vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
        'access-control-allow-methods': 'GET, POST, OPTIONS',
        'access-control-max-age': '600',
        'access-control-allow-headers':
          'Accept, Accept-Language, Content-Language, Content-Type, authorization, content-type, x-api-key, x-goog-api-key'
      }
    })
  }
)

t.test(
  'operations 30: in PROD a listed origin is allowed without credentials, another one is served without headers',
  async t => {
    const env = { ...prod, GATEWAY_CORS_ALLOW_ORIGINS: '["*", "https://app.example"]' }
    t.same(toRecord(policy(env).responseHeaders('https://app.example')), {
      vary: 'Origin',
      'access-control-allow-origin': 'https://app.example',
      'access-control-expose-headers': 'x-request-id, request-id, retry-after, x-gateway-ignored, x-gateway-target'
    })
    t.same(policy(env).responseHeaders('https://other.example'), ['vary', 'Origin'])
  }
)

t.test('the response to a refused preflight names every reason', async t => {
  const response = policy(prod).writePreflightResponse('OPTIONS', {
    origin: 'http://a.b',
    'access-control-request-method': 'DELETE',
    'access-control-request-headers': 'x-foo'
  })
  t.equal(response?.body, 'Disallowed CORS origin, method, headers')
  t.equal(response?.status, 400)
})

t.test('safelisted headers and the configured ones are allowed in upper and lower case', async t => {
  const env = { ...prod, GATEWAY_CORS_ALLOW_ORIGINS: '["https://app.example"]' }
  const headers = { origin: 'https://app.example', 'access-control-request-headers': 'Accept, X-API-KEY,content-type' }
  t.equal(preflight(env, headers)?.status, 200)
})

t.test('OPTIONS without the preflight headers, and other methods with them, are not preflights', async t => {
  const cors = policy()
  t.equal(cors.writePreflightResponse('OPTIONS', {}), undefined)
  t.equal(cors.writePreflightResponse('OPTIONS', { origin: 'http://a.b' }), undefined)
  t.equal(cors.writePreflightResponse('OPTIONS', { 'access-control-request-method': 'POST' }), undefined)
  t.equal(cors.writePreflightResponse('POST', { origin: 'a', 'access-control-request-method': 'POST' }), undefined)
})

t.test('an origin may be given in another spelling than the one that browsers send', async t => {
  const given = ['https://App.Example/', 'https://b.example:443', 'capacitor://localhost']
  const { responseHeaders } = policy({ ...prod, GATEWAY_CORS_ALLOW_ORIGINS: JSON.stringify(given) })
  for (const origin of ['https://app.example', 'https://b.example', 'capacitor://localhost']) {
    t.equal(toRecord(responseHeaders(origin))['access-control-allow-origin'], origin)
  }
  t.equal(responseHeaders('http://app.example').length, 2)
  t.equal(responseHeaders('https://b.example:444').length, 2)
})

t.test('an origin between slashes is a pattern for the whole origin', async t => {
  const env = { ...prod, GATEWAY_CORS_ALLOW_ORIGINS: JSON.stringify(['/https://[a-z]+\\.app\\.example/']) }
  t.not(policy(env).responseHeaders('https://eu.app.example').length, 2)
  t.equal(policy(env).responseHeaders('https://eu.app.example.evil.com').length, 2)
  t.equal(policy(env).responseHeaders('xhttps://eu.app.example').length, 2)
})

t.test('a header of a client that is not ASCII is repeated in no response', async t => {
  const odd = 'http://\xe4'
  t.same(policy(EVERY_ORIGIN).responseHeaders(odd), ['vary', 'Origin'])
  const origin = preflight(EVERY_ORIGIN, { origin: odd })
  t.match(origin, { status: 400, body: 'Disallowed CORS origin' })
  t.equal(origin?.headers['access-control-allow-origin'], undefined)
  const headers = preflight({}, { origin: LOCAL, 'access-control-request-headers': 'x-\xe4' })
  t.match(headers, { status: 400, body: 'Disallowed CORS headers' })
  t.equal(headers?.headers['access-control-allow-headers'], undefined)
})
