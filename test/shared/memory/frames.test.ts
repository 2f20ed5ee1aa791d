import t from 'tap'
import {
  FRAME_BYTES_MAX,
  FrameSplitter,
  FrameTooLargeError,
  readStoreFrame,
  readWorkerFrame,
  STORE_PROTOCOL_VERSION,
  writeFrame
} from '../../../shared/memory/frames.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

t.test('frames arrive whole, however the connection cuts them', async t => {
  const hello = { kind: 'hello', version: STORE_PROTOCOL_VERSION } as const
  const question = { owner: { name: 'blue', credential: undefined }, id: 'resp_1' }
  const ask = { kind: 'ask', id: 7, operation: 'readResponse', question, deadlineMs: 12.5 } as const
  const save = {
    kind: 'ask',
    id: 8,
    operation: 'saveResponse',
    question: { json: bytes('{"é":1}') },
    deadlineMs: 1
  } as const
  const all = Buffer.concat([hello, ask, save].map(frame => writeFrame(frame)))
  for (const size of [1, 2, 3, 5, 64, all.length]) {
    const splitter = new FrameSplitter()
    const frames: Buffer[] = []
    for (let start = 0; start < all.length; start += size)
      frames.push(...splitter.push(all.subarray(start, start + size)))
    t.strictSame(frames.map(readWorkerFrame), [hello, ask, save], `in pieces of ${size} bytes`)
  }
})

t.test('bytes stay bytes, and share the memory of their frame', async t => {
  const [frame = Buffer.alloc(0)] = new FrameSplitter().push(
    writeFrame({ kind: 'answer', id: 1, answer: { items: [{ id: 'msg_1', json: bytes('{}') }] } })
  )
  const read = readStoreFrame(frame)
  const { items } = (read?.kind === 'answer' ? read.answer : undefined) as { items: Array<{ json: Uint8Array }> }
  t.ok(items[0]?.json instanceof Uint8Array)
  t.equal(Buffer.from(items[0]?.json ?? []).toString(), '{}')
  t.equal(items[0]?.json.buffer, frame.buffer)
})

t.test('a frame that announces too much is refused before its bytes arrive', async t => {
  const prefix = Buffer.alloc(4)
  prefix.writeUInt32LE(FRAME_BYTES_MAX + 1)
  t.throws(() => new FrameSplitter().push(prefix), FrameTooLargeError)
  prefix.writeUInt32LE(0)
  t.equal(new FrameSplitter().push(prefix).length, 1)
})

t.test('what is no frame of the other side is refused', async t => {
  const [foreign = Buffer.alloc(0)] = new FrameSplitter().push(writeFrame({ kind: 'hello', version: 99 }))
  t.equal(readWorkerFrame(foreign), undefined)
  t.equal(readStoreFrame(foreign), undefined)
  const operation = 'constructor' as 'totals'
  const ask = writeFrame({ kind: 'ask', id: 1, operation, question: {}, deadlineMs: 0 })
  t.equal(readWorkerFrame(ask.subarray(4)), undefined)
  t.equal(
    readStoreFrame(writeFrame({ kind: 'ask', id: 1, operation: 'totals', question: {}, deadlineMs: 0 }).subarray(4)),
    undefined
  )
  t.equal(readStoreFrame(Buffer.from('{"kind":"answer"}')), undefined)
  t.equal(readStoreFrame(Buffer.alloc(0)), undefined)
})
