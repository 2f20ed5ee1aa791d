import t from 'tap'
import { readCatalogModels } from '../../../shared/catalog/catalog.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createLocalControlChannel } from '../../../worker/control/local-control-channel.ts'

const limited = parseSettings({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":1}' })
const models = readCatalogModels([{ id: 'one' }])
const never = new AbortController().signal

t.test('without a supervisor the concurrency limits are applied within the process', async t => {
  const channel = createLocalControlChannel(limited)
  const first = await channel.acquireSlot('one', never)
  const second = channel.acquireSlot('one', never)
  first?.()
  t.type(await second, 'function')
})

t.test(
  'without a supervisor a fresh catalog is not fetched again and a failed refresh resolves with the stale one',
  async t => {
    const clock = { nowMs: 0 }
    const channel = createLocalControlChannel(limited, { nowMs: () => clock.nowMs })
    let fetched = 0
    const fetchModels = async () => {
      fetched += 1
      if (fetched > 1) throw new Error('down')
      return models
    }
    t.equal((await channel.refreshCatalog(fetchModels, { profileId: 'native-upstream', force: false })).stale, false)
    clock.nowMs = 29_999
    await channel.refreshCatalog(fetchModels, { profileId: 'native-upstream', force: false })
    t.equal(fetched, 1)
    clock.nowMs = 30_000
    t.equal((await channel.refreshCatalog(fetchModels, { profileId: 'native-upstream', force: false })).stale, true)
    t.equal(channel.catalogSnapshot()?.stale, true)
  }
)

t.test(
  'without a supervisor and without a catalog a failed refresh rejects with the error of the discovery',
  async t => {
    const channel = createLocalControlChannel(limited)
    await t.rejects(
      channel.refreshCatalog(() => Promise.reject(new Error('no route')), {
        profileId: 'native-upstream',
        force: false
      }),
      { message: 'no route' }
    )
  }
)
