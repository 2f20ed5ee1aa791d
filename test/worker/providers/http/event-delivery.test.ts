import t from 'tap'
import { GatewayError, type NormalizedEvent } from '../../../../worker/normalized/index.ts'
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

t.test('frames that arrive during a hold follow it in order, and an error comes behind them', async t => {
  const drained = Promise.withResolvers<void>()
  const pushed: Array<{ types: string[]; frames: string | undefined }> = []
  const sink: ResponseSink = {
    push(events, frames) {
      const text = frames === undefined ? undefined : Buffer.from(frames).toString()
      pushed.push({ types: events.map(({ type }) => type), frames: text })
      return pushed.length > 1
    },
    relay: () => {
      throw new Error('Nothing is relayed.')
    },
    whenDrained: () => drained.promise
  }
  const steps: string[] = []
  const control = { pause: () => steps.push('pause'), resume: () => steps.push('resume'), cancel: () => undefined }
  const done = Promise.withResolvers<void>()
  const options = { sink, context: contextOf(), filter: undefined, completer: undefined, isPassed: true, control, done }
  const delivery = new EventDelivery(options)
  // No response begins without an event: a failure could follow.
  delivery.add([], Buffer.from('ping '))
  t.same([pushed, delivery.isUnseen], [[], true])
  delivery.add([{ type: 'start', providerModel: 'm', metadata: {} }], Buffer.from('start '))
  t.same(pushed, [{ types: ['start'], frames: 'ping start ' }])
  t.same(steps, ['pause'])
  delivery.add([], Buffer.from('a '))
  delivery.add([{ type: 'text-start' }, { type: 'text-delta', text: 'b' }], Buffer.from('b '))
  delivery.add([{ type: 'error', error: new GatewayError('provider_failure') }], Buffer.alloc(0))
  t.equal(pushed.length, 1)
  drained.resolve()
  await done.promise
  delivery.close()
  t.equal(pushed.map(({ frames }) => frames).join(''), 'ping start a b ')
  t.same(
    pushed.flatMap(({ types }) => types),
    ['start', 'text-start', 'text-delta', 'error']
  )
  t.equal(steps.at(-1), 'resume')
})

t.test('frames without an event go on once the response has begun', async t => {
  const pushed: string[] = []
  const sink: ResponseSink = {
    push(events, frames) {
      pushed.push(`${events.length}:${frames === undefined ? 'none' : Buffer.from(frames).toString()}`)
      return true
    },
    relay: () => {
      throw new Error('Nothing is relayed.')
    },
    whenDrained: () => Promise.resolve()
  }
  const control = { pause: () => undefined, resume: () => undefined, cancel: () => undefined }
  const done = Promise.withResolvers<void>()
  const options = { sink, context: contextOf(), filter: undefined, completer: undefined, isPassed: true, control, done }
  const delivery = new EventDelivery(options)
  delivery.add([{ type: 'start', providerModel: 'm', metadata: {} }], Buffer.from('start'))
  delivery.add([], Buffer.from('ping'))
  delivery.add([], Buffer.alloc(0))
  delivery.add([{ type: 'finish', reason: 'stop', providerReason: null, metadata: {} }], Buffer.alloc(0))
  await done.promise
  delivery.close()
  t.same(pushed, ['1:start', '0:ping', '1:'])
})
