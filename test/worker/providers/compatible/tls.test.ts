// TLS of external profiles: a private authority, client certificates, and files that change
// (providers.md 1, row `tls_policy_ref`; case 5 of providers.md 4).

import { X509Certificate } from 'node:crypto'
import { copyFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import type { ProviderProfile } from '../../../../shared/profile/profile.ts'
import { createAuthority } from '../../../support/certificates.ts'
import { startDemandingServer } from '../../../support/demanding-server.ts'
import { startForwardProxy } from '../../../support/forward-proxy.ts'
import { waitUntil } from '../../../support/processes.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

const authority = createAuthority(t)
const server = authority.issue({ name: 'provider' })
const client = authority.issue({ name: 'gateway client' })
const stranger = createAuthority(t, 'another authority')

interface ServerOptions {
  cert?: string
  key?: string
  /** Authorities of clients: a connection without their certificate is refused. */
  clientCa?: string
}

/** A provider with TLS that responds with the name in the client's certificate. */
async function startProvider(t: Test, { clientCa, ...own }: ServerOptions = {}) {
  const tls = { ...server, ...own, ...(clientCa !== undefined && { ca: clientCa, requestCert: true }) }
  const stub = await startStub(
    ({ socket }, response) => {
      const { subject } = (socket as TLSSocket).getPeerCertificate()
      // Each call makes its own connection.
      sendJson(response, 200, { words: [String(subject?.CN ?? 'no certificate')] }, { connection: 'close' })
    },
    { tls }
  )
  t.teardown(() => stub.close())
  return stub
}

function startAsker(t: Test, baseUrl: string, more: Partial<ProviderProfile>, allowLoopback = true) {
  const resolve = async () => ['127.0.0.1']
  const { executorOf, memory, certificates } = startCompatible(t, { p1: { baseUrl, allowLoopback, more } }, { resolve })
  const ask = async () => {
    const sink = createSink()
    await executorOf('p1').chat(compatibleCall(), contextOf(), sink)
    return sink.text()
  }
  const failures = () => memory.lines.filter(line => line.event === 'upstream_call_failed')
  return { ask, memory, failures, certificates: () => certificates('p1') }
}

t.test(
  'providers 5: the authorities of the file are trusted beside those of the system, and a client certificate is shown',
  async t => {
    const stub = await startProvider(t, { clientCa: authority.cert })
    const trusting = startAsker(t, stub.origin, { caFile: authority.certFile })
    t.equal(await trusting.ask().catch(() => 'refused'), 'refused', 'the provider wants a certificate')
    const known = startAsker(t, stub.origin, {
      caFile: authority.certFile,
      clientCertFile: client.certFile,
      clientKeyFile: client.keyFile
    })
    t.equal(await known.ask(), 'gateway client')
  }
)

t.test('providers 5: the log says why a certificate is refused, without a path', async t => {
  const expired = authority.issue({ name: 'expired provider', days: -1 })
  const renamed = authority.issue({ name: 'renamed provider', hosts: ['DNS:other.example', 'IP:127.0.0.9'] })
  const plain = createServer(socket => void socket.on('error', () => undefined).end('no TLS\r\n'))
  await new Promise<void>(resolve => plain.listen(0, '127.0.0.1', resolve))
  t.teardown(() => plain.close())
  const own = { caFile: authority.certFile }
  const rows: Array<[stub: { port: number }, more: Partial<ProviderProfile>, host: string, cause: RegExp]> = [
    [await startProvider(t), {}, '127.0.0.1', /unknown authority/],
    [await startProvider(t), { caFile: stranger.certFile }, '127.0.0.1', /unknown authority/],
    [await startProvider(t, expired), own, '127.0.0.1', /^CERT_HAS_EXPIRED: the certificate of the server has expired/],
    [await startProvider(t, renamed), own, '127.0.0.1', /^ERR_TLS_CERT_ALTNAME_INVALID: .*127\.0\.0\.1/],
    [await startProvider(t, renamed), own, 'localhost', /^ERR_TLS_CERT_ALTNAME_INVALID: .*localhost/],
    [plain.address() as { port: number }, own, '127.0.0.1', /speaks no TLS/]
  ]
  for (const [{ port }, more, host, cause] of rows) {
    const { ask, failures } = startAsker(t, `https://${host}:${port}`, more)
    t.match(await rejection(ask()), {
      code: 'provider_failure',
      status: 502,
      message: 'The connection to the upstream failed.'
    })
    t.match(failures(), [{ error_type: 'tls_error', reason_id: 'connection_error', cause }])
    t.notMatch(JSON.stringify(failures()), /\.pem|openssl|deps\//)
  }
})

t.test('providers 5: a server that wants another certificate says so in the log', async t => {
  const port = await startDemandingServer(t, server, authority)
  const unknown = stranger.issue({ name: 'unknown client' })
  const expired = authority.issue({ name: 'expired client', days: -1 })
  const rows: Array<[more: Partial<ProviderProfile>, cause: RegExp]> = [
    [{}, /ALERT_CERTIFICATE_REQUIRED: the server requires a client certificate/],
    [{ clientCertFile: unknown.certFile, clientKeyFile: unknown.keyFile }, /ALERT_UNKNOWN_CA: .*authority is unknown/],
    [{ clientCertFile: expired.certFile, clientKeyFile: expired.keyFile }, /ALERT_CERTIFICATE_EXPIRED: .*has expired/]
  ]
  for (const [more, cause] of rows) {
    const { ask, failures } = startAsker(t, `https://127.0.0.1:${port}`, { caFile: authority.certFile, ...more })
    t.match(await rejection(ask()), { code: 'provider_failure', status: 502 })
    t.match(failures(), [{ error_type: 'tls_error', cause }])
  }
})

t.test('authorities and certificates hold inside of a tunnel, and the proxy sees no certificate', async t => {
  const stub = await startProvider(t, { clientCa: authority.cert })
  const proxyCertificate = authority.issue({ name: 'proxy' })
  const tls = { ...proxyCertificate, ca: authority.cert, requestCert: true, rejectUnauthorized: false }
  const proxy = await startForwardProxy(t, { tls })
  const { ask } = startAsker(t, stub.origin, {
    caFile: authority.certFile,
    clientCertFile: client.certFile,
    clientKeyFile: client.keyFile,
    proxy: proxy.url
  })
  t.equal(await ask(), 'gateway client')
  t.strictSame(proxy.clientNames, [undefined])
})

t.test(
  'providers 5: a renewed certificate is shown by the next connection, also behind a link that leads elsewhere',
  async t => {
    const stub = await startProvider(t, { clientCa: authority.cert })
    const folder = createTemporaryFolder(t)
    const renewed = authority.issue({ name: 'renewed client' })
    for (const [version, { certFile, keyFile }] of [
      ['v1', client],
      ['v2', renewed]
    ] as const) {
      mkdirSync(join(folder, version))
      copyFileSync(certFile, join(folder, version, 'tls.crt'))
      copyFileSync(keyFile, join(folder, version, 'tls.key'))
    }
    symlinkSync('v1', join(folder, 'data'))
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('data', name), join(folder, name))
    const { ask, memory } = startAsker(t, stub.origin, {
      caFile: authority.certFile,
      clientCertFile: join(folder, 'tls.crt'),
      clientKeyFile: join(folder, 'tls.key')
    })
    t.equal(await ask(), 'gateway client')
    symlinkSync('v2', join(folder, 'next'))
    renameSync(join(folder, 'next'), join(folder, 'data'))
    await waitUntil(async () => (await ask()) === 'renewed client', 'the new certificate is shown')
    t.match(
      memory.lines.filter(line => String(line.event).startsWith('provider_tls_files')),
      [{ event: 'provider_tls_files_read', profile: 'p1' }]
    )
  }
)

t.test('files that cannot be used any more keep the older ones, with one line', async t => {
  const stub = await startProvider(t, { clientCa: authority.cert })
  const folder = createTemporaryFolder(t)
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  copyFileSync(client.certFile, certFile)
  copyFileSync(client.keyFile, keyFile)
  const { ask, memory } = startAsker(t, stub.origin, {
    caFile: authority.certFile,
    clientCertFile: certFile,
    clientKeyFile: keyFile
  })
  t.equal(await ask(), 'gateway client')
  const lines = () => memory.lines.filter(line => String(line.event).startsWith('provider_tls_files'))
  const renewed = authority.issue({ name: 'second client' })
  copyFileSync(renewed.certFile, certFile)
  await waitUntil(async () => {
    t.equal(await ask(), 'gateway client')
    return lines().length > 0
  }, 'the change is seen')
  t.match(lines(), [
    {
      level: 40,
      event: 'provider_tls_files_unusable',
      profile: 'p1',
      cause: 'client_key_file must hold the key of the certificate that client_cert_file names.',
      is_older_used: true
    }
  ])
  t.equal(await ask(), 'gateway client')
  t.equal(lines().length, 1)
  copyFileSync(renewed.keyFile, keyFile)
  await waitUntil(async () => (await ask()) === 'second client', 'both files are of the new certificate')
  t.notMatch(memory.text(), folder)
})

t.test('a profile without usable files fails by itself, until they are there', async t => {
  const stub = await startProvider(t)
  const caFile = join(createTemporaryFolder(t), 'ca.pem')
  const { ask, failures, memory } = startAsker(t, stub.origin, { caFile })
  for (const text of [undefined, 'no certificate']) {
    if (text !== undefined) writeFileSync(caFile, text)
    memory.lines.length = 0
    t.match(await rejection(ask()), { code: 'provider_failure', status: 502 })
    t.match(failures(), [{ error_type: 'tls_error', cause: /^ERR_TLS_FILES: ca_file must name a / }])
  }
  copyFileSync(authority.certFile, caFile)
  t.equal(await ask(), 'no certificate')
})

t.test('the end of both certificates is known, without a proxy and through one', async t => {
  const stub = await startProvider(t, { clientCa: authority.cert })
  const files = { caFile: authority.certFile, clientCertFile: client.certFile, clientKeyFile: client.keyFile }
  const endOf = (pem: string) => Date.parse(new X509Certificate(pem).validTo)
  const proxy = await startForwardProxy(t, { tls: authority.issue({ name: 'short proxy', days: 3 }) })
  for (const more of [{}, { proxy: proxy.url }]) {
    const { ask, certificates } = startAsker(t, stub.origin, { ...files, ...more })
    t.match(certificates(), { provider: null, client: null })
    await ask()
    t.match(certificates(), {
      provider: { expiresAtMs: endOf(server.cert) },
      client: { expiresAtMs: endOf(client.cert) }
    })
  }
  const plain = await startStub((_request, response) => sendJson(response, 200, { words: ['plain'] }))
  t.teardown(() => plain.close())
  const { ask, certificates } = startAsker(t, plain.origin, { caFile: authority.certFile, proxy: proxy.url })
  t.equal(await ask(), 'plain')
  t.match(
    certificates(),
    { provider: null, client: null },
    'the certificate of a proxy is no certificate of the provider'
  )
})
