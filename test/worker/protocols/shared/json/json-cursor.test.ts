import t from 'tap'
import { JsonCursor } from '../../../../../worker/protocols/shared/json/json-cursor.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../../support/growth.ts'
import * as fc from '../../../../support/properties.ts'

/** The bytes at some place of their memory: the cursor reads whole words of it. */
function place(bytes: Uint8Array, offset: number): Buffer {
  return Buffer.concat([Buffer.alloc(offset, '"'), bytes, Buffer.alloc(5, '\\')]).subarray(
    offset,
    offset + bytes.length
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Pieces of texts, valid or not. */
const piece = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '\\\\',
    '\\n',
    '\\u00e9',
    '\\ud83d\\ude00',
    '\\uDFff',
    '\\u12g4',
    '\\x',
    '\n',
    '\0',
    '\x1f'
  ),
  fc.constantFrom('The gateway translates requests between protocols. ', '\x7f', ' ')
)

t.test('a text is passed exactly where it is valid JSON', async t => {
  let valid = 0
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.nat({ max: 7 }), (pieces, offset) => {
      const written = `"${pieces.join('')}"`
      const bytes = place(Buffer.from(written), offset)
      const cursor = new JsonCursor(bytes)
      const isPassed = cursor.takeText() && cursor.isAtEnd()
      if (isPassed !== (parse(written) !== undefined)) throw new Error('another opinion')
      if (!isPassed) return
      valid++
      const inner = bytes.subarray(cursor.start, cursor.end).toString()
      if (inner !== written.slice(1, -1)) throw new Error('another place')
      if (cursor.isEscaped !== inner.includes('\\')) throw new Error('escapes')
    }),
    { numRuns: 3000 }
  )
  if (fc.areRunsFull) t.ok(valid > 100, 'many texts are valid')
})

t.test('a number is passed exactly where it is valid JSON', async t => {
  const characters = fc.string({ unit: fc.constantFrom(...'0123456789.eE+-'), maxLength: 8 })
  fc.assert(
    fc.property(fc.oneof(characters, fc.double().map(String)), text => {
      const cursor = new JsonCursor(Buffer.from(text))
      const isPassed = cursor.takeNumber() && cursor.isAtEnd()
      if (isPassed !== (parse(text) !== undefined)) throw new Error('another opinion')
    }),
    { numRuns: 3000 }
  )
  t.pass()
})

t.test('structure, words and blanks', async t => {
  const cursor = new JsonCursor(Buffer.from(' {\t"a"\r\n: null, "b":truely}'))
  t.equal(cursor.take(0x5b), false)
  t.equal(cursor.take(0x7b), true)
  t.equal(cursor.takeText(), true)
  t.equal(cursor.isText('a'), true)
  t.equal(cursor.isText('ab'), false)
  t.equal(cursor.takeText(), false)
  t.equal(cursor.take(0x3a), true)
  t.equal(cursor.takeNumber(), false)
  t.equal(cursor.takeWord('nil'), false)
  t.equal(cursor.takeWord('null'), true)
  t.equal(cursor.take(0x2c) && cursor.takeText() && cursor.take(0x3a) && cursor.takeWord('true'), true)
  t.equal(cursor.take(0x7d), false, 'a word goes on')
  t.equal(cursor.isAtEnd(), false)
  t.equal(new JsonCursor(Buffer.from(' \n')).isAtEnd(), true)
  t.equal(new JsonCursor(Buffer.from('"a')).takeText(), false)
  t.equal(new JsonCursor(Buffer.alloc(0)).takeText(), false)
})

t.test('the cost grows with the length', async t => {
  const texts: Record<string, (size: number) => string> = {
    prose: size => 'word '.repeat(size * 20),
    'prose with escapes': size => 'some words \\n'.repeat(size),
    'escapes alone': size => '\\n'.repeat(size),
    'escaped quotes': size => '\\"'.repeat(size)
  }
  for (const [name, write] of Object.entries(texts)) {
    const growth = measureGrowth(5000, size => {
      const bytes = Buffer.from(`"${write(size)}"`)
      return () => {
        if (!new JsonCursor(bytes).takeText()) throw new Error('not passed')
      }
    })
    t.ok(growth <= LINEAR_GROWTH_MAX, `${name}: ${growth}`)
  }
})

t.test('a text with too many escapes is left to the general way', async t => {
  t.equal(new JsonCursor(Buffer.from(`"${'\\n'.repeat(50_001)}"`)).takeText(), false)
})

t.test('a very long number is left to the general way', async t => {
  const isPassed = (text: string) => new JsonCursor(Buffer.from(text)).takeNumber()
  t.equal(isPassed(`-${'1'.repeat(64)}.${'1'.repeat(64)}e${'0'.repeat(64)}`), true)
  for (const text of ['1'.repeat(65), `0.${'1'.repeat(65)}`, `1e${'0'.repeat(65)}`]) t.equal(isPassed(text), false)
})

t.test(
  'every character of ASCII is judged as by the parser, at each place of a word and beside each other kind',
  async t => {
    const wrong: string[] = []
    for (let code = 0; code < 0x80; code++) {
      for (const before of ['', 'a', ' !', '#', '\\"', 'é', 'x'.repeat(15), 'x'.repeat(33)]) {
        for (const behind of ['', '!', ' ', '#', ']', 'x'.repeat(17)]) {
          const text = `"${before}${String.fromCharCode(code)}${behind}"`
          let isValid = true
          try {
            JSON.parse(text)
          } catch {
            isValid = false
          }
          for (let offset = 0; offset < 4; offset++) {
            const cursor = new JsonCursor(place(Buffer.from(text), offset))
            if ((cursor.takeText() && cursor.isAtEnd()) !== isValid) wrong.push(`${text} at ${offset}`)
          }
        }
      }
    }
    t.same(wrong, [])
  }
)
