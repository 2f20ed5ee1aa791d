import t from 'tap'
import { CallList } from '../../../../../worker/protocols/shared/tools/call-list.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../../support/growth.ts'

interface Call {
  number: number
  isOpen: boolean
}

function createList(count: number): { calls: Call[]; list: CallList<Call> } {
  const list = new CallList<Call>(({ isOpen }) => isOpen)
  const calls = Array.from({ length: count }, (_, number) => ({ number, isOpen: true }))
  for (const call of calls) list.add(call)
  return { calls, list }
}

function close(call: Call | undefined): void {
  if (call !== undefined) call.isOpen = false
}

t.test('the oldest and the newest open call are found, whichever calls were closed before', async t => {
  const { calls, list } = createList(4)
  close(calls[0])
  close(calls[3])
  t.equal(list.findOldest(), calls[1])
  t.equal(list.findNewest(), calls[2])
  close(calls[1])
  close(calls[2])
  t.equal(list.findOldest(), undefined)
  t.equal(list.findNewest(), undefined)
  const later = { number: 4, isOpen: true }
  list.add(later)
  t.equal(list.findNewest(), later, 'a call that is added when all others are closed')
  t.equal(list.findOldest(), later)
})

t.test('the newest turn with an open call goes first', async t => {
  const list = new CallList<Call>(({ isOpen }) => isOpen)
  const calls = Array.from({ length: 4 }, (_, number) => ({ number, isOpen: true }))
  for (const call of calls) list.add(call, call.number >> 1)
  const found = calls.map(() => {
    const call = list.findOldest()
    close(call)
    return call?.number
  })
  t.strictSame(found, [2, 3, 0, 1])
})

t.test('cost 2: closing all calls from either end takes time for each call once', async t => {
  for (const find of ['findOldest', 'findNewest'] as const) {
    const growth = measureGrowth(20_000, count => {
      const { calls, list } = createList(count)
      return () => {
        for (const _call of calls) close(list[find]())
      }
    })
    t.ok(growth < LINEAR_GROWTH_MAX, `${find}: ${growth.toFixed(1)} times as long`)
  }
})
