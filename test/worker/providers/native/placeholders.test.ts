import t from 'tap'
import { substitutePlaceholders } from '../../../../worker/providers/native/placeholders.ts'
import * as fc from '../../../support/properties.ts'

t.test('file ids take the place of placeholders wherever those stand', async t => {
  const body = Buffer.from(JSON.stringify({ messages: [{ attachments: ['p/1', 'p/10'] }, { files: [{ id: 'p/1' }] }] }))
  const replaced = substitutePlaceholders(
    body,
    new Map([
      ['p/1', 'first'],
      ['p/10', 'second "quoted"']
    ])
  )
  t.same(JSON.parse(Buffer.from(replaced).toString()), {
    messages: [{ attachments: ['first', 'second "quoted"'] }, { files: [{ id: 'first' }] }]
  })
})

t.test('text that merely mentions a placeholder stays', async t => {
  const body = Buffer.from(JSON.stringify({ text: 'say p/1 and "p/1"' }))
  t.equal(substitutePlaceholders(body, new Map([['p/1', 'x']])), body)
  t.equal(substitutePlaceholders(body, new Map()), body)
})

t.test('any text around a placeholder survives', async t => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.anyCharacter })), fc.string({ unit: fc.anyCharacter }), (texts, id) => {
      const body = Buffer.from(JSON.stringify([...texts, 'gateway-attachment/r/0', ...texts]))
      const replaced = substitutePlaceholders(body, new Map([['gateway-attachment/r/0', id]]))
      t.same(JSON.parse(Buffer.from(replaced).toString()), JSON.parse(JSON.stringify([...texts, id, ...texts])))
    })
  )
})
