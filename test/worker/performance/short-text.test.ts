import t from 'tap'
import { isShortAndPlain, writeJsonText } from '../../../worker/performance/short-text.ts'
import * as fc from '../../support/properties.ts'

t.test('a text is written as JSON.stringify writes it', async () => {
  const unit = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
    // Halves of surrogate pairs too, and the characters beside them.
    fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 }).map(codes => String.fromCharCode(...codes)),
    fc
      .array(fc.constantFrom(' ', '"', '\\', '\n', '\u001f', '\ud7ff', '\ud800', '\udfff', '\ue000', 'a'), {
        maxLength: 30
      })
      .map(characters => characters.join(''))
  )
  fc.assert(fc.property(unit, text => writeJsonText(text) === JSON.stringify(text)))
})

t.test('only a short text that JSON writes as it is counts as plain', async t => {
  for (const text of ['', ' token', 'мир', 'x'.repeat(24)]) t.ok(isShortAndPlain(text), text)
  for (const text of ['"', 'a\\', '\t', '😀', '\ud800', 'x'.repeat(25)]) t.notOk(isShortAndPlain(text), text)
})
