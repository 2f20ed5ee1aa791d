// A provider inside a company, described by a profile file alone: behind an authenticating proxy, with a
// certificate of a private authority, for clients with a certificate (providers.md 1; cases 4 and 5
// of providers.md 4).

import { X509Certificate } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createEmulator } from '../../../ops/emulator/server.ts'
import { createAuthority } from '../../support/certificates.ts'
import { get, post, readFrames } from '../../support/client.ts'
import { startForwardProxy } from '../../support/forward-proxy.ts'
import { readLog } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { scrape } from '../../support/scrape.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const PAIR = 'corp:proxy-password-1f2e'
const HOST = 'llm.corp.example'

const authority = createAuthority(t)
const server = authority.issue({ name: 'corporate provider', hosts: [`DNS:${HOST}`], days: 20 })
const client = authority.issue({ name: 'gateway', days: 10 })
const renewed = authority.issue({ name: 'gateway renewed', days: 40 })

const emulator = await createEmulator({ tls: { key: server.key, cert: server.cert, ca: authority.cert } })
t.teardown(() => emulator.close())
const proxy = await startForwardProxy(t, { credential: PAIR })

const folder = createTemporaryFolder(t)
const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
copyFileSync(client.certFile, certFile)
copyFileSync(client.keyFile, keyFile)

const baseUrl = chatBaseUrl(emulator, 'corp').replace(/\/\/[^:/]+/, `//${HOST}`)
const connection = {
  allow_loopback: false,
  network_policy_ref: 'public-openai',
  tls_policy_ref: 'private-ca',
  ca_file: authority.certFile,
  client_cert_file: certFile,
  client_key_file: keyFile,
  proxy: proxy.url,
  proxy_credential_env: 'PROXY_PAIR'
}
const gateway = await startProfileGateway(t, {
  profiles: [
    writeChatProfile({ id: 'corp', baseUrl, aliases: [{ alias: 'corp/model' }], more: connection }),
    writeChatProfile({
      id: 'wrong',
      baseUrl,
      aliases: [{ alias: 'wrong/model' }],
      more: { ...connection, proxy_credential_env: 'WRONG_PAIR' }
    })
  ],
  env: { PROXY_PAIR: PAIR, WRONG_PAIR: 'corp:old-password-77', GATEWAY_METRICS_ENABLED: 'true' }
})

function ask(model: string, stream = false) {
  const messages = [{ role: 'user', content: '[[text:from inside]]' }]
  return post(`${gateway.url}/v1/chat/completions`, { model, stream, messages })
}

t.test('every call goes through the tunnel, with the certificate of the file', async t => {
  const whole = await ask('corp/model')
  t.equal(whole.status, 200, whole.text)
  t.equal(whole.json.choices[0].message.content, 'from inside')
  const frames = readFrames((await ask('corp/model', true)).text)
  t.equal(frames.map(frame => frame.choices?.[0]?.delta?.content ?? '').join(''), 'from inside')
  t.ok(proxy.seen.length > 0)
  t.ok(proxy.seen.every(line => line === `CONNECT ${HOST}:${emulator.port}`))
  t.ok(emulator.requests.every(({ clientCertificate }) => clientCertificate === 'gateway'))
})

t.test('the end of both certificates is shown, and a renewed one is used without a restart', async t => {
  const endOf = (pem: string) => new Date(new X509Certificate(pem).validTo)
  const readEntry = async () => {
    const { json } = await get(`${gateway.url}/bridge/models`)
    return json.providers.find(({ profile_id }: { profile_id: string }) => profile_id === 'corp')
  }
  const isShown = async (pem: string) => {
    const { certificates } = await readEntry()
    return certificates.client_expires_at === endOf(pem).toISOString()
  }
  await waitUntil(() => isShown(client.cert), 'the certificate of the gateway is shown')
  t.match(await readEntry(), { certificates: { provider_expires_at: endOf(server.cert).toISOString() } })
  const { samples } = (await scrape(gateway)).family('gateway_provider_certificate_expiry_timestamp_seconds')
  const expiry = samples.find(({ labels }) => labels.provider === 'corp')
  t.equal(expiry?.value, endOf(server.cert).getTime() / 1000)

  copyFileSync(renewed.certFile, certFile)
  copyFileSync(renewed.keyFile, keyFile)
  await waitUntil(async () => {
    // Kept connections have the older certificate.
    proxy.cut()
    t.equal((await ask('corp/model')).status, 200)
    return emulator.requests.at(-1)?.clientCertificate === 'gateway renewed'
  }, 'the renewed certificate is used')
  await waitUntil(() => isShown(renewed.cert), 'and shown')
})

t.test('a wrong credential of the proxy is named, and its value is not shown', async t => {
  const { status, json, text } = await ask('wrong/model')
  t.equal(status, 502)
  t.equal(json.error.code, 'provider_failure')
  await gateway.stop()
  const lines = readLog(gateway).filter(({ event }) => event === 'upstream_call_failed')
  t.match(lines.at(-1), { profile_id: 'wrong', alias: 'wrong/model', reason_id: 'proxy_authentication' })
  for (const output of [text, JSON.stringify(readLog(gateway))]) t.notMatch(output, /password/)
})
