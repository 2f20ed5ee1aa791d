import t from 'tap'
import { type FollowOptions, followResponse } from '../../../worker/memory/follow-response.ts'
import { FakeStore } from './fake-store.ts'

const ID = 'resp_1'
const OWNER = { name: 'key' }

class FakeStream {
  text = ''
  isEnded = false
  isCut = false
  isClosed = false
  isSlow = false
  drains = 0

  write(frames: Uint8Array): boolean {
    this.text += Buffer.from(frames).toString()
    return !this.isSlow
  }

  async whenDrained(): Promise<void> {
    this.drains += 1
  }

  end(): void {
    this.isEnded = true
  }

  cut(): void {
    this.isCut = true
  }

  numbers(): number[] {
    return [...this.text.matchAll(/"sequence_number":(\d+)/g)].map(match => Number(match[1]))
  }
}

function event(sequenceNumber: number, type = 'response.output_text.delta') {
  const text = JSON.stringify({ type, sequence_number: sequenceNumber, text: 'x'.repeat(20_000) })
  return { sequenceNumber, json: Buffer.from(text) }
}

function start(status = 'in_progress', count = 3) {
  const store = new FakeStore()
  store.records.set(ID, { id: ID, status } as never)
  store.events = Array.from({ length: count }, (_, index) => event(index))
  const stream = new FakeStream()
  const leave = new AbortController()
  const pauses: number[] = []
  /** What happens at each pause. */
  const steps: Array<() => void> = []
  const follow = (options: Partial<FollowOptions> = {}) =>
    followResponse({
      store,
      owner: OWNER,
      id: ID,
      after: -1,
      open: () => stream,
      readResponse: async () => Buffer.from('{"status":"failed"}'),
      signal: leave.signal,
      async pause(ms) {
        pauses.push(ms)
        steps.shift()?.()
      },
      ...options
    })
  function end(type = 'response.completed') {
    store.events.push(event(store.events.length, type))
    store.records.set(ID, { id: ID, status: 'completed' } as never)
  }
  return { store, stream, follow, steps, pauses, leave, end }
}

t.test('a follower gets every event once, and the end', async t => {
  const { store, stream, follow, steps, end } = start()
  steps.push(
    () => undefined,
    () => store.events.push(event(3), event(4)),
    () => end()
  )
  t.ok(await follow())
  t.same(stream.numbers(), [0, 1, 2, 3, 4, 5])
  t.ok(stream.isEnded)
  t.match(stream.text, /^event: response\.output_text\.delta\ndata: \{"type":"response\.output_text\.delta",/)
  t.match(stream.text.slice(-20), /x"\}\n\n$/)
})

t.test('a follower goes on behind the number that it names', async t => {
  const { stream, follow, end } = start()
  end()
  t.ok(await follow({ after: 1 }))
  t.same(stream.numbers(), [2, 3])
  t.ok(stream.isEnded)
})

t.test('a client that has all of a stream gets its end alone', async t => {
  const { stream, follow, end } = start()
  end()
  t.ok(await follow({ after: 3 }))
  t.equal(stream.text, '')
  t.ok(stream.isEnded)
})

t.test('the stream of a response whose runner is gone ends with its failure', async t => {
  for (const after of [0, 2]) {
    const { stream, follow } = start('failed')
    t.ok(await follow({ after }))
    t.same(stream.numbers().at(-1), 3)
    t.ok(
      stream.text.endsWith('data: {"type":"response.failed","sequence_number":3,"response":{"status":"failed"}}\n\n')
    )
    t.ok(stream.isEnded)
  }
})

t.test('the pauses grow while nothing comes, and begin again with an event', async t => {
  const { store, follow, steps, pauses, end } = start()
  for (let n = 0; n < 10; n++) steps.push(() => undefined)
  steps.push(
    () => store.events.push(event(3)),
    () => end()
  )
  await follow()
  t.equal(pauses[0], 100)
  t.equal(pauses[1], 150)
  t.equal(pauses[10], 1000)
  t.equal(pauses[11], 100)
})

t.test('a client that reads slowly is waited for', async t => {
  const { stream, follow, end } = start('in_progress', 20)
  stream.isSlow = true
  end()
  await follow()
  t.ok(stream.drains >= 5, `${stream.drains} waits`)
})

t.test('the following ends with its client, with the gateway and with the response', async t => {
  const left = start()
  left.steps.push(() => {
    left.stream.isClosed = true
  })
  t.ok(await left.follow())
  const drained = start()
  drained.steps.push(() => drained.leave.abort())
  t.ok(await drained.follow())
  t.ok(drained.stream.isCut)
  t.notOk(drained.stream.isEnded, 'its client comes again')
  const deleted = start()
  deleted.steps.push(() => deleted.store.records.clear())
  t.ok(await deleted.follow())
  t.ok(deleted.stream.isCut)
})

t.test('a store that is away for a while breaks no stream', async t => {
  const { store, stream, follow, steps, end } = start()
  steps.push(
    () => {
      store.isDown = true
    },
    () => undefined,
    () => {
      store.isDown = false
      end()
    }
  )
  t.ok(await follow())
  t.same(stream.numbers(), [0, 1, 2, 3])
  const away = start()
  away.steps.push(() => {
    away.store.isDown = true
  })
  t.ok(await away.follow())
  t.ok(away.stream.isCut)
})

t.test('what is not there, or cannot be read, opens no stream', async t => {
  const { store, follow } = start()
  const refuse = () => {
    throw new Error('opened')
  }
  store.isDown = true
  await t.rejects(follow({ open: refuse }), { name: 'StoreUnavailable' })
  store.isDown = false
  store.records.clear()
  t.equal(await follow({ open: refuse }), false)
})
