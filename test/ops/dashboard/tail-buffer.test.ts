import t from 'tap'
import { createTailBuffer } from '../../../ops/dashboard/src/data/tail-buffer.ts'

const text = (id: number) => JSON.stringify({ id: String(id) })
const listIds = (buffer: ReturnType<typeof createTailBuffer>) =>
  Array.from({ length: buffer.size }, (_, place) => buffer.at(place)?.id)

t.test('it keeps the newest records, newest first, and counts all', async t => {
  const buffer = createTailBuffer(3)
  for (let id = 0; id < 5; id++) buffer.add(text(id))
  t.same(listIds(buffer), ['4', '3', '2'])
  t.match(buffer, { received: 5, size: 3 })
  t.equal(buffer.at(3), undefined)
  const key = buffer.keyAt(0)
  buffer.add(text(5))
  t.equal(buffer.keyAt(1), key, 'a record keeps its key')
  buffer.clear()
  t.match(buffer, { received: 0, size: 0 })
})

t.test('a text that is no record takes a place without a record', async t => {
  const buffer = createTailBuffer(4)
  for (const wrong of ['no JSON', '[]', 'null', '"text"']) buffer.add(wrong)
  t.same(listIds(buffer), [undefined, undefined, undefined, undefined])
})

t.test('records that waited follow those that are shown', async t => {
  for (const waitingCount of [0, 1, 3, 7]) {
    const shown = createTailBuffer(3)
    for (let id = 0; id < 4; id++) shown.add(text(id))
    const waiting = createTailBuffer(3)
    for (let id = 4; id < 4 + waitingCount; id++) waiting.add(text(id))
    shown.append(waiting)
    const newest = 3 + waitingCount
    t.same(listIds(shown), [newest, newest - 1, newest - 2].map(String))
    t.equal(shown.received, 4 + waitingCount)
  }
})
