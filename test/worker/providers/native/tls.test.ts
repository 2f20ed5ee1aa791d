import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { createEmulator, type Emulator } from '../../../../ops/emulator/server.ts'
import { parseSettings } from '../../../../shared/settings.ts'
import { openNativeConnections, TransportConfigurationError } from '../../../../worker/providers/native/connections.ts'
import { createAuthority } from '../../../support/certificates.ts'
import { waitUntil } from '../../../support/processes.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'
import { createMemoryLog } from '../support/log.ts'
import { chatCall, contextOf, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'

const fixtures = join(import.meta.dirname, '..', '..', '..', 'ops', 'emulator', 'fixtures')
const pathOf = (name: string): string => join(fixtures, name)
const read = (name: string): string => readFileSync(pathOf(name), 'utf8')

async function startTls(t: Test, options: { ca?: string } = {}): Promise<Emulator> {
  const emulator = await createEmulator({ tls: { key: read('server.key'), cert: read('server.pem'), ...options } })
  t.teardown(() => emulator.close())
  return emulator
}

function temporaryFile(t: Test, name: string, content: string): string {
  const folder = createTemporaryFolder(t)
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

t.test('a configured authority is trusted for both origins, and no other', async t => {
  const emulator = await startTls(t)
  const trusting = startPool(t, emulatorEnv(emulator, { UPSTREAM_CA_BUNDLE_FILE: pathOf('ca.pem') }))
  await trusting.executor.complete(chatCall('hi'), contextOf())
  t.equal(emulator.stats.oauthCalls, 1)

  const strict = startPool(t, emulatorEnv(emulator))
  t.match(await rejection(strict.executor.complete(chatCall('hi'), contextOf())), {
    code: 'provider_failure',
    status: 502
  })
  t.match(
    strict.memory.lines.find(line => line.event === 'upstream_call_failed'),
    { error_type: 'tls_error' }
  )

  const careless = startPool(t, emulatorEnv(emulator, { UPSTREAM_VERIFY_SSL_CERTS: 'false' }))
  await careless.executor.complete(chatCall('hi'), contextOf())

  // A bundle switches verification on again, and this one does not know the server.
  const settings = { UPSTREAM_VERIFY_SSL_CERTS: 'false', UPSTREAM_CA_BUNDLE_FILE: pathOf('client.pem') }
  const both = startPool(t, emulatorEnv(emulator, settings))
  t.match(await rejection(both.executor.complete(chatCall('hi'), contextOf())), { code: 'provider_failure' })
})

t.test('the client certificate is shown to the API and never to the OAuth server', async t => {
  const emulator = await startTls(t, { ca: read('ca.pem') })
  const settings = {
    UPSTREAM_CA_BUNDLE_FILE: pathOf('ca.pem'),
    UPSTREAM_CERT_FILE: pathOf('client.pem'),
    UPSTREAM_KEY_FILE: pathOf('client.key')
  }
  const { executor } = startPool(t, emulatorEnv(emulator, settings))
  await executor.complete(chatCall('hi'), contextOf())
  t.same(
    emulator.requests.map(request => [request.path, request.clientCertificate]),
    [
      ['/api/v2/oauth', null],
      ['/api/v1/chat/completions', 'gateway test client']
    ]
  )
  emulator.reset()
  const certificateOnly = startPool(t, { UPSTREAM_BASE_URL: emulator.baseUrl, ...settings })
  await certificateOnly.executor.complete(chatCall('hi'), contextOf())
  t.same(
    emulator.requests.map(request => [request.headers.authorization, request.clientCertificate]),
    [[undefined, 'gateway test client']]
  )
})

t.test('the key may stand in the certificate file, and may have a password', async t => {
  const emulator = await startTls(t, { ca: read('ca.pem') })
  const base = { UPSTREAM_BASE_URL: emulator.baseUrl, UPSTREAM_CA_BUNDLE_FILE: pathOf('ca.pem') }
  const combined = temporaryFile(t, 'combined.pem', `${read('client.pem')}\n${read('client.key')}`)
  const one = startPool(t, { ...base, UPSTREAM_CERT_FILE: combined })
  await one.executor.complete(chatCall('hi'), contextOf())

  const locked = createPrivateKey(read('client.key')).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'open sesame'
  })
  const two = startPool(t, {
    ...base,
    UPSTREAM_CERT_FILE: pathOf('client.pem'),
    UPSTREAM_KEY_FILE: temporaryFile(t, 'locked.key', locked.toString()),
    UPSTREAM_KEY_FILE_PASSWORD: 'open sesame'
  })
  await two.executor.complete(chatCall('hi'), contextOf())
  t.equal(emulator.requests.length, 2)
})

