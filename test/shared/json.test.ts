// A long JSON body, written item by item.

import t from 'tap'
import { writeLongJson } from '../../shared/json.ts'
import * as fc from '../support/properties.ts'

t.test('the bytes are those of JSON.stringify, however long the body becomes', async () => {
  const body = fc.dictionary(
    fc.string({ unit: fc.anyCharacter }),
    fc.oneof(
      fc.jsonValue(),
      fc.constant(undefined),
      fc.array(fc.oneof(fc.jsonValue(), fc.string({ unit: fc.anyCharacter }), fc.constant(undefined)))
    )
  )
  fc.assert(
    fc.property(body, fc.nat(200), (value, bytesExpected) => {
      return writeLongJson(value, bytesExpected).equals(Buffer.from(JSON.stringify(value)))
    }),
    { numRuns: 2000 }
  )
})

t.test('a text of which each character has three bytes fits exactly', async t => {
  const body = { list: ['\u20ac'.repeat(1000), '\ud800', '😀'.repeat(10)] }
  const expected = Buffer.from(JSON.stringify(body))
  for (const bytesExpected of [0, 1, expected.length - 1, expected.length, expected.length + 1]) {
    t.ok(writeLongJson(body, bytesExpected).equals(expected), `${bytesExpected} bytes expected`)
  }
})
