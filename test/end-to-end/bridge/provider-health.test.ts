// What the calls of two workers have seen of their providers: in the machine document of both, in the
// metrics, after a worker has exited (bridge.md 5.4; operations.md 7.5).

import t from 'tap'
import { get, post } from '../../support/client.ts'
import { readLog, startEmulator } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { chatBaseUrl, writeChatProfile } from '../../support/profile-gateway.ts'
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
  const line = readLog(gateway).find(({ event }) => event === 'upstream_call_failed')
  t.match(line, { profile_id: 'broken', alias: 'a/broken', upstream_model: 'emulator-large', error_type: 'http_503' })

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
