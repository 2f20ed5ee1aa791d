// Tokens and deltas: counts are deterministic, and the pieces of a text join to the text.

import t from 'tap'
import {
  countCharacters,
  countTokens,
  cutToTokens,
  splitEvenly,
  splitIntoDeltas
} from '../../../ops/emulator/tokens.ts'
import * as fc from '../../support/properties.ts'

t.test('the recorded texts have the recorded numbers of tokens', async t => {
  t.equal(countTokens('First text'), 2)
  t.equal(countTokens('Second text'), 2)
  t.equal(countTokens('Hello, world!'), 4)
  t.equal(countTokens(''), 0)
  t.equal(countTokens('internationalisation'), 3)
})

t.test('characters are counted as code points', async t => {
  t.equal(countCharacters('First text'), 10)
  t.equal(countCharacters('a😀б'), 3)
})

const anyText = fc.string({ unit: 'grapheme', maxLength: 400 })

t.test('deltas join to the text, and no cut is inside a surrogate pair (property)', async t => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 50 }), (text, count) => {
      const cuts = [splitIntoDeltas(text), splitEvenly(text, count)]
      return cuts.every(
        pieces => pieces.join('') === text && pieces.every(piece => piece.isWellFormed() && piece !== '')
      )
    })
  )
  t.pass()
})

t.test('a cut text has at most the allowed number of tokens (property)', async t => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 0, max: 60 }), (text, limit) => {
      const cut = cutToTokens(text, limit)
      return text.startsWith(cut) && countTokens(cut) <= limit && cut.isWellFormed()
    })
  )
  t.pass()
})
