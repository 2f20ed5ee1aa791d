import t from 'tap'
import { createStopSequenceFilter, type NormalizedEvent } from '../../worker/normalized/index.ts'
import * as fc from '../support/properties.ts'
import { checkGrammar } from '../worker/normalized/grammar.ts'

/** Few letters, so that stop strings overlap with the text and with each other. */
const letters = (minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom('a', 'b', 'c'), { minLength, maxLength }).map(list => list.join(''))

const stops = fc.array(letters(1, 4), { minLength: 1, maxLength: 4 })

function run(text: string, cuts: readonly number[], given: readonly string[]) {
  const borders = [...new Set([0, ...cuts.map(cut => cut % (text.length + 1)), text.length])].sort((a, b) => a - b)
  const filter = createStopSequenceFilter(given)
  const events: NormalizedEvent[] = filter.push([{ type: 'start', providerModel: null, metadata: {} }])
  events.push(...filter.push([{ type: 'text-start' }]))
  for (let index = 1; index < borders.length; index++) {
    const piece = text.slice(borders[index - 1], borders[index])
    if (piece !== '') events.push(...filter.push([{ type: 'text-delta', text: piece }]))
  }
  const finish: NormalizedEvent = { type: 'finish', reason: 'stop', providerReason: null, metadata: {} }
  events.push(...filter.push([{ type: 'text-end' }, finish]))
  return { events, match: filter.match, text: events.map(e => (e.type === 'text-delta' ? e.text : '')).join('') }
}

/** The rule, as simply as it can be said: read on until some stop string is complete. */
function cutSlowly(text: string, given: readonly string[]): { text: string; match: string | undefined } {
  for (let end = 1; end <= text.length; end++) {
    const found = given.filter(stop => text.slice(0, end).endsWith(stop)).sort((a, b) => b.length - a.length)[0]
    if (found !== undefined) return { text: text.slice(0, end - found.length), match: found }
  }
  return { text, match: undefined }
}

t.test('wherever the text is cut, the result is that of reading it one character at a time', async t => {
  fc.assert(
    fc.property(letters(0, 20), fc.array(fc.nat(), { maxLength: 8 }), stops, (text, cuts, given) => {
      const actual = run(text, cuts, given)
      const expected = cutSlowly(text, given)
      if (actual.text !== expected.text) throw new Error(`text ${actual.text} instead of ${expected.text}`)
      if (actual.match !== expected.match) throw new Error(`match ${actual.match} instead of ${expected.match}`)
      const faults = checkGrammar(actual.events)
      if (faults.length > 0) throw new Error(faults.join('; '))
    }),
    { numRuns: 1000 }
  )
  t.pass()
})

t.test('never more text is held back than a stop string is long', async t => {
  fc.assert(
    fc.property(letters(0, 20), stops, (text, given) => {
      const filter = createStopSequenceFilter(given)
      const longest = Math.max(...given.map(stop => stop.length))
      let sent = 0
      let passed = 0
      for (const character of text) {
        sent++
        for (const event of filter.push([{ type: 'text-delta', text: character }])) {
          if (event.type === 'text-delta') passed += event.text.length
        }
        if (filter.match !== undefined) return
        if (sent - passed >= longest) throw new Error(`${sent - passed} held back`)
      }
    })
  )
  t.pass()
})
