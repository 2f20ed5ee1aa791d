import t from 'tap'
import { ByteCollector } from '../../shared/byte-collector.ts'
import * as fc from '../support/properties.ts'

t.test('bytes in pieces of any size are joined in their order', async () => {
  const sizes = fc.array(fc.oneof(fc.nat(10), fc.nat(70_000), fc.nat(400_000)), { maxLength: 20 })
  const announced = fc.nat(2_000_000)
  fc.assert(
    fc.property(sizes, announced, (lengths, size) => {
      const pieces = lengths.map((length, index) => Buffer.alloc(length, index + 1))
      const joined = Buffer.concat(pieces)
      const collector = new ByteCollector({ bytesMax: 10_000_000, announcedBytes: size })
      for (const piece of pieces) collector.add(piece)
      return collector.take().equals(joined) && collector.length === joined.length
    }),
    { numRuns: 60 }
  )
})

t.test('a large body of the announced size is in memory of exactly that size', async t => {
  const collector = new ByteCollector({ bytesMax: 10_000_000, announcedBytes: 3_000_000 })
  for (let sent = 0; sent < 3_000_000; sent += 60_000) collector.add(Buffer.alloc(60_000, 1))
  const bytes = collector.take()
  t.equal(bytes.length, 3_000_000)
  t.equal(bytes.buffer.byteLength, 3_000_000)
})

t.test('an announced size takes no memory before the bytes are there', async t => {
  const collector = new ByteCollector({ bytesMax: 2_000_000_000, announcedBytes: 1_000_000_000 })
  collector.add(Buffer.alloc(300_000))
  t.ok(collector.take().buffer.byteLength < 3_000_000)
})

t.test(
  'a body beyond a megabyte has all of its memory at once, and one without a size sixteen times as much as has arrived',
  async t => {
    for (const [announcedBytes, memoryBytes] of [
      [40_000_000, 40_000_000],
      [undefined, 16_777_216]
    ]) {
      const collector = new ByteCollector({ bytesMax: 60_000_000, announcedBytes })
      for (let sent = 0; sent < 1_200_000; sent += 65_536) collector.add(Buffer.alloc(65_536))
      t.equal(collector.take().buffer.byteLength, memoryBytes)
    }
  }
)

t.test('a single piece is not copied', async t => {
  const piece = Buffer.from('body')
  const collector = new ByteCollector({ bytesMax: 10 })
  collector.add(piece)
  t.equal(collector.take(), piece)
})

t.test(
  'the memory of copied pieces is given back, but for the last one and for memory that has other bytes',
  async t => {
    const shared = Buffer.alloc(300_000, 3)
    const parts = [shared.subarray(0, 100_000), shared.subarray(100_000)]
    const own = Array.from({ length: 10 }, (_, index) => Buffer.from(new ArrayBuffer(65_536)).fill(index))
    const joined = Buffer.concat([...own, ...parts, Buffer.alloc(20_000)])
    const collector = new ByteCollector({ bytesMax: 1_000_000 })
    const last = Buffer.from(new ArrayBuffer(20_000))
    for (const piece of [...own, ...parts, last]) collector.add(piece)
    t.ok(collector.take().equals(joined))
    t.same(
      own.map(piece => piece.buffer.byteLength),
      own.map(() => 0)
    )
    t.equal(shared.length, 300_000)
    t.equal(last.length, 20_000)
  }
)

t.test('what was collected gives its memory back, and collecting may begin again', async t => {
  const collector = new ByteCollector({ bytesMax: 1_000_000 })
  for (let count = 0; count < 10; count++) collector.add(Buffer.alloc(65_536))
  const { buffer } = collector.take()
  collector.release()
  t.equal(buffer.byteLength, 0)
  t.equal(collector.length, 0)
  collector.add(Buffer.from('next'))
  t.equal(collector.take().toString(), 'next')
})
