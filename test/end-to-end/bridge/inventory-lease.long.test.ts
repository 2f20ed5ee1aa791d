// A worker that is killed while it asks a provider for its models: its lease goes to another one.

import t from 'tap'
import { get } from '../../support/client.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { startProfileProcesses } from '../../support/profile-processes.ts'
import { listOf, startProvider, writeDiscovered } from './listing-provider.ts'

t.test('providers 14: a discovery whose worker is killed is made by the next worker', async t => {
  const { state, baseUrl } = await startProvider(t, listOf('one'))
  state.isSilent = true
  const { url, process: supervisor } = await startProfileProcesses(t, {
    profiles: [writeDiscovered({ id: 'local', baseUrl })],
    // A lease that no worker ends lasts two seconds longer than this.
    env: { GATEWAY_WORKERS: '2', UPSTREAM_TIMEOUT: '120' }
  })
  await waitUntil(() => state.lists === 1, 'one worker asks')
  const workers = readChildPids(supervisor.pid ?? 0)
  for (const pid of workers) process.kill(pid, 'SIGKILL')
  state.isSilent = false
  await waitUntil(
    async () => (await get(`${url}/ready`).catch(() => undefined))?.json?.model_catalog?.state === 'fresh',
    'another worker has asked',
    20_000
  )
  t.same(
    (await get(`${url}/v1/models`)).json.data.map(({ id }: { id: string }) => id),
    ['local/one']
  )
  t.ok(state.lists <= 3, 'and no crowd of them')
})
