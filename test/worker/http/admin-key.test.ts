import t, { type Test } from 'tap'
import { systemTraits } from '../../../worker/http/request/route-traits.ts'
import type { RequestObserver } from '../../../worker/observation/observer.ts'
import { get, post } from '../../support/client.ts'
import { echo, openConnection, startApplication } from './support.ts'

async function start(t: Test, env: Record<string, string>, observers: RequestObserver[] = []) {
  const started = await startApplication(t, {
    env,
    observers,
    routes(app) {
      const config = { traits: systemTraits('/_debug/thing', 'admin-key') }
      app.route({ method: ['GET', 'POST'], url: '/_debug/thing', config, handler: echo })
    }
  })
  return { ...started, url: `${started.url}/_debug/thing` }
}

const refused = { status: 403, json: { error: { code: 'invalid_admin_key', message: 'Invalid admin API key' } } }

t.test('the admin key comes in its header or as bearer token, and in no other way', async t => {
  const { url } = await start(t, { GATEWAY_ADMIN_API_KEY: 'ädm', GATEWAY_API_KEY: 'k1' })
  const key = Buffer.from('ädm').toString('latin1')
  for (const headers of [
    { 'x-admin-api-key': key },
    { 'x-admin-api-key': `  ${key} ` },
    { authorization: `Bearer ${key}` },
    { authorization: `bearer  ${key} ` },
    { 'x-admin-api-key': ' ', authorization: `Bearer ${key}` },
    { 'x-admin-api-key': key, authorization: 'Bearer wrong' }
  ]) {
    t.equal((await get(url, headers)).status, 200, JSON.stringify(headers))
  }
  for (const [query, headers] of [
    ['', {}],
    ['', { 'x-admin-api-key': 'adm' }],
    ['', { 'x-admin-api-key': 'wrong', authorization: `Bearer ${key}` }],
    ['', { authorization: `Basic ${key}` }],
    ['', { 'x-api-key': 'k1' }],
    ['', { authorization: 'Bearer k1' }],
    ['', { 'x-api-key': key }],
    ['?key=%C3%A4dm', {}],
    ['?x-admin-api-key=%C3%A4dm', {}],
    ['?x-api-key=%C3%A4dm', {}]
  ] as const) {
    t.match(await get(url + query, headers), refused, query + JSON.stringify(headers))
  }
})

t.test('without an admin key in the settings every call is refused, in DEV and in PROD', async t => {
  for (const env of [{}, { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'k1' }]) {
    const { url } = await start(t, env)
    for (const headers of [{}, { 'x-admin-api-key': 'k1' }, { authorization: 'Bearer k1' }]) {
      const response = await get(url, headers as Record<string, string>)
      t.equal(response.status, 403)
      t.same(response.json, { error: { code: 'admin_key_required', message: 'Admin API key is required' } })
    }
  }
})

t.test('the admin key is checked before a body of any transfer encoding is read', async t => {
  const { url, port } = await start(t, { GATEWAY_ADMIN_API_KEY: 'adm', GATEWAY_MAX_REQUEST_BODY_BYTES: '100' })
  t.match(await post(url, '{'), refused)
  t.equal((await post(url, 'x'.repeat(101), { 'x-admin-api-key': 'adm' })).status, 413)
  // The body never ends, so a response can only come before it.
  const connection = await openConnection(t, port)
  connection.socket.write(
    'POST /_debug/thing HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc'
  )
  t.match(await connection.waitFor(/invalid_admin_key/), /^HTTP\/1\.1 403 /)
  const waiting = await openConnection(t, port)
  waiting.socket.write(
    'POST /_debug/thing HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n'
  )
  t.match(await waiting.waitFor(/invalid_admin_key/), /^HTTP\/1\.1 403 /)
})

t.test('a refused admin request is reported like one without a gateway key', async t => {
  const reasons: string[] = []
  const observer: RequestObserver = {
    name: 'test',
    authenticationFailed: ({ route }, reason) => reasons.push(`${route} ${reason}`)
  }
  const { url, logged } = await start(t, { GATEWAY_ADMIN_API_KEY: 'adm' }, [observer])
  await get(url)
  await get(url, { 'x-admin-api-key': 'wrong' })
  t.same(reasons, ['/_debug/thing missing', '/_debug/thing wrong'])
  t.match(
    logged.filter(line => line.event === 'authentication_failed'),
    [{ reason: 'missing' }]
  )
  t.notMatch(JSON.stringify(logged), /"wrong"|adm"/)
})
