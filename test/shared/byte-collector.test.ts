import fc from 'fast-check'
import t from 'tap'
import { ByteCollector } from '../../shared/byte-collector.ts'

t.test('bytes in pieces of any size are joined in their order', async () => {
  const sizes = fc.array(fc.oneof(fc.nat(10), fc.nat(70_000), fc.nat(400_000)), { maxLength: 20 })
  const announced = fc.nat(2_000_000)
  fc.assert(
    fc.property(sizes, announced, (lengths, size) => {
      const pieces = lengths.map((length, index) => Buffer.alloc(length, index + 1))
      const collector = new ByteCollector(size)
      for (const piece of pieces) collector.add(piece)
      return collector.take().equals(Buffer.concat(pieces)) && collector.length === Buffer.concat(pieces).length
    }),
    { numRuns: 60 }
  )
})

t.test('a large body of the announced size is in memory of exactly that size', async t => {
  const collector = new ByteCollector(3_000_000)
  for (let sent = 0; sent < 3_000_000; sent += 60_000) collector.add(Buffer.alloc(60_000, 1))
  const bytes = collector.take()
  t.equal(bytes.length, 3_000_000)
  t.equal(bytes.buffer.byteLength, 3_000_000)
})

t.test('an announced size takes no memory before the bytes are there', async t => {
  const collector = new ByteCollector(1_000_000_000)
  collector.add(Buffer.alloc(300_000))
  t.ok(collector.take().buffer.byteLength < 3_000_000)
})

t.test('a single piece is not copied', async t => {
  const piece = Buffer.from('body')
  const collector = new ByteCollector(10)
  collector.add(piece)
  t.equal(collector.take(), piece)
})
