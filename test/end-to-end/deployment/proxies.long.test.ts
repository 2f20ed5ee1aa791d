// A gateway behind each proxy of `ops/proxies`: what a client gets, and what does not get through.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { get, readUntilCut } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { findProgram, whyWithout, whyWithoutProgram } from '../../support/programs.ts'
import { type ProxyName, type StartedProxy, startProxy } from '../../support/proxies.ts'
import { askIn, type Family, families, model, openStream, readEnd, readError, textIn } from '../system/support.ts'

const API_KEY = 'deployment-test-key'
const ADMIN_KEY = 'deployment-admin-key'
const names: ProxyName[] = ['nginx', 'caddy', 'haproxy', 'envoy', 'traefik']
/** These come in packages of Python, which not every machine has. */
const OPTIONAL = new Set<ProxyName>(['envoy', 'traefik'])
/** More than proxies take by default. */
const LARGE = 'x '.repeat(650_000)
/** More than the gateway takes. */
const OVERSIZED = 'x'.repeat(2_000_000)

async function start(t: Test, name: ProxyName) {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_API_KEY: API_KEY,
      GATEWAY_METRICS_ENABLED: 'true',
      GATEWAY_ADMIN_API_ENABLED: 'true',
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true',
      GATEWAY_RESPONSES_WEBSOCKET: 'true',
      GATEWAY_MAX_REQUEST_BODY_BYTES: '1500000'
    }
  })
  await waitUntil(async () => (await get(`${gateway.url}/ready`)).status === 200, 'the gateway is ready')
  return { emulator, gateway, proxy: await startProxy(t, name, gateway) }
}

const headers = { authorization: `Bearer ${API_KEY}` }
const wrongKey = { authorization: 'Bearer wrong' }

/** The head of a response, whose body may have no end. */
async function getHead(url: string, headers: Record<string, string>): Promise<Pick<Response, 'status' | 'headers'>> {
  const response = await fetch(url, { headers })
  await response.body?.cancel()
  return response
}

/** Reads a stream up to this text, and returns the function that ends it. */
async function readUpTo(response: Response, text: string): Promise<() => Promise<void>> {
  if (response.body === null) throw new Error('The response has no body.')
  const reader = response.body.getReader()
  let read = ''
  while (!read.includes(text)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`The stream ended before '${text}': ${read}`)
    read += Buffer.from(value).toString('utf8')
  }
  return () => reader.cancel()
}

