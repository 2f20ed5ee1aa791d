// The connection of a worker to the store process, with the server of that process and answers of this file.
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { hostNowMs } from '../../../shared/memory/frames.ts'
import { type StoreOperation, StoreUnavailable } from '../../../shared/memory/store.ts'
import { createStoreServer } from '../../../supervisor/store/server.ts'
import { connectToStore, type StoreConnectionOptions } from '../../../worker/memory/store-connection.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const owner = { name: 'blue' }

type Answer = (operation: StoreOperation, question: unknown) => Promise<unknown>

async function listen(t: Test, path: string, answer: Answer, nowMs: () => number = hostNowMs) {
  const server = createStoreServer({ service: { answer }, log: pino({ level: 'silent' }), nowMs })
  await server.listen(path)
  t.teardown(() => server.close())
  return server
}

function connect(t: Test, path: string, changes: Partial<StoreConnectionOptions> = {}) {
  const failed: string[] = []
  const answered: string[] = []
  const connection = connectToStore({
    path,
    timeoutMs: 5_000,
    retryMinMs: 1,
    retryMaxMs: 20,
    questionsMax: 100,
    windowMax: 64,
    nowMs: hostNowMs,
    onFailed: (operation, reason) => failed.push(`${operation} ${reason}`),
    onAnswered: operation => answered.push(operation),
    ...changes
  })
  t.teardown(() => connection.close())
  return { ...connection, connection, failed, answered }
}

/** The reason of a refusal that waits for nothing. */
function refusedAtOnce(question: Promise<unknown>): Promise<string> {
  const refused = question.then(
    () => 'answered',
    (error: unknown) => (error instanceof StoreUnavailable ? error.reason : String(error))
  )
  return Promise.race([refused, new Promise<string>(resolve => setImmediate(() => resolve('waits')))])
}

const socketPath = (t: Test) => join(createTemporaryFolder(t), 'store.sock')

t.test('questions are answered, also those that were asked before the process listens', async t => {
  const path = socketPath(t)
  const { store, connection, answered, failed } = connect(t, path)
  const early = store.readResponse({ owner, id: 'resp_1' })
  await listen(t, path, async (operation, question) => ({ operation, question }))
  t.match(await early, { operation: 'readResponse', question: { owner, id: 'resp_1' } })
  t.match(await store.totals(), { operation: 'totals' })
  t.ok(connection.isConnected)
  t.strictSame(answered, ['readResponse', 'totals'])
  t.strictSame(failed, [])
})

t.test('answers come in any order, and an error of the database is no answer', async t => {
  const path = socketPath(t)
  const first = Promise.withResolvers<string>()
  await listen(t, path, async (_operation, question) => {
    const { id } = question as { id: string }
    if (id === 'bad') throw new Error('database or disk is full')
    return id === 'first' ? first.promise : id
  })
  const { store, failed } = connect(t, path)
  const slow = store.deleteResponse({ owner, id: 'first' })
  t.equal(await store.deleteResponse({ owner, id: 'second' }), 'second')
  await t.rejects(store.deleteResponse({ owner, id: 'bad' }), new StoreUnavailable('failed'))
  first.resolve('first')
  t.equal(await slow, 'first')
  t.strictSame(failed, ['deleteResponse failed'])
})

t.test('what was asked over a lost connection is asked again', async t => {
  const path = socketPath(t)
  let asked = 0
  const dying = await listen(t, path, async () => {
    asked += 1
    if (asked === 3) setImmediate(() => void dying.close())
    return new Promise(() => undefined)
  })
  const { store } = connect(t, path)
  const questions = ['a', 'b', 'c'].map(id => store.readResponse({ owner, id }))
  await waitUntil(() => asked === 3, 'all have been asked')
  const ids: string[] = []
  await listen(t, path, async (_operation, question) => {
    const { id } = question as { id: string }
    ids.push(id)
    return id
  })
  t.strictSame(await Promise.all(questions), ['a', 'b', 'c'])
  t.strictSame(ids, ['a', 'b', 'c'], 'in the order in which they were asked')
})

t.test('without a process questions end at their deadline, and later ones at once until it is back', async t => {
  const path = socketPath(t)
  let nowMs = 0
  const { store, failed } = connect(t, path, { timeoutMs: 60, nowMs: () => nowMs })
  await t.rejects(store.totals(), new StoreUnavailable('disconnected'))
  nowMs = 60
  t.equal(await refusedAtOnce(store.totals()), 'disconnected')
  t.strictSame(failed, ['totals disconnected', 'totals disconnected'])
  await listen(
    t,
    path,
    async () => 'there',
    () => nowMs
  )
  await waitUntil(async () => (await store.totals().catch(() => undefined)) !== undefined, 'the process is back')
})

