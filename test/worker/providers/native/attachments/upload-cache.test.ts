import t from 'tap'
import { GatewayError } from '../../../../../worker/normalized/index.ts'
import {
  createUploadCache,
  type UploadedFile
} from '../../../../../worker/providers/native/attachments/upload-cache.ts'
import { rejection } from '../../support/rejection.ts'

const never = new AbortController().signal
const file = (fileId: string): UploadedFile<string> => ({ fileId, bytes: 1, kind: 'image' })

t.test('a file is uploaded once until its entry expires', async t => {
  const clock = { nowMs: 0 }
  const cache = createUploadCache<string>({ entriesMax: 10, now: () => clock.nowMs })
  let produced = 0
  const get = () => cache.getOrProduce('k', 1000, never, async () => file(`f${++produced}`))
  t.equal((await get()).fileId, 'f1')
  clock.nowMs = 999
  t.equal((await get()).fileId, 'f1')
  clock.nowMs = 1000
  t.equal((await get()).fileId, 'f2')
})

t.test('the least recently used file is forgotten first', async t => {
  const cache = createUploadCache<string>({ entriesMax: 2, now: () => 0 })
  const produced: string[] = []
  const get = (key: string) =>
    cache.getOrProduce(key, 1000, never, async () => {
      produced.push(key)
      return file(key)
    })
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await get(key)
  t.same(produced, ['a', 'b', 'c', 'b'])
  t.equal(cache.size, 2)
})

t.test('requests at the same time share one upload, and a failure is not kept', async t => {
  const cache = createUploadCache<string>({ entriesMax: 2, now: () => 0 })
  const upload = Promise.withResolvers<UploadedFile<string>>()
  let produced = 0
  const produce = () => {
    produced += 1
    return upload.promise
  }
  const both = [cache.getOrProduce('k', 1, never, produce), cache.getOrProduce('k', 1, never, produce)]
  upload.reject(new GatewayError('provider_failure'))
  for (const one of both) t.match(await rejection(one), { code: 'provider_failure' })
  t.equal(produced, 1)
  t.equal((await cache.getOrProduce('k', 1, never, async () => file('f'))).fileId, 'f')
})

t.test('an upload is aborted when the last of its waiting requests is', async t => {
  const cache = createUploadCache<string>({ entriesMax: 2, now: () => 0 })
  const signals: AbortSignal[] = []
  const produce = (signal: AbortSignal) => {
    signals.push(signal)
    return new Promise<UploadedFile<string>>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }
  const first = new AbortController()
  const second = new AbortController()
  const waits = [
    cache.getOrProduce('k', 1, first.signal, produce),
    cache.getOrProduce('k', 1, second.signal, produce)
  ] as const
  first.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(waits[0]), { code: 'client_disconnected' })
  t.equal(signals[0]?.aborted, false)
  second.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(waits[1]), { code: 'client_disconnected' })
  t.equal(signals[0]?.aborted, true)
  t.equal((await cache.getOrProduce('k', 1, never, async () => file('new'))).fileId, 'new')
  t.match(await rejection(cache.getOrProduce('x', 1, first.signal, produce)), { code: 'client_disconnected' })
})
