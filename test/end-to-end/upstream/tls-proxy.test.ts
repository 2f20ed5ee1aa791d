// Certificates and proxies on the way to the upstream (upstream.md 1.2 and 1.3), set as an operator
// sets them.

import { createPrivateKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEmulator } from '../../../ops/emulator/server.ts'
import { post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { ask, imagePart, stream, textOf, textPart, versions } from './support.ts'

const fixtures = join(import.meta.dirname, '../../ops/emulator/fixtures')
const pathOf = (name: string): string => join(fixtures, name)
const read = (name: string): string => readFileSync(pathOf(name), 'utf8')

const folder = createTemporaryFolder(t)

const tls = { key: read('server.key'), cert: read('server.pem'), ca: read('ca.pem') }
const emulator = await createEmulator({ tls })
t.teardown(() => emulator.close())

t.test('an authority of one’s own is trusted, and the API alone sees the client certificate', async t => {
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      UPSTREAM_CA_BUNDLE_FILE: pathOf('ca.pem'),
      UPSTREAM_CERT_FILE: pathOf('client.pem'),
      UPSTREAM_KEY_FILE: pathOf('client.key')
    }
  })
  for (const version of versions) {
    t.equal((await ask(gateway, version, [textPart('look'), imagePart()])).status, 200)
    t.equal(textOf((await stream(gateway, version, '[[text:streamed]]')).frames), 'streamed')
  }
  t.equal((await post(`${gateway.url}/v1/embeddings`, { input: 'x' })).status, 200)
  for (const { path, clientCertificate } of emulator.requests) {
    t.equal(clientCertificate, path.endsWith('/oauth') ? null : 'gateway test client', path)
  }
})

t.test('a certificate alone is enough authorization; its key may be locked, verification may be off', async t => {
  const locked = createPrivateKey(read('client.key')).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'open sesame'
  })
  writeFileSync(join(folder, 'combined.pem'), `${read('client.pem')}\n${locked}`)
  const gateway = await startGateway(t, {
    env: {
      UPSTREAM_BASE_URL: emulator.baseUrl,
      UPSTREAM_VERIFY_SSL_CERTS: 'off',
      UPSTREAM_CERT_FILE: join(folder, 'combined.pem'),
      UPSTREAM_KEY_FILE_PASSWORD: 'open sesame'
    }
  })
  emulator.reset()
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  for (const { headers, clientCertificate } of emulator.requests) {
    t.notOk('authorization' in headers)
    t.equal(clientCertificate, 'gateway test client')
  }
})

t.test('an unknown authority is a failure on the way, and a bundle switches verification on again', async t => {
  for (const [env, isTrusted] of [
    [{}, false],
    [{ UPSTREAM_VERIFY_SSL_CERTS: 'false' }, true],
    [{ UPSTREAM_VERIFY_SSL_CERTS: 'false', UPSTREAM_CA_BUNDLE_FILE: pathOf('client.pem') }, false]
  ] as const) {
    const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), ...env } })
    for (const more of [{}, { stream: true }]) {
      const response = await ask(gateway, 'v1', 'hi', { more })
      t.equal(response.status, isTrusted ? 200 : 502)
      if (isTrusted) continue
      t.match(response.json.error, { type: 'server_error', code: 'provider_failure' })
      t.notMatch(response.text, /127\.0\.0\.1|certificate|https?:/)
    }
    t.equal(await gateway.stop(), 0)
    const log = readFileSync(join(gateway.folder, 'gateway.log'), 'utf8')
    if (!isTrusted) t.match(log, /UNABLE_TO_|SELF_SIGNED|CERT_/, 'the log says why')
  }
})

interface Proxy {
  port: number
  /** Request lines, such as `POST http://host/path` and `CONNECT host:443`. */
  seen: string[]
}

/** A proxy that forwards plain requests and tunnels the others. */
async function startProxy(t: Test): Promise<Proxy> {
  const seen: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`)
    const onward = httpRequest(incoming.url ?? '', { method: incoming.method, headers: incoming.headers }, received => {
      response.writeHead(received.statusCode ?? 502, received.headers)
      received.pipe(response)
    })
    onward.on('error', () => response.destroy())
    incoming.pipe(onward)
  })
  server.on('connect', (incoming, socket: Socket) => {
    seen.push(`CONNECT ${incoming.url}`)
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
  return { port: (server.address() as AddressInfo).port, seen }
}

t.test('a TLS upstream is reached through a tunnel, with its own certificates', async t => {
  const proxy = await startProxy(t)
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      UPSTREAM_CA_BUNDLE_FILE: pathOf('ca.pem'),
      https_proxy: `http://user:hunter2@127.0.0.1:${proxy.port}`
    }
  })
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  t.equal(textOf((await stream(gateway, 'v2', '[[text:streamed]]')).frames), 'streamed')
  t.ok(proxy.seen.length >= 2)
  t.ok(proxy.seen.every(line => line === `CONNECT 127.0.0.1:${emulator.port}`))
  t.equal(await gateway.stop(), 0)
  t.notMatch(readFileSync(join(gateway.folder, 'gateway.log'), 'utf8'), /hunter2/)
})

t.test('a plain upstream is reached by forwarding, unless its host is on the list of exceptions', async t => {
  const plain = await startEmulator(t)
  const proxy = await startProxy(t)
  const HTTP_PROXY = `http://127.0.0.1:${proxy.port}`
  const proxied = await startGateway(t, { env: { ...emulatorVariables(plain), HTTP_PROXY } })
  t.equal((await ask(proxied, 'v1', 'hi')).status, 200)
  t.equal(textOf((await stream(proxied, 'v2', '[[text:streamed]]')).frames), 'streamed')
  t.ok(proxy.seen.includes(`POST ${plain.authUrl}`))
  t.ok(proxy.seen.includes(`POST ${plain.baseUrl}/chat/completions`))
  const before = proxy.seen.length
  const direct = await startGateway(t, {
    env: { ...emulatorVariables(plain), HTTP_PROXY, NO_PROXY: 'example.com, 127.0.0.1' }
  })
  t.equal((await ask(direct, 'v1', 'hi')).status, 200)
  t.equal(proxy.seen.length, before)
})