t.test('a file that cannot be read is named by its setting at the start', async t => {
  for (const setting of ['UPSTREAM_CA_BUNDLE_FILE', 'UPSTREAM_CERT_FILE']) {
    try {
      const settings = parseSettings({ [setting]: '/nowhere/secret-name.pem' })
      openNativeConnections({
        settings,
        baseUrl: settings.upstream.baseUrl,
        proxyFor: () => undefined,
        profileFiles: { profileId: 'p1', paths: {}, log: createMemoryLog().log }
      })
      t.fail('it must be refused')
    } catch (thrown) {
      t.ok(thrown instanceof TransportConfigurationError)
      t.match(thrown, { setting, message: `${setting} cannot be read.` })
    }
  }
})

/** An API that accepts certificates of the authority, and keeps no connection. */
async function startApi(t: Test, { cert, key, ca }: { cert: string; key: string; ca: string }) {
  const names: unknown[] = []
  const server = createServer({ cert, key, ca, requestCert: true }, (request, response) => {
    names.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN)
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
    response.end(JSON.stringify({ object: 'list', data: [] }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { baseUrl: `https://127.0.0.1:${port}/api/v1`, names, server }
}

t.test('renewed files of the settings are used by the next connection, and half renewed ones by none', async t => {
  const [before, after] = [createAuthority(t, 'before'), createAuthority(t, 'after')]
  const issued = before.issue({ name: 'first' })
  const api = await startApi(t, { ...before.issue({ name: 'api' }), ca: before.cert + after.cert })
  const folder = createTemporaryFolder(t)
  const [caFile, certFile, keyFile] = ['ca.pem', 'tls.crt', 'tls.key'].map(name => join(folder, name)) as [
    string,
    string,
    string
  ]
  const encrypt = (key: string) =>
    createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame' })
  writeFileSync(caFile, before.cert)
  writeFileSync(certFile, issued.cert)
  writeFileSync(keyFile, encrypt(issued.key))
  const { executor, memory } = startPool(t, {
    UPSTREAM_BASE_URL: api.baseUrl,
    UPSTREAM_CA_BUNDLE_FILE: caFile,
    UPSTREAM_CERT_FILE: certFile,
    UPSTREAM_KEY_FILE: keyFile,
    UPSTREAM_KEY_FILE_PASSWORD: 'open sesame'
  })
  const ask = async () => {
    await executor.listModels(contextOf())
    return api.names.at(-1)
  }
  t.equal(await ask(), 'first')
  const renewed = after.issue({ name: 'second' })
  writeFileSync(certFile, renewed.cert)
  const unusable = () => memory.lines.find(line => line.event === 'provider_tls_files_unusable')
  await waitUntil(async () => {
    t.equal(await ask(), 'first')
    return unusable() !== undefined
  }, 'the change is seen')
  t.match(unusable(), {
    cause: 'UPSTREAM_KEY_FILE must hold the key of the certificate that UPSTREAM_CERT_FILE names.'
  })
  writeFileSync(keyFile, encrypt(renewed.key))
  await waitUntil(async () => (await ask()) === 'second', 'both files are of the new certificate')
  // The API moves to the other authority: the bundle that is written for it is the one that counts.
  const { cert, key } = after.issue({ name: 'api' })
  api.server.setSecureContext({ cert, key, ca: after.cert })
  t.match(await rejection(ask()), { code: 'provider_failure' })
  writeFileSync(caFile, after.cert)
  await waitUntil(async () => (await ask().catch(() => undefined)) === 'second', 'the new authority is trusted')
})
