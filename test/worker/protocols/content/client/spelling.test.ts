import t from 'tap'
import { foldNames, readMember, spell, toCamelCase } from '../../../../../worker/protocols/content/client/spelling.ts'

t.test('a member is found in either spelling, and camel case wins', async t => {
  t.equal(readMember({ mimeType: 'a', mime_type: 'b' }, 'mimeType'), 'a')
  t.equal(readMember({ mime_type: 'b' }, 'mimeType'), 'b')
  t.equal(readMember({ mimeType: null, mime_type: 'b' }, 'mimeType'), 'b')
  t.equal(readMember({ mimetype: 'c' }, 'mimeType'), undefined)
  t.equal(readMember({ text: null }, 'text'), undefined)
})

t.test('an error can name the spelling that the client used', async t => {
  t.equal(spell({ mime_type: 3 }, 'mimeType'), 'mime_type')
  t.equal(spell({}, 'mimeType'), 'mimeType')
})

t.test('names become camel case for a parameter table, and names in the table stay unchanged', async t => {
  const table = { extra_body: true, topK: true }
  t.strictSame(foldNames({ top_k: 1, extra_body: {}, a_b_2c: 3 }, table), { topK: 1, aB2c: 3, extra_body: {} })
  t.strictSame(foldNames({ topK: 1, top_k: 2 }, table), { topK: 1 })
  t.strictSame(foldNames({ top_k: 2, topK: 1 }, table), { topK: 1 })
  t.equal(toCamelCase('_private_name'), '_private_name')
})

t.test('a member named __proto__ stays a member', async t => {
  const folded = foldNames(JSON.parse('{"__proto__":{"polluted":1}}'), {})
  t.ok(Object.hasOwn(folded, '__proto__'))
  t.equal(folded.polluted, undefined)
})
