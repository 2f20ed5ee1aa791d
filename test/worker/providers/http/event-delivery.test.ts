import t from 'tap'
import type { NormalizedEvent } from '../../../../worker/normalized/index.ts'
import { EventDelivery } from '../../../../worker/providers/http/event-delivery.ts'
import type { ResponseSink } from '../../../../worker/providers/types.ts'
import { contextOf } from '../support/native.ts'

t.test('cost 10: very many events of one read are delivered after a hold', async t => {
  const drained = Promise.withResolvers<void>()
  const delivered: NormalizedEvent[] = []
  const sink: ResponseSink = {
    push(events) {
      for (const event of events) delivered.push(event)
      return delivered.length > 1
    },
    relay: () => {
      throw new Error('Nothing is relayed.')
    },
    whenDrained: () => drained.promise
  }
  const done = Promise.withResolvers<void>()
  const control = { pause: () => undefined, resume: () => undefined, cancel: () => undefined }
  const delivery = new EventDelivery({
    sink,
    context: contextOf(),
    filter: undefined,
    completer: undefined,
    control,
    done
  })
  const start: NormalizedEvent = { type: 'start', providerModel: 'm', metadata: {} }
  delivery.add([start])
  // More arguments than the stack of a call takes.
  const texts = Array.from({ length: 300_000 }, (): NormalizedEvent => ({ type: 'text-delta', text: 'a' }))
  delivery.add([{ type: 'text-start' }, ...texts, { type: 'text-end' }])
  delivery.add([{ type: 'finish', reason: 'stop', providerReason: 'stop', metadata: {} }])
  drained.resolve()
  await done.promise
  delivery.close()
  t.equal(delivered.length, 300_004)
  t.equal(delivered.at(-1)?.type, 'finish')
})