t.test('a process that hangs is taken for one that is away, until it gives a sign of life', async t => {
  const path = socketPath(t)
  const sockets: Socket[] = []
  const stuck = createServer(socket => sockets.push(socket.resume()))
  await new Promise<void>(resolve => stuck.listen(path, resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    stuck.close()
  })
  let nowMs = 0
  const { store, connection } = connect(t, path, { timeoutMs: 40, nowMs: () => nowMs })
  await waitUntil(() => sockets.length === 1, 'the system has taken the connection')
  await t.rejects(store.totals(), new StoreUnavailable('disconnected'))
  t.notOk(connection.isConnected)
  nowMs = 40
  t.equal(await refusedAtOnce(store.totals()), 'disconnected')
})

t.test('a process that stops to answer over an open connection is asked for a sign of life', async t => {
  const path = socketPath(t)
  let isStopped = false
  const held: Array<() => void> = []
  const inner = `${path}2`
  await listen(
    t,
    inner,
    async () => 'there',
    () => 0
  )
  // A process that is stopped reads nothing; what was sent to it is read when it goes on.
  const proxy = createServer(socket => {
    const target = createConnection(inner)
    const forward = (to: Socket) => (chunk: Buffer) => {
      if (isStopped) held.push(() => void to.write(chunk))
      else to.write(chunk)
    }
    socket.on('data', forward(target)).on('close', () => target.destroy())
    target.on('data', forward(socket))
  })
  await new Promise<void>(resolve => proxy.listen(path, resolve))
  t.teardown(() => proxy.close())
  const { store, connection } = connect(t, path, { timeoutMs: 300 })
  t.equal(await store.totals(), 'there')
  isStopped = true
  await t.rejects(store.totals(), new StoreUnavailable('timeout'))
  t.notOk(connection.isConnected)
  t.equal(await refusedAtOnce(store.totals()), 'timeout')
  isStopped = false
  for (const go of held.splice(0)) go()
  await waitUntil(() => connection.isConnected, 'it has answered')
  t.equal(await store.totals(), 'there')
  connection.close()
})

t.test('a question whose deadline has passed is not begun', async t => {
  const path = socketPath(t)
  let asked = 0
  await listen(
    t,
    path,
    async () => {
      asked += 1
      return 'late'
    },
    () => hostNowMs() + 10_000
  )
  const { store } = connect(t, path)
  await t.rejects(store.saveResponse({} as never), new StoreUnavailable('timeout'))
  t.equal(asked, 0)
})

t.test('questions are bounded: those in flight, and all that wait', async t => {
  const path = socketPath(t)
  const { promise, resolve } = Promise.withResolvers<string>()
  let running = 0
  let most = 0
  await listen(t, path, async () => {
    running += 1
    most = Math.max(most, running)
    await promise
    running -= 1
    return 'done'
  })
  const { store, failed } = connect(t, path, { questionsMax: 20, windowMax: 8 })
  const questions = Array.from({ length: 20 }, () => store.totals())
  await t.rejects(store.totals(), new StoreUnavailable('overloaded'))
  await waitUntil(() => running === 8, 'as many as may be sent')
  resolve('go')
  t.strictSame(new Set(await Promise.all(questions)), new Set(['done']))
  t.equal(most, 8)
  t.strictSame(failed, ['totals overloaded'])
})

t.test('the process takes no more questions of a worker than it can answer', async t => {
  const path = socketPath(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  await listen(t, path, async () => {
    running += 1
    most = Math.max(most, running)
    await promise
    running -= 1
    return 'done'
  })
  const { store } = connect(t, path, { questionsMax: 1_000, windowMax: 1_000 })
  const questions = Array.from({ length: 500 }, () => store.totals())
  await waitUntil(() => running >= 64, 'the process is busy')
  resolve()
  t.equal((await Promise.all(questions)).length, 500)
  t.equal(most, 64)
})

t.test('large records arrive whole in both directions', async t => {
  const path = socketPath(t)
  await listen(t, path, async (_operation, question) => question)
  const { store } = connect(t, path)
  const sizes = [1, 70_000, 3_000_000, 24_000_000]
  const echoes = await Promise.all(
    sizes.map(size =>
      store.createConversation({ owner, conversation: {} as never, items: [{ id: 'x', json: Buffer.alloc(size, 7) }] })
    )
  )
  for (const [index, echo] of echoes.entries()) {
    const { items } = echo as unknown as { items: [{ json: Uint8Array }] }
    t.equal(Buffer.compare(items[0].json, Buffer.alloc(sizes[index] ?? 0, 7)), 0)
  }
})

t.test('a closed connection has no answers', async t => {
  const path = socketPath(t)
  await listen(t, path, () => new Promise(() => undefined))
  const { store, connection } = connect(t, path)
  const question = store.totals()
  await waitUntil(() => connection.isConnected, 'connected')
  connection.close()
  await t.rejects(question, new StoreUnavailable('disconnected'))
  await t.rejects(store.totals(), new StoreUnavailable('disconnected'))
})

t.test('a worker that does not follow the protocol loses its connection alone', async t => {
  const path = socketPath(t)
  await listen(t, path, async () => 'fine')
  const { store } = connect(t, path)
  const stranger = createConnection(path)
  stranger.write('GET / HTTP/1.1\r\n\r\n')
  stranger.on('error', () => undefined)
  await new Promise(resolve => stranger.once('close', resolve))
  t.equal(await store.totals(), 'fine')
})
