// What operators configure of the gateway's own connections: how long idle ones stay, and the certificate that they show.
import { once } from 'node:events'
import { copyFileSync, renameSync } from 'node:fs'
import { Agent, get as getPlain, type IncomingMessage } from 'node:http'
import { get as getSecure, Agent as TlsAgent } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { createAuthority, type Issued } from '../../support/certificates.ts'
import { readLog, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

/** Reads a response to its end, so that its connection is kept. */
async function finish(request: ReturnType<typeof getPlain>) {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return { status: response.statusCode, headers: response.headers, socket: request.socket }
}

t.test('operations-keepalive: how long an idle connection stays open is a setting, and clients are told', async t => {
  const gateway = await startGateway(t, {
    env: { GATEWAY_KEEP_ALIVE_SECONDS: '620', GATEWAY_METRICS_ENABLED: 'true', GATEWAY_METRICS_PORT: '0' }
  })
  const port = readLog(gateway).find(({ event }) => event === 'metrics_listening')?.port
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (const url of [`${gateway.url}/health`, `http://127.0.0.1:${port}/metrics`]) {
    const [first, second] = [await finish(getPlain(url, { agent })), await finish(getPlain(url, { agent }))]
    t.same([first.status, first.headers['keep-alive']], [200, 'timeout=620'], url)
    t.equal(second.socket, first.socket, 'the connection was kept')
  }
})

t.test('an idle connection is closed behind its time', async t => {
  const gateway = await startGateway(t, { env: { GATEWAY_KEEP_ALIVE_SECONDS: '1' } })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const { headers, socket } = await finish(getPlain(`${gateway.url}/health`, { agent }))
  t.equal(headers['keep-alive'], 'timeout=1')
  if (socket?.closed === false) await once(socket, 'close')
  t.pass('the gateway has closed it')
})

async function startSecure(t: Test, pair: Issued) {
  const folder = createTemporaryFolder(t)
  const files = { key: join(folder, 'tls.key'), cert: join(folder, 'tls.crt') }
  /** As a renewal tool does it: each file is replaced by a rename. */
  const replace = (name: keyof typeof files, from: string) => {
    copyFileSync(from, `${files[name]}.new`)
    renameSync(`${files[name]}.new`, files[name])
  }
  const renew = ({ keyFile, certFile }: Issued) => {
    replace('key', keyFile)
    replace('cert', certFile)
  }
  renew(pair)
  const gateway = await startGateway(t, {
    env: { GATEWAY_USE_HTTPS: 'true', GATEWAY_HTTPS_KEY_FILE: files.key, GATEWAY_HTTPS_CERT_FILE: files.cert }
  })
  return { gateway, renew, replace, url: `${gateway.url.replace('http:', 'https:')}/health` }
}

t.test('operations-cert-signal: a renewed certificate is shown to new connections after SIGHUP', async t => {
  const authority = createAuthority(t)
  const [first, second, third] = ['first', 'second', 'third'].map(name => authority.issue({ name })) as [
    Issued,
    Issued,
    Issued
  ]
  const { gateway, renew, replace, url } = await startSecure(t, first)
  const ca = authority.cert
  const kept = new TlsAgent({ keepAlive: true, maxSockets: 1, ca })
  t.teardown(() => kept.destroy())
  const shownTo = async (agent: TlsAgent) => {
    const { status, socket } = await finish(getSecure(url, { agent }))
    t.equal(status, 200)
    return (socket as TLSSocket).getPeerCertificate().subject.CN
  }
  const shownToNew = () => shownTo(new TlsAgent({ ca, maxCachedSessions: 0 }))
  t.equal(await shownTo(kept), 'first')

  renew(second)
  gateway.hangUp()
  await waitUntil(async () => (await shownToNew()) === 'second', 'the worker has the new certificate')
  t.equal(await shownTo(kept), 'first', 'an open connection stays')

  // A key without its certificate yet.
  replace('key', third.keyFile)
  gateway.hangUp()
  t.equal(await shownToNew(), 'second')
  const failed = readLog(gateway).filter(({ event }) => event === 'certificate_reload_failed')
  t.equal(failed.length, 1)
  t.match(failed[0], { level: 'ERROR', msg: /GATEWAY_HTTPS_KEY_FILE must hold the key/ })

  replace('cert', third.certFile)
  await waitUntil(async () => (await shownToNew()) === 'third', 'the pair is taken without a signal once it is whole')
})
