import t from 'tap'
import { createServerEventDecoder, type ServerEvent } from '../../../ops/dashboard/src/data/server-events.ts'
import * as fc from '../../support/properties.ts'

const read = (pieces: readonly string[]): ServerEvent[] => {
  const decoder = createServerEventDecoder()
  return pieces.flatMap(piece => decoder.push(piece))
}

t.test('events have their name, id and data; comments and unfinished events are left out', async t => {
  const text = ': ping\n\nevent: log\nid: 1\ndata: {"a":1}\n\ndata:two\ndata: lines\n\nevent: empty\n\ndata: open'
  t.same(read([text]), [
    { name: 'log', id: '1', data: '{"a":1}' },
    { name: 'message', id: '1', data: 'two\nlines' }
  ])
})

t.test('the pieces in which a text arrives make no difference, for every line end', async t => {
  const line = fc.stringMatching(/^[^\r\n]{0,12}$/)
  const event = fc.record({ name: line, id: line, data: fc.array(line, { minLength: 1, maxLength: 3 }) })
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 4 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.nat(200)),
      (events, end, cuts) => {
        const lines = events.flatMap(({ name, id, data }) => [
          `event: ${name}`,
          `id: ${id}`,
          ...data.map(value => `data: ${value}`),
          ''
        ])
        // The last line end of a stream may be half of a longer one, so something follows.
        const text = `${lines.map(value => value + end).join('')}: end`
        const places = [...new Set(cuts.map(cut => cut % (text.length + 1)))].sort((one, other) => one - other)
        const pieces = [0, ...places].map((place, index) => text.slice(place, places[index]))
        const expected = events.map(({ name, id, data }) => ({ name: name || 'message', id, data: data.join('\n') }))
        t.same(read(pieces), expected)
      }
    ),
    { numRuns: 200 }
  )
})

t.test('an event without end is refused before it fills the memory', async t => {
  const decoder = createServerEventDecoder(1000)
  t.throws(() => {
    for (let piece = 0; piece < 100; piece++) decoder.push(`data: ${'x'.repeat(50)}\n`)
  }, /too long/)
  t.throws(() => createServerEventDecoder(1000).push('x'.repeat(2000)), /too long/)
})
