// The emulator over TLS, with and without client certificates.
import { readFileSync } from 'node:fs'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEmulator, type Emulator } from '../../../ops/emulator/server.ts'

const read = (name: string) => readFileSync(join(import.meta.dirname, 'fixtures', name))
const ca = read('ca.pem')

function get(url: string, options: RequestOptions = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, { ca, agent: false, ...options }, response => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', reject)
    request.end()
  })
}

async function start(t: Test, more: { ca?: Buffer; requestCert?: boolean } = {}): Promise<Emulator> {
  const emulator = await createEmulator({
    tls: { key: read('server.key'), cert: read('server.pem'), ...more },
    accessTokens: ['ready']
  })
  t.teardown(() => emulator.close())
  return emulator
}

const bearer = { authorization: 'Bearer ready' }

t.test('its URLs are https, and a client needs its certificate authority to connect', async t => {
  const emulator = await start(t)
  t.match(emulator.baseUrl, /^https:\/\/127\.0\.0\.1:\d+\/api\/v1$/)
  t.equal(await get(`${emulator.baseUrl}/models`, { headers: bearer }), 200)
  await t.rejects(get(`${emulator.baseUrl}/models`, { headers: bearer, ca: [] }))
  t.equal(emulator.requests[0]?.clientCertificate, null)
})

t.test('a verified client certificate authorizes without a token and is recorded', async t => {
  const emulator = await start(t, { ca })
  const certificate = { key: read('client.key'), cert: read('client.pem') }
  t.equal(await get(`${emulator.baseUrl}/models`, certificate), 200)
  t.equal(emulator.requests.at(-1)?.clientCertificate, 'gateway test client')
  t.equal(await get(`${emulator.baseUrl}/models`), 401)
  t.equal(await get(`${emulator.baseUrl}/models`, { headers: bearer }), 200)
  t.equal(emulator.requests.at(-1)?.clientCertificate, null)
})

t.test('a client certificate of another authority does not authorize a call', async t => {
  const emulator = await start(t, { ca: read('client.pem') })
  t.equal(await get(`${emulator.baseUrl}/models`, { key: read('server.key'), cert: read('server.pem') }), 401)
})
