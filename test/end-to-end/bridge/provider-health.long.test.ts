// What the calls of two workers have seen of their providers: in the machine document of both, in the
// metrics, after a worker has exited (bridge.md 5.4; operations.md 7.5).

import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { createAuthority } from '../../support/certificates.ts'
import { get, post } from '../../support/client.ts'
import { startForwardProxy } from '../../support/forward-proxy.ts'
import { readLog, startEmulator } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { startProfileProcesses } from '../../support/profile-processes.ts'
import { scrape } from '../../support/scrape.ts'
import { sendJson, startStub } from '../../worker/providers/support/stub-upstream.ts'

interface ProviderEntry {
  profile_id: string
  last_success_at: string | null
  consecutive_failures: number
  last_failures: Array<{ class: string; at: string }>
}

t.test('both workers show what the calls of both have seen, and what a dead one saw stays', async t => {
  const emulator = await startEmulator(t)
  let status = 503
  const broken = await startStub((_request, response) =>
    sendJson(response, status, { error: { message: 'My words', type: 'server_error' } })
  )
  t.teardown(() => broken.close())
  const gateway = await startProfileProcesses(t, {
    profiles: [
      writeChatProfile({ id: 'works', baseUrl: chatBaseUrl(emulator), aliases: [{ alias: 'a/works' }] }),
      writeChatProfile({ id: 'broken', baseUrl: `${broken.origin}/v1`, aliases: [{ alias: 'a/broken' }] }),
      writeChatProfile({ id: 'unused', baseUrl: `${broken.origin}/v1`, aliases: [{ alias: 'a/unused' }] })
    ],
    env: { GATEWAY_WORKERS: '2', GATEWAY_METRICS_ENABLED: 'true' }
  })
  const ask = (model: string) =>
    post(
      `${gateway.url}/v1/chat/completions`,
      { model, messages: [{ role: 'user', content: 'hi' }] },
      { connection: 'close' }
    )
  const readProviders = async (): Promise<ProviderEntry[]> => {
    const { json } = await get(`${gateway.url}/bridge/models`, { connection: 'close' })
    return json.providers
  }
  /** Connections of their own reach both workers. */
  const shownByAll = (isShown: (providers: ProviderEntry[]) => boolean, what: string) =>
    waitUntil(async () => {
      const all = await Promise.all(Array.from({ length: 12 }, readProviders))
      return all.every(isShown)
    }, what)
  const find = (providers: ProviderEntry[], id: string) => providers.find(({ profile_id }) => profile_id === id)

  t.match(await readProviders(), [
    { profile_id: 'broken', last_success_at: null, consecutive_failures: 0, last_failures: [] },
    { profile_id: 'unused' },
    { profile_id: 'works', inventory: null, certificates: { provider_expires_at: null, client_expires_at: null } }
  ])

  const startedAtMs = Date.now()
  for (let count = 0; count < 6; count += 1) t.equal((await ask('a/broken')).status, 503)
  status = 429
  t.equal((await ask('a/broken')).status, 429)
  t.equal((await ask('a/works')).status, 200)
  await shownByAll(providers => {
    const works = find(providers, 'works')
    return works?.last_success_at !== null && find(providers, 'broken')?.consecutive_failures === 7
  }, 'both workers show the sum')
  const providers = await readProviders()
  const seen = find(providers, 'broken')
  t.same(seen?.last_failures.map(failure => failure.class).sort(), ['http_429', 'http_503'])
  for (const { at } of seen?.last_failures ?? []) t.ok(Date.parse(at) >= startedAtMs)
  t.match(find(providers, 'unused'), { last_success_at: null, last_failures: [] })
  t.notMatch(JSON.stringify(providers), /My words/)
  t.equal((await get(`${gateway.url}/ready`)).status, 200, 'readiness does not depend on it')
  const findLine = () => readLog(gateway).find(({ event }) => event === 'upstream_call_failed')
  await waitUntil(() => findLine() !== undefined, 'the line is in the log')
  t.match(findLine(), {
    profile_id: 'broken',
    alias: 'a/broken',
    upstream_model: 'emulator-large',
    error_type: 'http_503'
  })

  const metrics = await scrape(gateway)
  const sampleOf = (name: string, labels: Record<string, string>) =>
    metrics
      .family(name)
      .samples.find(sample => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))?.value
  t.equal(sampleOf('gateway_provider_consecutive_failures', { provider: 'broken' }), 7)
  const failedAt = sampleOf('gateway_provider_last_failure_timestamp_seconds', {
    provider: 'broken',
    status: 'http_429'
  })
  t.ok(failedAt !== undefined && failedAt * 1000 >= startedAtMs)
  const succeededAt = sampleOf('gateway_provider_last_success_timestamp_seconds', { provider: 'works' })
  t.ok(succeededAt !== undefined && succeededAt * 1000 >= startedAtMs)

  for (const { worker_pid: pid } of readLog(gateway).filter(({ event }) => event === 'worker_ready')) {
    process.kill(Number(pid), 'SIGKILL')
  }
  await waitUntil(
    () => readLog(gateway).filter(({ event }) => event === 'worker_ready').length === 4,
    'both workers were replaced'
  )
  await shownByAll(
    all => JSON.stringify(find(all, 'broken')) === JSON.stringify(seen),
    'new workers show what others saw'
  )
  status = 400
  t.equal((await ask('a/broken')).status, 400)
  await shownByAll(all => find(all, 'broken')?.last_failures[0]?.class === 'http_400', 'a further class')
  t.equal(find(await readProviders(), 'broken')?.consecutive_failures, 7, 'a mistake of a client does not count')
})

