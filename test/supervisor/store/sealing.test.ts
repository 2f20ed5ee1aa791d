import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createSealing, SealedContentError } from '../../../supervisor/store/sealing.ts'
import * as fc from '../../support/properties.ts'

const key = randomBytes(32)
const sealed = createSealing({ key, previousKey: undefined })
const plain = createSealing({ key: undefined, previousKey: undefined })

t.test('what was sealed is opened, with a key and without', async () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.string(), (content, place) => {
      for (const sealing of [sealed, plain]) {
        if (Buffer.compare(sealing.open(sealing.seal(content, place), place), content) !== 0) throw new Error('changed')
      }
    })
  )
})

t.test('the same content is sealed differently each time', async t => {
  const content = Buffer.from('content')
  t.notSame(sealed.seal(content, 'item 1'), sealed.seal(content, 'item 1'))
})

t.test('changed bytes, another place and another key open nothing', async t => {
  const stored = sealed.seal(Buffer.from('content'), 'item 1')
  for (let index = 0; index < stored.length; index++) {
    const changed = Buffer.from(stored)
    changed[index] = (changed[index] ?? 0) ^ (index === 0 ? 2 : 1)
    t.throws(() => sealed.open(changed, 'item 1'), SealedContentError)
  }
  t.throws(() => sealed.open(stored, 'item 2'), SealedContentError)
  t.throws(() => sealed.open(stored.subarray(0, 10), 'item 1'), SealedContentError)
  t.throws(() => plain.open(stored, 'item 1'), SealedContentError)
  t.throws(
    () => createSealing({ key: randomBytes(32), previousKey: undefined }).open(stored, 'item 1'),
    SealedContentError
  )
})

t.test('the previous key and content without a key are read, and new content has the new key', async t => {
  const next = createSealing({ key: randomBytes(32), previousKey: key })
  const content = Buffer.from('content')
  t.same(next.open(sealed.seal(content, 'x'), 'x'), content)
  t.same(next.open(plain.seal(content, 'x'), 'x'), content)
  t.throws(() => sealed.open(next.seal(content, 'x'), 'x'), SealedContentError)
  t.same(new Set(next.keyIds).size, 2)
})

t.test('derived secrets belong to the key, the database and the purpose', async t => {
  const secret = Buffer.from('of the database')
  const other = createSealing({ key: randomBytes(32), previousKey: undefined })
  const all = [
    sealed.derive(secret, 'nodes'),
    sealed.derive(secret, 'others'),
    sealed.derive(Buffer.from('of another'), 'nodes'),
    other.derive(secret, 'nodes'),
    plain.derive(secret, 'nodes')
  ].map(value => value.toString('hex'))
  t.equal(new Set(all).size, all.length)
  t.same(sealed.derive(secret, 'nodes').toString('hex'), all[0])
})
