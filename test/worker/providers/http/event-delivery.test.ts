import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { GatewayError, type NormalizedEvent } from '../../../../worker/normalized/index.ts'
import { EventDelivery, type EventDeliveryOptions } from '../../../../worker/providers/http/event-delivery.ts'
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
    whenDrained: () => drained.promise
  }
  const steps: string[] = []
  const control = { pause: () => steps.push('pause'), resume: () => steps.push('resume'), cancel: () => undefined }
  const done = Promise.withResolvers<void>()
  const options = {
    sink,
    context: contextOf(),
    filter: undefined,
    completer: undefined,
    isSameWire: true,
    control,
    done
  }
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
    whenDrained: () => Promise.resolve()
  }
  const control = { pause: () => undefined, resume: () => undefined, cancel: () => undefined }
  const done = Promise.withResolvers<void>()
  const options = {
    sink,
    context: contextOf(),
    filter: undefined,
    completer: undefined,
    isSameWire: true,
    control,
    done
  }
  const delivery = new EventDelivery(options)
  delivery.add([{ type: 'start', providerModel: 'm', metadata: {} }], Buffer.from('start'))
  delivery.add([], Buffer.from('ping'))
  delivery.add([], Buffer.alloc(0))
  delivery.add([{ type: 'finish', reason: 'stop', providerReason: null, metadata: {} }], Buffer.alloc(0))
  await done.promise
  delivery.close()
  t.same(pushed, ['1:start', '0:ping', '1:'])
})

const finish: NormalizedEvent = { type: 'finish', reason: 'stop', providerReason: 'stop', metadata: {} }

/** A delivery to a sink with room, and the turns of the event loop in which it pushes. */
function startDelivery(more: Partial<EventDeliveryOptions> = {}) {
  const pushes: Array<{ turn: number; types: string[] }> = []
  const steps: string[] = []
  const done = Promise.withResolvers<void>()
  let turn = 0
  const delivery = new EventDelivery({
    sink: {
      push(events) {
        pushes.push({ turn, types: events.map(({ type }) => type) })
        setImmediate(() => turn++)
        return true
      },
      whenDrained: () => Promise.resolve()
    },
    context: contextOf(),
    filter: undefined,
    completer: undefined,
    control: { pause: () => steps.push('pause'), resume: () => steps.push('resume'), cancel: () => undefined },
    done,
    ...more
  })
  return { delivery, done: done.promise, pushes, steps }
}

t.test(
  'the end of a long response goes out in a turn of its own, also beside others that end in the same turn',
  async t => {
    const deliveries = [1, 2, 3].map(() => startDelivery({ isLong: () => true }))
    for (const { delivery } of deliveries) {
      delivery.add([{ type: 'start', providerModel: 'm', metadata: {} }])
      delivery.add([{ type: 'text-start' }, { type: 'text-end' }, finish])
    }
    t.ok(deliveries.every(({ delivery }) => !delivery.isOver))
    await Promise.all(deliveries.map(({ done }) => done))
    for (const { delivery, pushes, steps } of deliveries) {
      delivery.close()
      t.same(
        pushes.map(({ types }) => types),
        [['start'], ['text-start', 'text-end'], ['finish']]
      )
      t.same(steps, ['pause', 'resume'])
    }
    t.same(
      deliveries.map(({ pushes }) => (pushes[2]?.turn ?? 0) > (pushes[1]?.turn ?? 0)),
      [true, true, true]
    )
  }
)

t.test('a response of any length that begins with an error is refused, not begun', async t => {
  const { delivery, done, pushes } = startDelivery({ isLong: () => true })
  const error = new GatewayError('provider_failure')
  delivery.add([
    { type: 'start', providerModel: 'm', metadata: {} },
    { type: 'error', error }
  ])
  await t.rejects(done, error)
  delivery.close()
  t.same(pushes, [])
})

t.test('a long queue goes out in several turns and in order, and so does what comes meanwhile', async t => {
  const drained = Promise.withResolvers<void>()
  const received: string[] = []
  const counts: number[] = []
  const done = Promise.withResolvers<void>()
  const control = { pause: () => undefined, resume: () => undefined, cancel: () => undefined }
  const delivery = new EventDelivery({
    sink: {
      push(events) {
        counts.push(events.length)
        for (const event of events) received.push(event.type === 'text-delta' ? event.text : event.type)
        return counts.length > 1
      },
      whenDrained: () => drained.promise
    },
    context: contextOf(),
    filter: undefined,
    completer: undefined,
    control,
    done
  })
  const text = (index: number): NormalizedEvent => ({ type: 'text-delta', text: String(index) })
  delivery.add([{ type: 'start', providerModel: 'm', metadata: {} }])
  delivery.add([{ type: 'text-start' }, ...Array.from({ length: 1200 }, (_, index) => text(index))])
  drained.resolve()
  while (counts.length < 2) await nextTurn()
  delivery.add([text(1200), { type: 'text-end' }, finish])
  await done.promise
  delivery.close()
  t.same(received, [
    'start',
    'text-start',
    ...Array.from({ length: 1201 }, (_, index) => `${index}`),
    'text-end',
    'finish'
  ])
  t.ok(Math.max(...counts) <= 500, `pushes of ${counts} events`)
})
