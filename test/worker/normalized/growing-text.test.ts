import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { GrowingText } from '../../../worker/normalized/index.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

t.test('text grows by its pieces', async t => {
  const text = new GrowingText()
  let expected = ''
  for (let index = 0; index < 5000; index++) {
    const piece = `${index} я\u{1f600}`
    text.add(piece)
    expected += piece
  }
  t.equal(text.toString(), expected)
  t.equal(text.length, expected.length)
})

t.test('cost 9: a piece does not keep the read that it was cut from', async t => {
  const text = new GrowingText()
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < 4000; index++) {
    const read = Buffer.alloc(50_000, index % 2 === 0 ? 'a' : 'b').toString('latin1')
    text.add(read.slice(100, 200))
  }
  collectGarbage()
  const grown = process.memoryUsage().heapUsed - before
  t.equal(text.length, 400_000)
  t.ok(grown < 20_000_000, `${grown} bytes for 400,000 characters out of reads of 200 MB`)
})
