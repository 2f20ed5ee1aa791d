// The steps of a replacement of workers, with processes that only note what is done with them.
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { ListeningHandle } from '../../../shared/ipc/listening-handle.ts'
import { createReplacement } from '../../../supervisor/workers/worker-replacement.ts'
import { stepTimers } from '../../support/stepped-timers.ts'

interface Double {
  readonly name: string
  readonly workerId: number
  readonly keeper: ReturnType<typeof createKeeper>
}

function createKeeper(note: (what: string) => void, isReady: boolean) {
  return {
    pid: 1,
    isRunning: true,
    isReady,
    start: () => note('start'),
    send: () => undefined,
    reportReady: () => undefined,
    reportPong: () => undefined,
    stopRestarting: () => note('final'),
    allowRestarting: () => note('restarted'),
    stopWatching: () => undefined,
    expectExit: () => undefined,
    kill: () => note('kill')
  }
}

function setUp(t: Test, { sharesPort = true } = {}) {
  const pass = stepTimers(t)
  const notes: string[] = []
  const events: unknown[] = []
  const log = pino({ base: null, timestamp: false }, { write: line => events.push(JSON.parse(line).event) })
  const created: Double[] = []
  const createMember = (name: string, workerId: number, isReady: boolean): Double => ({
    name,
    workerId,
    keeper: createKeeper(what => notes.push(`${name} ${what}`), isReady)
  })
  const members = [createMember('old1', 1, true), createMember('old2', 2, true)]
  const replacement = createReplacement<Double>(
    {
      log,
      create(workerId) {
        const fresh = createMember(`new${workerId}`, workerId, false)
        created.push(fresh)
        return fresh
      },
      swap(old, fresh) {
        notes.push(`${fresh.name} for ${old.name}`)
        members[members.indexOf(old)] = fresh
      },
      post(member, message, handle) {
        notes.push(`${member.name} ${message.kind}`)
        handle?.close()
      }
    },
    { drainTimeoutMs: 10_000, sharesPort }
  )
  t.teardown(replacement.abort)
  const take = () => notes.splice(0)
  const handle = (name: string): ListeningHandle => ({ close: () => notes.push(`${name} closed`) })
  const [first, second] = members as [Double, Double]
  const fresh = (index: number) => created[index] as Double
  /** Leads one worker to the point where its replacement is ready. */
  const replaceOne = (old: Double, index: number) => {
    replacement.receiveHandle(old, 1, handle('socket'))
    replacement.online(fresh(index))
    replacement.ready(fresh(index))
  }
  return { replacement, members, first, second, fresh, take, events, pass, handle, replaceOne }
}

t.test(
  'a new worker gets the sockets and is ready before the old one stops accepting, one after the other',
  async t => {
    const { replacement, members, first, second, fresh, take, events, handle, replaceOne } = setUp(t)
    replacement.begin(members)
    t.same(take(), ['old1 share-listener'])
    replacement.receiveHandle(first, 2, handle('a'))
    t.same(take(), [], 'it has two sockets')
    replacement.receiveHandle(first, 2, handle('b'))
    t.same(take(), ['new1 final', 'new1 start'])
    replacement.online(fresh(0))
    t.same(take(), ['new1 listener-inherited', 'a closed', 'new1 listener-inherited', 'b closed'])
    replacement.ready(fresh(0))
    t.same(take(), ['new1 restarted', 'new1 for old1', 'old1 final', 'old1 retire'])
    t.notOk(replacement.isClosing(first), 'it still serves')
    replacement.drained(first)
    t.same(take(), ['old1 close'])
    t.ok(replacement.isClosing(first))
    replacement.exited(first)
    t.same(take(), ['old2 share-listener'])
    replaceOne(second, 1)
    replacement.drained(second)
    replacement.exited(second)
    t.equal(replacement.count, 2)
    t.same(events, ['workers_replacement_started', 'worker_replaced', 'worker_replaced', 'workers_replaced'])
  }
)

t.test('requests of an old worker have the time of a drain, then they are cancelled', async t => {
  const { replacement, members, first, take, events, pass, replaceOne } = setUp(t)
  replacement.begin(members)
  replaceOne(first, 0)
  take()
  pass(9_999)
  t.same(take(), [])
  pass(1)
  t.same(take(), ['old1 cancel'])
  pass(1_000)
  t.same(take(), ['old1 close'])
  pass(5_000)
  t.same(take(), ['old1 kill'])
  t.ok(events.includes('worker_requests_cancelled'))
})

t.test('a new worker that does not start leaves the old ones as they are', async t => {
  const { replacement, members, first, fresh, take, events, handle } = setUp(t)
  replacement.begin(members)
  replacement.receiveHandle(first, 1, handle('a'))
  take()
  replacement.exited(fresh(0))
  t.same(take(), ['a closed'], 'and no further one is replaced')
  t.same(
    members.map(({ name }) => name),
    ['old1', 'old2']
  )
  t.equal(events.at(-1), 'worker_replacement_failed')
  replacement.begin(members)
  t.same(take(), ['old1 share-listener'], 'a later signal begins again')
})

t.test('an old worker that exits while its replacement starts is followed by it', async t => {
  const { replacement, members, first, second, fresh, take, handle } = setUp(t)
  replacement.begin(members)
  replacement.receiveHandle(first, 1, handle('a'))
  take()
  replacement.exited(first)
  t.same(take(), ['old1 final', 'new1 restarted', 'new1 for old1', 'a closed', 'old2 share-listener'])
  t.same(members, [fresh(0), second])
})

t.test('a worker that exits before its turn, or before it shares its sockets, is new already', async t => {
  const { replacement, members, first, second, take, events } = setUp(t)
  second.keeper.isReady = false
  replacement.begin(members)
  replacement.exited(first)
  t.same(take(), ['old1 share-listener'])
  t.equal(events.at(-1), 'workers_replaced')
})

t.test('a worker that is stuck shares nothing, and is replaced all the same', async t => {
  const { replacement, members, first, take, pass, handle } = setUp(t)
  replacement.begin(members)
  pass(2_000)
  t.same(take(), ['old1 share-listener', 'new1 final', 'new1 start'])
  replacement.receiveHandle(first, 1, handle('late'))
  t.same(take(), ['late closed'])
})

t.test('where the supervisor hands out connections no socket is shared', async t => {
  const { replacement, members, take } = setUp(t, { sharesPort: false })
  replacement.begin(members)
  t.same(take(), ['new1 final', 'new1 start'])
})

t.test('a second signal while workers are replaced changes nothing', async t => {
  const { replacement, members, take, events } = setUp(t)
  replacement.begin(members)
  take()
  replacement.begin(members)
  t.same(take(), [])
  t.equal(events.at(-1), 'workers_replacement_running')
})

t.test('a stop ends the replacement: the lifecycle closes every process', async t => {
  const { replacement, members, first, take, pass, replaceOne } = setUp(t)
  replacement.begin(members)
  replaceOne(first, 0)
  take()
  replacement.abort()
  pass(60_000)
  replacement.exited(first)
  t.same(take(), [])
})

t.test('a stop keeps the bound of an old worker that closes already', async t => {
  const { replacement, members, first, take, events, pass, replaceOne } = setUp(t)
  replacement.begin(members)
  replaceOne(first, 0)
  replacement.drained(first)
  take()
  replacement.abort()
  t.ok(replacement.isClosing(first), 'its exit is expected')
  pass(5_000)
  t.same(take(), ['old1 kill'])
  replacement.exited(first)
  t.same(take(), [], 'no further worker is replaced')
  t.notOk(events.includes('workers_replaced'))
})
