import t from 'tap'
import { LineSplitter, LineTooLongError } from '../../../shared/traffic/lines.ts'
import * as fc from '../../support/properties.ts'

t.test('lines come out whole however their bytes are cut', async t => {
  fc.assert(
    fc.property(
      fc.array(fc.string().map(text => text.replaceAll('\n', ''))),
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      (lines, sizes) => {
        const bytes = Buffer.from(lines.map(line => `${line}\n`).join(''))
        const splitter = new LineSplitter(1000)
        const read: string[] = []
        for (let at = 0; at < bytes.length; ) {
          const size = sizes.next().value as number
          read.push(...splitter.push(bytes.subarray(at, at + size)).map(String))
          at += size
        }
        // A lone surrogate has no UTF-8 form.
        t.same(
          read,
          lines.map(line => line.toWellFormed())
        )
      }
    )
  )
})

t.test('a line beyond the bound is refused, finished or not', async t => {
  t.throws(() => new LineSplitter(4).push(Buffer.from('12345\n')), LineTooLongError)
  t.throws(() => new LineSplitter(4).push(Buffer.from('12345')), LineTooLongError)
  t.same(new LineSplitter(4).push(Buffer.from('1234\n56')).map(String), ['1234'])
})
