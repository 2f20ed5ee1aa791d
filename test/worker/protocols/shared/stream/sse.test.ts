import t from 'tap'
import { createSseParser } from '../../../../../worker/protocols/shared/stream/sse.ts'
import * as fc from '../../../../support/properties.ts'

type Event = [data: string, name: string]

function parse(pieces: readonly Uint8Array[], frameCharactersMax?: number): Event[] {
  const events: Event[] = []
  const parser = createSseParser({
    onEvent: (data, name) => events.push([data, name]),
    ...(frameCharactersMax === undefined ? {} : { frameCharactersMax })
  })
  for (const piece of pieces) parser.push(piece)
  parser.end()
  return events
}

const read = (text: string, max?: number) => parse([Buffer.from(text)], max)

t.test('an event has data and a name', async t => {
  t.same(read('event: a\ndata: 1\n\ndata:2\n\n'), [
    ['1', 'a'],
    ['2', '']
  ])
})

t.test('all three kinds of line ends give the same events', async t => {
  for (const end of ['\n', '\r\n', '\r']) {
    t.same(read(['event: a', 'data: 1', 'data: 2', '', 'data: 3', '', ''].join(end)), [
      ['1\n2', 'a'],
      ['3', '']
    ])
  }
})

t.test('one space after the colon belongs to the syntax, a second space to the data', async t => {
  t.same(read('data:  x \n\ndata:y\n\nevent:n\ndata:\n\n'), [
    [' x ', ''],
    ['y', ''],
    ['', 'n']
  ])
})

t.test('comments, other fields and events without data are ignored', async t => {
  t.same(read(': ping\n\n:\nid: 1\nretry: 5\nevent: lost\n\nunknown\ndata: 1\n:x\n\n'), [['1', '']])
})

t.test('a field without a colon has an empty value', async t => {
  t.same(read('data\n\ndata\ndata: a\ndata\n\n'), [
    ['', ''],
    ['\na\n', '']
  ])
})

t.test('the last event needs neither a blank line nor a line end', async t => {
  t.same(read('data: 1\n\ndata: 2'), [
    ['1', ''],
    ['2', '']
  ])
  t.same(read('event: a\ndata: 2\r'), [['2', 'a']])
  t.same(read(''), [])
})

t.test('a leading byte order mark is dropped', async t => {
  t.same(read('\uFEFFdata: 1\n\n'), [['1', '']])
})

t.test('invalid bytes become replacement characters, and the event is kept', async t => {
  t.same(parse([Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xd0]), Buffer.from('\n\n')]), [['\uFFFD', '']])
  t.same(parse([Buffer.from('data: a'), Buffer.from([0xd0])]), [['a\uFFFD', '']])
})

t.test('a frame beyond the bound is refused, whether it has line ends or not', async t => {
  const tooLarge = { code: 'provider_protocol_error' }
  t.same(read(`data: ${'x'.repeat(90)}\n\n`, 100).length, 1)
  t.throws(() => read(`data: ${'x'.repeat(101)}\n\n`, 100), tooLarge)
  t.throws(() => read('x'.repeat(101), 100), tooLarge)
  t.throws(() => read('data: 0123456789\n'.repeat(20), 100), tooLarge)
  t.throws(
    () =>
      parse(
        Array.from({ length: 50 }, () => Buffer.from('data: ab')),
        100
      ),
    tooLarge
  )
})

t.test('the bound applies to each frame, not to all frames together', async t => {
  t.equal(read('data: 0123456789\n\n'.repeat(100), 100).length, 100)
})

t.test('a long line that arrives in many reads is read as a short one', async t => {
  const value = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).map(text => text.replaceAll(/[\r\n]/g, ''))
  fc.assert(
    fc.property(
      value,
      fc.integer({ min: 1000, max: 20_000 }),
      fc.integer({ min: 1, max: 50_000 }),
      (unit, times, size) => {
        const long = unit.repeat(times)
        const bytes = Buffer.from(`data: ${long}\nevent: e\r\n\r\ndata: ${long}`)
        const pieces: Buffer[] = []
        for (let start = 0; start < bytes.length; start += size) pieces.push(bytes.subarray(start, start + size))
        const events = parse(pieces)
        t.equal(events.length, 2)
        t.ok(events[0]?.[0] === long && events[0][1] === 'e', 'the first event')
        t.ok(events[1]?.[0] === long && events[1][1] === '', 'the event that the end of the stream ends')
      }
    ),
    { numRuns: 60 }
  )
})

t.test('a long line beyond the bound is refused, measured in UTF-16 units', async t => {
  const bound = 100_000
  for (const unit of ['x', 'я', '𝄞']) {
    const fitting = unit.repeat(Math.floor((bound - 'data: '.length) / unit.length))
    const events: string[] = []
    const parser = createSseParser({ onEvent: data => events.push(data), frameCharactersMax: bound })
    const pushAll = (text: string): void => {
      const bytes = Buffer.from(text)
      for (let start = 0; start < bytes.length; start += 20_001) parser.push(bytes.subarray(start, start + 20_001))
    }
    pushAll(`data: ${fitting}\n\n`)
    t.ok(events[0] === fitting, 'a line at the bound')
    t.throws(() => pushAll(`data: ${fitting}${unit.repeat(100)}`), { code: 'provider_protocol_error' })
  }
})

t.test('the events are the same wherever the bytes are cut (A12, A13)', async t => {
  const line = fc.oneof(
    fc.constantFrom('data: a', 'data:', 'data', 'event: e', ': c', '', 'id: 1'),
    fc.string({ unit: 'grapheme', maxLength: 6 }).map(text => `data: ${text.replaceAll(/[\r\n]/g, '')}`)
  )
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const text = fc.array(fc.tuple(line, end)).map(lines => lines.flat().join(''))
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 10 }), (text, cuts) => {
      const bytes = Buffer.from(text)
      const borders = [0, ...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
      const pieces = borders.slice(1).map((border, index) => bytes.subarray(borders[index], border))
      t.same(parse(pieces), parse([bytes]))
    })
  )
})
