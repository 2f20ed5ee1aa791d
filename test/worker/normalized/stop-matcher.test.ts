import t from 'tap'
import { StopMatcher } from '../../../worker/normalized/stop-matcher.ts'
import * as fc from '../../support/properties.ts'

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 12 })
const stopLists = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 5
})

/** The rule in words: the first character at which any stop string is complete, and there the longest. */
function findNaively(text: string, stops: readonly string[]): { stop: string; end: number } | undefined {
  for (let end = 1; end <= text.length; end++) {
    const complete = stops.filter(stop => text.slice(0, end).endsWith(stop))
    const [longest] = complete.toSorted((left, right) => right.length - left.length)
    if (longest !== undefined) return { stop: longest, end }
  }
  return undefined
}

function possibleLengthOf(text: string, stops: readonly string[]): number {
  for (let length = text.length; length > 0; length--) {
    if (stops.some(stop => stop.startsWith(text.slice(-length)))) return length
  }
  return 0
}

t.test('the first complete stop string is found wherever the text is cut', async t => {
  fc.assert(
    fc.property(stopLists, fc.array(letters, { maxLength: 8 }), (stops, pieces) => {
      const matcher = new StopMatcher(stops)
      let before = ''
      for (const piece of pieces) {
        const found = matcher.read(piece)
        const expected = findNaively(before + piece, stops)
        t.same(found && { stop: found.stop, end: before.length + found.end }, expected)
        before += piece
        if (found !== undefined) return
        t.equal(matcher.possibleLength, possibleLengthOf(before, stops))
      }
    }),
    { numRuns: 500 }
  )
})

t.test('a reset discards the text before it', async t => {
  const matcher = new StopMatcher(['ab'])
  matcher.read('a')
  matcher.reset()
  t.equal(matcher.possibleLength, 0)
  t.equal(matcher.read('b'), undefined)
  t.same(matcher.read('ab'), { stop: 'ab', end: 2 })
})
