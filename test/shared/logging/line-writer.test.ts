import { Writable } from 'node:stream'
import t from 'tap'
import { createLineWriter, PIPE_PIECE_BYTES } from '../../../shared/logging/line-writer.ts'
import * as fc from '../../support/properties.ts'

/** A reader that accepts one piece at a time; `read` accepts the next. */
function createSlowReader() {
  const taken: string[] = []
  let take: (() => void) | undefined
  const stream = new Writable({
    decodeStrings: false,
    write(piece: string, _encoding, done) {
      taken.push(piece)
      take = done
    }
  })
  return { stream, taken, read: () => take?.() }
}

const pieceSize = fc.constantFrom(PIPE_PIECE_BYTES, 32 * 1024)
const failOnLoss = () => t.fail('no line may be lost')

t.test('lines of any length are written in order, and no piece ends inside a line', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 9000 }), { maxLength: 40 }), pieceSize, async (lengths, pieceBytes) => {
      const pieces: string[] = []
      const stream = new Writable({
        decodeStrings: false,
        write(piece: string, _encoding, done) {
          pieces.push(piece)
          setImmediate(done)
        }
      })
      const writer = createLineWriter(stream, { pieceBytes, gatherMs: 1, onLost: failOnLoss })
      const lines = lengths.map((length, index) => `${index}:${'x'.repeat(length)}\n`)
      for (const line of lines) writer.write(line)
      await writer.drained()
      t.equal(pieces.join(''), lines.join(''))
      t.ok(pieces.every(piece => piece.endsWith('\n')))
      t.ok(pieces.every(piece => piece.length <= pieceBytes || piece.indexOf('\n') === piece.length - 1))
    })
  )
})

t.test('a reader that stops reading causes bounded memory, and the dropped lines are counted', async t => {
  const { stream, taken } = createSlowReader()
  let lost = 0
  const writer = createLineWriter(stream, {
    pieceBytes: PIPE_PIECE_BYTES,
    gatherMs: 0,
    onLost: () => {
      lost += 1
    }
  })
  const line = `${'x'.repeat(1023)}\n`
  for (let count = 0; count < 5000; count += 1) writer.write(line)
  t.equal(taken.length, 1, 'the reader has one piece')
  t.equal(lost, 5000 - 4096, 'four mebibytes wait')
})

t.test('when the reader continues, the queued lines follow', async t => {
  const { stream, taken, read } = createSlowReader()
  const writer = createLineWriter(stream, { pieceBytes: PIPE_PIECE_BYTES, gatherMs: 0, onLost: failOnLoss })
  writer.write('one\n')
  writer.write('two\n')
  writer.write('three\n')
  t.same(taken, ['one\n'])
  read()
  t.same(taken, ['one\n', 'two\nthree\n'])
  const drained = writer.drained()
  read()
  await drained
})

t.test('gathered lines are written by the timer or when a piece is full', async t => {
  const { stream, taken } = createSlowReader()
  const writer = createLineWriter(stream, { pieceBytes: PIPE_PIECE_BYTES, gatherMs: 60_000, onLost: failOnLoss })
  writer.write('short\n')
  t.same(taken, [])
  writer.write(`${'x'.repeat(4095)}\n`)
  t.equal(taken.length, 1)
  writer.flush()
  t.equal(stream.writableLength > 0, true, 'the stream holds the other lines')
})

t.test('a reader that closes its end causes no error, and drained() resolves', async t => {
  const stream = new Writable({
    write(_piece, _encoding, done) {
      done(new Error('EPIPE'))
    }
  })
  const writer = createLineWriter(stream, { pieceBytes: PIPE_PIECE_BYTES, gatherMs: 0, onLost: failOnLoss })
  writer.write('one\n')
  writer.write('two\n')
  await writer.drained()
  writer.write('three\n')
  await writer.drained()
  t.pass('drained() resolves')
})