for (const name of names) {
  t.test(name, { skip: OPTIONAL.has(name) ? whyWithoutProgram(name) : whyWithout(name) }, async t => {
    const { emulator, gateway, proxy } = await start(t, name)
    // Caddy before 2.8 ends a response well whose upstream broke off (caddyserver/caddy#5952).
    const passesBreaks =
      name !== 'caddy' || !/^v?2\.[0-7]\./.test(execFileSync(findProgram(name), ['version'], { encoding: 'utf8' }))

    // In HTTP/2 HAProxy 2.6 ends a response well whose upstream broke off.
    const speaksHttp2 = name !== 'haproxy'

    for (const family of families) {
      t.test(
        `${family}: the first event arrives while the provider still writes, and a client that leaves ends the call`,
        async t => {
          await passesAtOnce(t, family)
        }
      )

      t.test(`${family}: whole responses and errors pass as they are`, async t => {
        const response = await askIn(proxy, family, '[[text:through the proxy]]', { headers })
        t.equal(response.status, 200)
        t.equal(textIn(family, response), 'through the proxy')
        const refused = await askIn(proxy, family, 'hello', { headers: wrongKey })
        t.equal(refused.status, 401)
        const direct = await askIn(gateway, family, 'hello', { headers: wrongKey })
        t.equal(readError(family, refused).message, readError(family, direct).message)
      })

      t.test(`decisions.md 108: ${family}: a failed stream arrives with its error and an unfinished body`, async t => {
        for (const fault of ['[[errframe]]', '[[die]]']) {
          const response = await openStream(proxy, family, `${fault}[[chunks:one|two|three]]`, { headers })
          const { text, isCut } = await readUntilCut(response)
          t.match(text, 'one', fault)
          t.equal(isCut, passesBreaks, fault)
          t.equal(readEnd(family, text), 'error', fault)
        }
      })

      t.test(
        `${family}: a large body passes, and one that is too large is refused in the form of the family`,
        async t => {
          t.equal((await askIn(proxy, family, LARGE, { headers })).status, 200)
          const response = await askIn(proxy, family, OVERSIZED, { headers })
          t.equal(response.status, 413)
          t.match(readError(family, response).message, /1500000|too large/i)
        }
      )
    }

    t.test('content as a JSON array, which is no event stream, passes at once as well', async t => {
      await passesAtOnce(t, 'content', '?alt=json')
    })

    t.test('what operators use is there, but not from outside, in any spelling', async t => {
      const inside = { 'x-api-key': API_KEY, 'x-admin-api-key': ADMIN_KEY }
      t.equal((await get(`${gateway.url}/metrics`, inside)).status, 200)
      t.not((await get(`${gateway.url}/_admin/logs`, inside)).status, 404)
      t.equal((await get(`${gateway.url}/logs/5`, inside)).status, 200)
      const paths = ['/metrics', '/_admin/logs', '/_admin/ui', '/_debug/translate', '/logs/5', '/logs/stream']
      for (const path of paths) {
        const spellings = [path, `/${path}`, path.replace('m', '%6d').replace('_', '%5f').replace('/l', '/%6c')]
        for (const spelling of [...spellings, `/v1/..${path}`]) {
          const response = await getHead(`${proxy.url}${spelling}`, inside)
          t.equal(response.status, 404, spelling)
          t.equal(response.headers.get('x-request-id'), null, `the gateway is not asked for ${spelling}`)
        }
      }
      t.equal((await get(`${proxy.url}/v1/models`, inside)).status, 200)
    })

    t.test('a WebSocket on /responses passes its events', async t => {
      const socket = new WebSocket(`${proxy.url.replace('https', 'wss')}/v1/responses`, { headers })
      t.teardown(() => socket.terminate())
      await once(socket, 'open')
      const types: string[] = []
      const ended = new Promise<void>((resolve, reject) => {
        socket.on('message', data => {
          const { type } = JSON.parse(String(data))
          types.push(type)
          if (type === 'response.completed') resolve()
        })
        socket.on('close', () => reject(new Error(`closed after ${types.join()}`)))
      })
      socket.send(JSON.stringify({ type: 'response.create', model, input: 'hello' }))
      await ended
      t.equal(types[0], 'response.created')
      socket.close()
    })

    t.test('a name with a slash reaches the gateway as it is', async t => {
      const path = '/v1/models/team%2Fmodel'
      const { json } = await get(`${proxy.url}${path}`, headers)
      t.strictSame(json, (await get(`${gateway.url}${path}`, headers)).json)
      t.equal(json.error.message, 'The model does not exist.')
    })

    t.test('decisions.md 115: no log has a key, whatever carries it and whatever fails', async t => {
      const canary = 'a-key-that-no-log-may-have'
      const carriers = {
        authorization: `Bearer ${canary}`,
        'api-key': canary,
        'x-api-key': canary,
        'x-goog-api-key': canary,
        'x-admin-api-key': canary,
        referer: `https://app.example/?key=${canary}`,
        cookie: `key=${canary}`
      }
      const query = `?key=${canary}&x-api-key=${canary}&api-key=${canary}`
      const down = await startProxy(t, name, { url: `http://127.0.0.1:${await findFreePort()}` })
      for (const one of [proxy, down]) {
        for (const [header, value] of Object.entries(carriers)) await get(`${one.url}/v1/models/c`, { [header]: value })
        await get(`${one.url}/v1beta/models${query}`, carriers)
        await get(`${one.url}/metrics${query}`, carriers)
        if (speaksHttp2) await getByHttp2(one, `/v1/models/second${query}`, carriers)
        await get(`${one.url}/v1/models/last${query}`, carriers)
        await waitUntil(() => one.readLogs().includes('/v1/models/last'), 'the requests are logged')
        t.match(one.readLogs(), '/v1beta/models')
      }
      // The provider breaks off, and the client does.
      const broken = await openStream(proxy, 'content', '[[die]][[chunks:one|two]]', { query: `?key=${API_KEY}` })
      await readUntilCut(broken)
      const left = await openStream(proxy, 'content', 'one [[hang:3]]', { query: `?key=${API_KEY}` })
      await (await readUpTo(left, 'one'))()
      await get(`${proxy.url}/v1/models/behind`)
      await waitUntil(() => proxy.readLogs().includes('/v1/models/behind'), 'the last request is logged')
      for (const one of [proxy, down]) {
        for (const key of [canary, API_KEY, ADMIN_KEY]) t.notOk(one.readLogs().includes(key), key)
      }
    })

    t.test('HTTP/2 reaches the gateway', { skip: speaksHttp2 ? false : `${name} is set to HTTP/1.1` }, async t => {
      const response = await getByHttp2(proxy, '/v1/models', headers)
      t.equal(response[':status'], 200)
      t.type(response['x-request-id'], 'string')
    })

    async function passesAtOnce(t: Test, family: Family, query = ''): Promise<void> {
      const before = emulator.stats.aborted
      const response = await openStream(proxy, family, '[[text:one two three four five six]] [[hang:3]]', {
        headers,
        query
      })
      t.equal(response.status, 200)
      t.type(response.headers.get('x-request-id'), 'string')
      // The provider never ends this stream: a proxy that waits for the end passes nothing on.
      const cancel = await readUpTo(response, 'one')
      t.equal(emulator.stats.aborted, before)
      await cancel()
      await emulator.waitFor(({ stats }) => stats.aborted > before)
    }
  })
}

/** The head of a response. */
async function getByHttp2(
  { url }: StartedProxy,
  path: string,
  headers: Record<string, string>
): Promise<IncomingHttpHeaders> {
  const ca = readFileSync(join(import.meta.dirname, '../../ops/emulator/fixtures/ca.pem'))
  const session = connect(url, { ca })
  try {
    const request = session.request({ ':path': path, ...headers })
    const [response] = (await once(request, 'response')) as [IncomingHttpHeaders]
    request.close()
    return response
  } finally {
    session.close()
  }
}
