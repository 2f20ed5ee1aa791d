import t from 'tap'
import { FrameSplitter } from '../../../../../worker/protocols/shared/stream/frame-splitter.ts'

/** The frames of a stream that arrives in these reads, and what is left. */
function split(...reads: string[]): { frames: string[]; rest: string } {
  const splitter = new FrameSplitter()
  const frames = reads.flatMap(read => splitter.push(Buffer.from(read, 'latin1')))
  return { frames: frames.map(frame => frame.toString('latin1')), rest: splitter.end().toString('latin1') }
}

const streams = [
  ['line feeds', ['event: a\ndata: 1\n\n', 'data: 2\n\n', ': comment\n\n'], 'data: 3\n'],
  ['carriage returns', ['event: a\rdata: 1\r\r', 'data: 2\r\r'], 'data'],
  ['both', ['event: a\r\ndata: 1\r\n\r\n', 'data: 2\r\n\r\n'], ''],
  ['line ends of every kind', ['a\rb\nc\r\nd\n\r', 'e\r\n\n', 'f\r\r\n', 'g\n\r\n'], 'h\r'],
  ['blank lines before a frame', ['\n\r\n\ndata: 1\n\n', '\n\ndata: 2\n\n'], '\n\n']
] as const

for (const [name, frames, rest] of streams) {
  t.test(`a stream with ${name} is cut behind each blank line, wherever its reads are cut`, async t => {
    const text = frames.join('') + rest
    t.same(split(text), { frames: [...frames], rest })
    // Half of a CR LF cannot be told from a CR: it stands before the next frame then, and no byte is lost.
    const joinOf = ({ frames: cut, rest: left }: ReturnType<typeof split>) => cut.join('') + left
    const plain = (frame: string) => frame.replaceAll(/\r\n?/g, '\n').replace(/^\n+/, '')
    for (let cut = 0; cut <= text.length; cut++) {
      const found = split(text.slice(0, cut), text.slice(cut))
      t.equal(joinOf(found), text, `cut at ${cut}`)
      t.same(found.frames.map(plain), frames.map(plain), `cut at ${cut}`)
    }
    const bytes = split(...text)
    t.equal(joinOf(bytes), text)
    t.same(bytes.frames.map(plain), frames.map(plain))
  })
}

t.test('a byte order mark at the start of a stream is left out', async t => {
  const splitter = new FrameSplitter()
  const [frame] = splitter.push(Buffer.from('\ufeffdata: 1\n\n'))
  t.equal(frame?.toString(), 'data: 1\n\n')
})

t.test('a frame beyond the bound is refused, and frames within it are not', async t => {
  const splitter = new FrameSplitter(16)
  t.equal(splitter.push(Buffer.from('data: 12345678\n\ndata: 1234')).length, 1)
  t.equal(splitter.push(Buffer.from('5678\n\n')).length, 1)
  splitter.push(Buffer.from('data: 12345678'))
  t.throws(() => splitter.push(Buffer.from('9012')), { code: 'provider_protocol_error' })
})
