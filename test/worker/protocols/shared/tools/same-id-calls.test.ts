import t from 'tap'
import { SameIdCalls } from '../../../../../worker/protocols/shared/tools/same-id-calls.ts'

interface Call {
  label: string
  isOpen: boolean
}

/** The labels of the calls that results with these names find, each of which closes its call. */
function match(calls: ReadonlyArray<[label: string, turn: number, name: string]>, names: Array<string | undefined>) {
  const [first, ...others] = calls.map(([label, turn, name]) => ({
    call: { label, isOpen: true },
    place: { turn, name }
  }))
  if (first === undefined) return []
  const sameId = new SameIdCalls<Call>(({ isOpen }) => isOpen, first.call, first.place)
  for (const { call, place } of others) sameId.add(call, place)
  return names.map(name => {
    const found = sameId.find(name)
    found.isOpen = false
    return found.label
  })
}

t.test('the results of one turn follow the order of its calls', async t => {
  const calls: Array<[string, number, string]> = [
    ['a', 1, 'read'],
    ['b', 1, 'read'],
    ['c', 1, 'read']
  ]
  t.strictSame(match(calls, [undefined, undefined, undefined]), ['a', 'b', 'c'])
})

t.test('the name of a result goes before the order', async t => {
  const calls: Array<[string, number, string]> = [
    ['a', 1, 'read'],
    ['b', 1, 'list'],
    ['c', 1, 'read']
  ]
  t.strictSame(match(calls, ['list', 'read', 'other']), ['b', 'a', 'c'])
})

t.test('the newest turn that waits goes first, and the latest call stays when none waits', async t => {
  const calls: Array<[string, number, string]> = [
    ['a', 1, 'read'],
    ['b', 2, 'read'],
    ['c', 2, 'read']
  ]
  t.strictSame(match(calls, [undefined, undefined, undefined, undefined]), ['b', 'c', 'a', 'c'])
  t.strictSame(match([['a', 1, 'read']], [undefined, 'list']), ['a', 'a'])
})
