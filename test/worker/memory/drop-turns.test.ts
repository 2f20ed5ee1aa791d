import t from 'tap'
import type { StoredItem } from '../../../shared/memory/store.ts'
import { dropOldestTurns } from '../../../worker/memory/drop-turns.ts'

let count = 0
const item = (members: object): StoredItem => ({ id: `i${count++}`, json: Buffer.from(JSON.stringify(members)) })
const message = (text: string) => item({ role: 'user', content: text.padEnd(40) })
const call = (id: string) => item({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
const result = (id: string) => item({ type: 'function_call_output', call_id: id, output: 'x' })

t.test('the older half of the turns goes, as units', async t => {
  const turns = [
    [message('a'), message('b')],
    [message('c'), message('d')],
    [message('e'), message('f')],
    [message('g')]
  ]
  t.same(dropOldestTurns(turns, [message('own')]), turns.slice(2))
  t.same(dropOldestTurns([[message('a')]], [message('own')]), [])
  t.equal(dropOldestTurns([], [message('own')]), undefined)
})

t.test('a result goes with its call', async t => {
  const turns = [[message('a'), call('1')], [result('1'), message('b')], [message('c')], [message('d')]]
  t.same(dropOldestTurns(turns, []), turns.slice(2))
  const late = [
    [message('a'.repeat(300)), call('1')],
    [result('1'), call('2')],
    [result('2'), message('b')],
    [message('c')]
  ]
  t.same(dropOldestTurns(late, []), late.slice(3))
})

t.test('a call that the request answers stays', async t => {
  const turns = [[message('a')], [message('b')], [message('c')], [message('d'.repeat(400)), call('1')]]
  t.same(dropOldestTurns(turns, [result('1')]), turns.slice(3))
  t.equal(dropOldestTurns([[message('a'), call('1')]], [result('1')]), undefined)
})
