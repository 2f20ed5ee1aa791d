import { readFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { chatCall, contextOf, createSink, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'

const fixtures = join(import.meta.dirname, '..', '..', '..', 'ops', 'emulator', 'fixtures')
const read = (name: string): string => readFileSync(join(fixtures, name), 'utf8')

interface Proxy {
  url: string
  /** Request lines, such as `POST http://host/path` and `CONNECT host:443`. */
  seen: string[]
  headers: IncomingHttpHeaders[]
}

/** A proxy that forwards plain requests and tunnels the others; with `refuse` it responds with that status instead. */
async function startProxy(t: Test, options: { refuse?: number; isSilent?: boolean } = {}): Promise<Proxy> {
  const seen: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const sockets = new Set<Socket>()
  const server = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`)
    headers.push(incoming.headers)
    if (options.refuse !== undefined) {
      response.writeHead(options.refuse).end()
      return
    }
    const onward = httpRequest(
      incoming.url ?? '',
      { method: incoming.method, headers: incoming.headers },
      onwardResponse => {
        response.writeHead(onwardResponse.statusCode ?? 502, onwardResponse.headers)
        onwardResponse.pipe(response)
      }
    )
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.on('connect', (incoming, socket: Socket) => {
    seen.push(`CONNECT ${incoming.url}`)
    headers.push(incoming.headers)
    if (options.isSilent === true) return
    if (options.refuse !== undefined) {
      socket.end(`HTTP/1.1 ${options.refuse} no\r\n\r\n`)
      return
    }
    const [host, port] = (incoming.url ?? '').split(':')
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    for (const side of [onward, socket]) side.on('error', () => undefined)
    socket.on('close', () => onward.destroy())
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { url: `http://user:pass@127.0.0.1:${(server.address() as AddressInfo).port}`, seen, headers }
}

t.test('a plain origin is reached by forwarding', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const proxy = await startProxy(t)
  const { executor } = startPool(t, emulatorEnv(emulator, { HTTP_PROXY: proxy.url }))
  await executor.complete(chatCall('hi'), contextOf())
  const sink = createSink()
  await executor.stream(chatCall('[[text:streamed]]', { isStream: true }), contextOf(), sink)
  t.equal(sink.text(), 'streamed')
  t.same(proxy.seen, [
    `POST ${emulator.authUrl}`,
    `POST ${emulator.baseUrl}/chat/completions`,
    `POST ${emulator.baseUrl}/chat/completions`
  ])
  t.equal(proxy.headers[1]?.['proxy-authorization'], `Basic ${Buffer.from('user:pass').toString('base64')}`)
})

t.test('a TLS origin is reached through a tunnel, with its own certificate checks', async t => {
  const emulator = await createEmulator({
    tls: { key: read('server.key'), cert: read('server.pem'), ca: read('ca.pem') }
  })
  t.teardown(() => emulator.close())
  const proxy = await startProxy(t)
  const settings = {
    HTTPS_PROXY: proxy.url,
    UPSTREAM_CA_BUNDLE_FILE: join(fixtures, 'ca.pem'),
    UPSTREAM_CERT_FILE: join(fixtures, 'client.pem'),
    UPSTREAM_KEY_FILE: join(fixtures, 'client.key')
  }
  const { executor } = startPool(t, emulatorEnv(emulator, settings))
  await executor.complete(chatCall('hi'), contextOf())
  t.same(proxy.seen, [`CONNECT 127.0.0.1:${emulator.port}`, `CONNECT 127.0.0.1:${emulator.port}`])
  t.equal(emulator.requests.at(-1)?.clientCertificate, 'gateway test client')
  t.equal(emulator.requests[0]?.clientCertificate, null)

  const distrusting = startPool(t, emulatorEnv(emulator, { HTTPS_PROXY: proxy.url }))
  t.match(await rejection(distrusting.executor.complete(chatCall('hi'), contextOf())), { code: 'provider_failure' })
})

t.test('a proxy is used for its own scheme only, and for no host on the list of exceptions', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const proxy = await startProxy(t)
  for (const settings of [
    { HTTPS_PROXY: proxy.url },
    { HTTP_PROXY: proxy.url, NO_PROXY: 'example.com,127.0.0.1' },
    { HTTP_PROXY: proxy.url, NO_PROXY: '*' }
  ]) {
    const { executor } = startPool(t, emulatorEnv(emulator, settings))
    await executor.complete(chatCall('hi'), contextOf())
  }
  t.same(proxy.seen, [])
})

t.test('the proxy variables of the process environment are not read', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const proxy = await startProxy(t)
  const before = process.env.HTTPS_PROXY
  process.env.HTTPS_PROXY = 'http://127.0.0.1:9'
  process.env.NO_PROXY = '127.0.0.1'
  t.teardown(() => {
    if (before === undefined) delete process.env.HTTPS_PROXY
    else process.env.HTTPS_PROXY = before
    delete process.env.NO_PROXY
  })
  const { executor } = startPool(t, emulatorEnv(emulator, { HTTP_PROXY: proxy.url }))
  await executor.complete(chatCall('hi'), contextOf())
  t.equal(proxy.seen.length, 2)
})

t.test('a proxy that refuses or sends no response is a transport failure', async t => {
  const emulator = await createEmulator({ tls: { key: read('server.key'), cert: read('server.pem') } })
  t.teardown(() => emulator.close())
  const refusing = await startProxy(t, { refuse: 407 })
  const settings = { UPSTREAM_CA_BUNDLE_FILE: join(fixtures, 'ca.pem'), UPSTREAM_TIMEOUT: '0.3' }
  const patient = { ...settings, UPSTREAM_TIMEOUT: '20' }
  const refused = startPool(t, emulatorEnv(emulator, { ...patient, HTTPS_PROXY: refusing.url }))
  t.match(await rejection(refused.executor.complete(chatCall('hi'), contextOf())), {
    code: 'provider_failure',
    status: 502
  })
  t.notMatch(refused.memory.text(), 'user:pass')

  const silent = await startProxy(t, { isSilent: true })
  const stuck = startPool(t, emulatorEnv(emulator, { ...settings, HTTPS_PROXY: silent.url }))
  t.match(await rejection(stuck.executor.complete(chatCall('hi'), contextOf())), {
    code: 'provider_timeout',
    status: 504
  })

  const plain = await createEmulator()
  t.teardown(() => plain.close())
  const forward = startPool(t, emulatorEnv(plain, { HTTP_PROXY: refusing.url }))
  t.match(await rejection(forward.executor.complete(chatCall('hi'), contextOf())), { code: 'provider_failure' })
})

t.test('a client disconnect ends the call behind the proxy', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const proxy = await startProxy(t)
  const { executor } = startPool(t, emulatorEnv(emulator, { HTTP_PROXY: proxy.url }))
  const abort = new AbortController()
  const waiting = executor.complete(chatCall('[[hang]]'), contextOf({ signal: abort.signal }))
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(waiting), { code: 'client_disconnected' })
  await emulator.waitFor(({ stats }) => stats.aborted === 1)
})
