import t from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { createCheckedLookup, type createPinnedLookup } from '../../../../worker/providers/egress/checked-lookup.ts'
import { chatCall, contextOf, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'

function ask(lookup: ReturnType<typeof createPinnedLookup>, all: boolean): Promise<unknown> {
  return new Promise((resolve, reject) => {
    lookup('host.example', { all }, (error, address, family) =>
      error === null ? resolve(all ? address : [address, family]) : reject(error)
    )
  })
}

t.test('a host is resolved only when the policy allows all of its addresses', async t => {
  const resolve = (...addresses: string[]) => createCheckedLookup('public', async () => addresses)
  t.same(await ask(resolve('8.8.8.8', '2606:4700::1'), true), [
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1', family: 6 }
  ])
  t.same(await ask(resolve('8.8.8.8'), false), ['8.8.8.8', 4])
  for (const addresses of [[], ['10.0.0.1'], ['8.8.8.8', '127.0.0.1']]) {
    t.match(await rejection(ask(resolve(...addresses), true)), { code: 'DESTINATION_REFUSED' })
  }
  t.same(
    await ask(
      createCheckedLookup('loopback', async () => ['127.0.0.1']),
      false
    ),
    ['127.0.0.1', 4]
  )
  t.match(
    await rejection(
      ask(
        createCheckedLookup('loopback', async () => ['8.8.8.8']),
        false
      )
    ),
    {
      code: 'DESTINATION_REFUSED'
    }
  )
  const failing = createCheckedLookup('public', () => Promise.reject(new Error('ENOTFOUND')))
  t.match(await rejection(ask(failing, true)), { code: 'DESTINATION_REFUSED' })
})

t.test('an upstream on a refused address fails with a destination mismatch and is not retried', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const named = (url: string) => url.replace('127.0.0.1', 'localhost')
  const env = emulatorEnv(emulator, {
    UPSTREAM_BASE_URL: named(emulator.baseUrl),
    UPSTREAM_MAX_RETRIES: '3'
  })
  const refused = startPool(t, env, { addressPolicy: 'public' })
  t.match(await rejection(refused.executor.complete(chatCall('hi'), contextOf())), {
    code: 'destination_mismatch',
    status: 502
  })
  t.equal(emulator.stats.activeChatRequestsMax, 0)
  const allowed = startPool(t, env, { addressPolicy: 'loopback' })
  await allowed.executor.complete(chatCall('hi'), contextOf())
})
