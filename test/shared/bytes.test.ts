import t from 'tap'
import { releaseMemory } from '../../shared/bytes.ts'

t.test('released memory is gone at once, and memory that threads share is left alone', async t => {
  const bytes = Buffer.from(new ArrayBuffer(100))
  releaseMemory(bytes)
  t.equal(bytes.length, 0)
  const shared = new Uint8Array(new SharedArrayBuffer(100))
  releaseMemory(shared)
  t.equal(shared.length, 100)
})
