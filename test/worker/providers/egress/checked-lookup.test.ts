import t from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { createDestinationGuard, type createPinnedLookup } from '../../../../worker/providers/egress/checked-lookup.ts'
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
  const resolve = (...addresses: string[]) =>
    createDestinationGuard('public', { resolve: async () => addresses }).lookup
  t.same(await ask(resolve('8.8.8.8', '2606:4700::1'), true), [
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1', family: 6 }
  ])
  t.same(await ask(resolve('8.8.8.8'), false), ['8.8.8.8', 4])
  for (const addresses of [[], ['10.0.0.1'], ['8.8.8.8', '127.0.0.1']]) {
    t.match(await rejection(ask(resolve(...addresses), true)), { code: 'DESTINATION_REFUSED' })
  }
  const loopback = (...addresses: string[]) =>
    createDestinationGuard('loopback', { resolve: async () => addresses }).lookup
  t.same(await ask(loopback('127.0.0.1'), false), ['127.0.0.1', 4])
  t.match(await rejection(ask(loopback('8.8.8.8'), false)), { code: 'DESTINATION_REFUSED' })
  const failing = createDestinationGuard('public', {
    resolve: () => Promise.reject(new Error('ENOTFOUND'))
  }).lookup
  t.match(await rejection(ask(failing, true)), { code: 'DESTINATION_REFUSED' })
})

t.test('a refusal names the host that was looked up, and why it has no address', async t => {
  const refusalOf = async (resolve: () => Promise<string[]>) => {
    const thrown = await rejection(ask(createDestinationGuard('public', { resolve }).lookup, true))
    return thrown instanceof Error ? thrown.message : thrown
  }
  const unknown = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  t.equal(await refusalOf(() => Promise.reject(unknown)), 'The host host.example cannot be resolved (ENOTFOUND).')
  t.equal(
    await refusalOf(() => Promise.reject(new Error('No name server gave an address.', { cause: unknown }))),
    'The host host.example cannot be resolved (ENOTFOUND).'
  )
  t.equal(await refusalOf(() => Promise.reject(new Error('late'))), 'The host host.example cannot be resolved.')
  t.equal(await refusalOf(async () => []), 'The host host.example cannot be resolved.')
  t.equal(
    await refusalOf(async () => ['8.8.8.8', '10.0.0.1']),
    'The host host.example has an address of the class private, which is not allowed by the policy public.'
  )
})

t.test('an embedded address is as public as the address inside of it', async t => {
  const { isAllowed } = createDestinationGuard('public')
  for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '64:ff9b::808:808']) t.equal(isAllowed(address), true, address)
  for (const address of ['::ffff:10.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::808:808', '::808:808', '2002:808:808::']) {
    t.equal(isAllowed(address), false, address)
  }
  const loopback = createDestinationGuard('loopback')
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    t.equal(loopback.isAllowed(address), true, address)
  }
  for (const address of ['8.8.8.8', '0.0.0.0', '::', '::2', '64:ff9b::808:808']) {
    t.equal(loopback.isAllowed(address), false, address)
  }
})

t.test('localhost is resolved by the system', async t => {
  const found = await ask(createDestinationGuard('loopback').lookup, false).catch(() => undefined)
  t.equal(found, undefined, 'another name is not')
  const { lookup } = createDestinationGuard('loopback')
  const addresses = await new Promise((resolve, reject) =>
    lookup('localhost', { all: true }, (error, given) => (error === null ? resolve(given) : reject(error)))
  )
  t.match(addresses, [{ address: /^(127\.0\.0\.1|::1)$/ }])
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