t.test('the end of both certificates is shown, in the document, in the metrics and to the admin', async t => {
  const authority = createAuthority(t)
  const server = authority.issue({ name: 'provider', days: 20, hosts: ['DNS:up.example'] })
  const client = authority.issue({ name: 'gateway', days: 10 })
  const tls = { cert: server.cert, key: server.key, ca: authority.cert, requestCert: true }
  const stub = await startStub((_request, response) => sendJson(response, 500, {}), { tls })
  t.teardown(() => stub.close())
  const gateway = await startProfileGateway(t, {
    profiles: [
      writeChatProfile({
        id: 'secured',
        baseUrl: `https://up.example:${stub.port}/v1`,
        aliases: [{ alias: 'a/secured' }],
        more: {
          allow_loopback: false,
          network_policy_ref: 'public-openai',
          proxy: (await startForwardProxy(t)).url,
          tls_policy_ref: 'private-ca',
          ca_file: authority.certFile,
          client_cert_file: client.certFile,
          client_key_file: client.keyFile
        }
      })
    ],
    env: {
      GATEWAY_METRICS_ENABLED: 'true',
      GATEWAY_ADMIN_API_ENABLED: 'true',
      GATEWAY_ADMIN_API_KEY: 'admin-key'
    }
  })
  await post(`${gateway.url}/v1/chat/completions`, {
    model: 'a/secured',
    messages: [{ role: 'user', content: 'hi' }]
  })
  const readProviders = async () => (await get(`${gateway.url}/bridge/models`)).json.providers
  await waitUntil(async () => (await readProviders())[0].consecutive_failures === 1, 'the failure is shown')
  const providers = await readProviders()
  const endOf = ({ cert }: { cert: string }) => new X509Certificate(cert).validToDate.toISOString()
  t.match(providers, [
    {
      profile_id: 'secured',
      last_failures: [{ class: 'http_500' }],
      certificates: { provider_expires_at: endOf(server), client_expires_at: endOf(client) }
    }
  ])
  const listed = await get(`${gateway.url}/_admin/logs/providers`, { 'x-admin-api-key': 'admin-key' })
  t.same(listed.json, { data: providers })
  t.equal((await get(`${gateway.url}/_admin/logs/providers`)).status, 403)
  const metrics = await scrape(gateway)
  const endsAt = (name: string) =>
    metrics.family(name).samples.find(({ labels }) => labels.provider === 'secured')?.value
  t.equal(endsAt('gateway_provider_certificate_expiry_timestamp_seconds'), Date.parse(endOf(server)) / 1000)
  t.equal(endsAt('gateway_provider_client_certificate_expiry_timestamp_seconds'), Date.parse(endOf(client)) / 1000)
})
