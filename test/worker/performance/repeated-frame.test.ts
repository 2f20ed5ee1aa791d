import t from 'tap'
import { RepeatedFrame } from '../../../worker/performance/repeated-frame.ts'
import { createSseParser } from '../../../worker/protocols/shared/stream/sse.ts'
import * as fc from '../../support/properties.ts'

interface Frame {
  text: string
  id?: number
}

const readPlainText = (payload: Record<string, unknown>) =>
  Object.keys(payload).join() === 'text,id' && payload.id === 1 && typeof payload.text === 'string'
    ? payload.text
    : undefined

/** The lines of a frame; `id` is a member behind the text, the same in most frames. */
const writeData = ({ text, id = 1 }: Frame) => JSON.stringify({ text, id })
const writeFrame = (frame: Frame, name = '') => `${name === '' ? '' : `event: ${name}\n`}data: ${writeData(frame)}\n\n`

function learnFrame(frame: Frame = { text: 'learned' }, name = ''): RepeatedFrame {
  const repeated = new RepeatedFrame(readPlainText)
  const data = writeData(frame)
  repeated.learn(data, name, JSON.parse(data))
  return repeated
}

function readRun(stream: string, { name = '', start = 0 } = {}): [texts: string[], end: number] {
  const texts: string[] = []
  const end = learnFrame({ text: 'learned' }, name).readRun(stream, start, text => texts.push(text) > 0)
  return [texts, end]
}

t.test('a run ends where a frame differs in more than its text, or is not complete', async t => {
  const run = writeFrame({ text: 'a' }) + writeFrame({ text: '' }) + writeFrame({ text: 'ж\n"\\' })
  for (const rest of [
    '',
    writeFrame({ text: 'b', id: 2 }),
    writeFrame({ text: 'b' }, 'named'),
    writeFrame({ text: 'b' }).slice(0, -1),
    'data: {"text":"b',
    'data: {"text":"b\n\n',
    'data: {"text":"b\\"}',
    ': comment\n\n',
    'data: {"text":"b","id":1}\ndata: {"more":1}\n\n'
  ]) {
    // A quote within a text ends the run before it: the frame is read by the parser.
    t.same(readRun(run + rest), [['a', ''], (writeFrame({ text: 'a' }) + writeFrame({ text: '' })).length])
    const plain = writeFrame({ text: 'a' }) + writeFrame({ text: 'ж\n' })
    t.same(readRun(plain + rest), [['a', 'ж\n'], plain.length])
  }
})

t.test('a text that is not the content of one string ends the run', async t => {
  for (const text of ['\n', 'a\nb', '\\', '\\x', '\\u12']) {
    t.same(readRun(`data: {"text":"${text}","id":1}\n\n`), [[], 0], JSON.stringify(text))
  }
})

t.test('frames with a name are a run of their own', async t => {
  const stream = writeFrame({ text: 'a' }, 'delta') + writeFrame({ text: 'b' }, 'delta')
  t.same(readRun(stream, { name: 'delta' }), [['a', 'b'], stream.length])
  t.same(readRun(stream, { name: 'other' }), [[], 0])
  t.same(readRun(stream), [[], 0])
})

t.test('nothing is taken before a frame is learned, or after a frame of several lines', async t => {
  const stream = writeFrame({ text: 'a' })
  t.equal(
    new RepeatedFrame(readPlainText).readRun(stream, 0, () => true),
    0
  )
  const repeated = new RepeatedFrame(readPlainText)
  const data = '{"text":"a",\n"id":1}'
  t.ok(repeated.learn(data, '', JSON.parse(data)))
  t.equal(repeated.match(data.replace('a', 'b'), ''), 'b')
  t.equal(
    repeated.readRun(`data: ${data}\n\n`, 0, () => true),
    0
  )
})

t.test('a text that is not taken is the last of its run', async t => {
  const first = writeFrame({ text: 'a' })
  t.equal(
    learnFrame().readRun(first + first, 0, () => false),
    first.length
  )
})

t.test('a very long text is left to the parser, which bounds it', async t => {
  t.same(readRun(writeFrame({ text: 'a'.repeat(20_000) })), [[], 0])
})

/** What a reader of this stream sees: the texts of plain frames and the data of all others. */
function read(pieces: readonly Buffer[], hasRuns: boolean): string[] {
  const repeated = new RepeatedFrame(readPlainText)
  const seen: string[] = []
  const take = (text: string) => seen.push(`text ${text}`) > 0
  const parser = createSseParser({
    onEvent(data, name) {
      const text = repeated.match(data, name) ?? readPlain(data)
      if (text !== undefined) {
        take(text)
        repeated.learn(data, name, JSON.parse(data))
      } else seen.push(`${name} ${data}`)
    },
    ...(hasRuns ? { readRun: (text: string, position: number) => repeated.readRun(text, position, take) } : {})
  })
  for (const piece of pieces) parser.push(piece)
  parser.end()
  return seen
}

function readPlain(data: string): string | undefined {
  try {
    return readPlainText(JSON.parse(data))
  } catch {
    return undefined
  }
}

const frames = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .constantFrom('a', ' token', '', 'ж', '"', '\\', 'a\nb', '\r\n', '😀')
      .map(text => writeFrame({ text }))
  },
  fc.string({ unit: fc.anyCharacter }).map(text => writeFrame({ text })),
  fc.string().map(text => writeFrame({ text }, 'delta')),
  fc.integer({ min: 1, max: 2 }).map(id => writeFrame({ text: 'a', id })),
  fc.constantFrom(
    'data: {"text":"a\n\n',
    'data: {"text":"a\\","id":1}\n\n',
    'data: {"text":"a","id":1}\n',
    'data: {"text":"a","id":1}\r\n\r\n',
    '\n',
    ': comment\n\n',
    'event: delta\n',
    'id: 1\n',
    'data: [DONE]\n\n'
  )
)

t.test('runs change nothing that a reader of the stream sees', async t => {
  fc.assert(
    fc.property(
      fc.array(frames, { maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 6 }),
      (list, sizes) => {
        const bytes = Buffer.from(list.join(''))
        const pieces: Buffer[] = []
        let start = 0
        for (const size of [...sizes, bytes.length]) {
          pieces.push(bytes.subarray(start, start + size))
          start += size
        }
        t.same(read(pieces, true), read(pieces, false))
      }
    ),
    { numRuns: 2000 }
  )
})
