import t from 'tap'
import type { ResponseStore } from '../../../shared/memory/store.ts'
import { acquireLease } from '../../../worker/memory/conversation-lease.ts'
import { catchError } from '../../support/errors.ts'

type Answer = Awaited<ReturnType<ResponseStore['acquireConversation']>>

/** A store that gives these answers in turn, the last one again and again. */
function createStore(...answers: Answer[]) {
  const released: string[] = []
  const store = {
    acquireConversation: async () => (answers.length > 1 ? answers.shift() : answers[0]),
    releaseConversation: async ({ holder }: { holder: string }) => void released.push(holder)
  }
  return { store, released }
}

const conversation = { owner: { name: '' }, id: 'conv_1' }
const holder = 'resp_1'

t.test('memory 6: the second turn waits for the first one', async t => {
  const { store, released } = createStore('busy', 'busy', 'acquired')
  const lease = await acquireLease({
    store,
    conversation,
    holder,
    signal: new AbortController().signal,
    nowMs: () => 0
  })
  t.strictSame(released, [])
  await lease.release()
  t.strictSame(released, [holder])
})

t.test('memory 6: after ten seconds the conversation is busy', async t => {
  const { store } = createStore('busy')
  const times = [0, 5000, 9999, 10_000]
  let reads = 0
  const nowMs = () => times[Math.min(reads++, times.length - 1)] ?? 0
  const error = await catchError(() =>
    acquireLease({ store, conversation, holder, signal: new AbortController().signal, nowMs })
  )
  t.match(error, { code: 'conversation_busy', status: 409, param: 'conversation' })
  t.equal(reads, times.length)
})

t.test('memory 6: a conversation that is not stored is not found, and a client that left ends the wait', async t => {
  const missing = createStore(undefined)
  const signal = new AbortController().signal
  const error = await catchError(() => acquireLease({ ...missing, conversation, holder, signal, nowMs: () => 0 }))
  t.match(error, { code: 'object_not_found', param: 'conversation' })
  const leaving = new AbortController()
  const waiting = acquireLease({ ...createStore('busy'), conversation, holder, signal: leaving.signal, nowMs: () => 0 })
  leaving.abort(new Error('left'))
  await t.rejects(waiting, /left/)
})
