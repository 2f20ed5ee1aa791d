import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createSystemResolver } from '../../../../worker/providers/egress/system-resolver.ts'
import { rejection } from '../support/rejection.ts'

/** Lookups that end when the test says so. */
function createLookUps() {
  const running: Array<{ host: string; give(addresses: string[]): void; fail(): void }> = []
  const lookUp = (host: string): Promise<string[]> =>
    new Promise((resolve, reject) => {
      running.push({ host, give: resolve, fail: () => reject(new Error('EAI_AGAIN')) })
    })
  return { running, lookUp }
}

t.test('connections share one lookup of a name, and each later one asks again', async t => {
  const { running, lookUp } = createLookUps()
  const resolve = createSystemResolver({ lookUp })
  const both = [resolve('vllm'), resolve('vllm')]
  await setImmediate()
  t.equal(running.length, 1)
  running[0]?.give(['10.0.0.1'])
  t.same(await Promise.all(both), [['10.0.0.1'], ['10.0.0.1']])
  const later = resolve('vllm')
  await setImmediate()
  running[1]?.give(['10.0.0.2'])
  t.same(await later, ['10.0.0.2'])
  const failing = resolve('vllm')
  await setImmediate()
  running[2]?.fail()
  t.match(await rejection(failing), { message: 'EAI_AGAIN' })
  const afterFailure = resolve('vllm')
  await setImmediate()
  running[3]?.give(['10.0.0.3'])
  t.same(await afterFailure, ['10.0.0.3'], 'a failure is not remembered')
})

t.test('a lookup that takes too long is given up, and keeps one turn however often its name is wanted', async t => {
  const { running, lookUp } = createLookUps()
  const resolve = createSystemResolver({ lookUp, timeoutMs: 20 })
  for (let round = 0; round < 3; round += 1) {
    t.match(await rejection(resolve('silent')), { message: 'The system gave no address in time.' })
  }
  t.equal(running.length, 1)
  running[0]?.fail()
  await setImmediate()
  const next = resolve('silent')
  await setImmediate()
  running[1]?.give(['10.0.0.1'])
  t.same(await next, ['10.0.0.1'])
})

t.test('the number of lookups at once and of names that wait is bounded', async t => {
  const { running, lookUp } = createLookUps()
  const resolve = createSystemResolver({ lookUp, timeoutMs: 60_000 })
  const wanted = Array.from({ length: 8 + 256 }, (_, index) => resolve(`host-${index}`))
  await setImmediate()
  t.equal(running.length, 8)
  t.match(await rejection(resolve('one-more')), { code: 'gateway_overloaded' })
  for (let index = 0; index < wanted.length; index += 1) {
    running[index]?.give([`10.0.${index >> 8}.${index & 255}`])
    await wanted[index]
    await setImmediate()
  }
  t.equal(running.length, wanted.length)
})

t.test('the system knows this machine', async t => {
  const addresses = await createSystemResolver()('localhost')
  t.ok(
    addresses.every(address => address === '127.0.0.1' || address === '::1'),
    addresses.join()
  )
})
