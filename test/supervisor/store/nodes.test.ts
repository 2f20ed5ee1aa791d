import t from 'tap'
import { countKnownNodes, hashNodes } from '../../../supervisor/store/nodes.ts'
import * as fc from '../../support/properties.ts'

const SECRET = Buffer.from('secret')
const hash = (texts: readonly string[], owner = 'alice') =>
  hashNodes(
    SECRET,
    Buffer.from(owner),
    texts.map(text => ({ id: 'i', json: Buffer.from(text) }))
  ).map(key => key.toString('hex'))

t.test('inputs share the keys of the items with which they begin, and no others', async t => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'b', 'ab', '')),
      fc.array(fc.constantFrom('a', 'b', 'ab', '')),
      (a, b) => {
        const [keysA, keysB] = [hash(a), hash(b)]
        const shared = a.findIndex((text, index) => text !== b[index])
        const length = shared < 0 ? Math.min(a.length, b.length) : Math.min(shared, b.length)
        t.same(keysA.slice(0, length), keysB.slice(0, length))
        for (const key of keysA.slice(length)) if (keysB.includes(key)) throw new Error('a key of another input')
      }
    )
  )
  t.equal(new Set([...hash(['a', 'a', 'a']), ...hash(['a'], 'bob')]).size, 4, 'of another place or owner')
})

t.test('the known nodes are counted with few questions', async t => {
  fc.assert(
    fc.property(fc.nat(5000), fc.nat(5000), (length, limit) => {
      const known = Math.min(length, limit)
      const keys = Array.from({ length }, (_, index) => Buffer.from([index >> 8, index & 255]))
      let questions = 0
      const count = countKnownNodes(keys, key => {
        questions++
        return Buffer.from(key).readUInt16BE() < known
      })
      if (count !== known) throw new Error(`${count} of ${known}`)
      if (questions > 2 * Math.ceil(Math.log2(length + 2))) throw new Error(`${questions} questions of ${length}`)
    })
  )
  const resent = Array.from({ length: 200 }, (_, index) => Buffer.from([index]))
  let questions = 0
  countKnownNodes(resent, key => {
    questions++
    return (key[0] ?? 0) < 198
  })
  t.ok(questions <= 3, `a resent history needs ${questions} questions`)
})
