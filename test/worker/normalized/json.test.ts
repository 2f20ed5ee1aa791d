import t from 'tap'
import { type JsonValue, keepExactIntegers, withoutRawJson } from '../../../worker/normalized/index.ts'

const keep = (text: string) => JSON.stringify(keepExactIntegers(text, JSON.parse(text) as JsonValue))

t.test('integers beyond 2^53 keep their digits at every depth, other values are those of JSON.parse', async t => {
  for (const text of [
    '{"id":9007199254740993}',
    '{"a":[{"b":-12345678901234567890}],"c":9007199254740991}',
    '[9007199254740993,"9007199254740993",null,true,{}]',
    '{"__proto__":9007199254740993}'
  ]) {
    t.equal(keep(text), text)
  }
  for (const text of ['{"f":0.12345678901234567890}', '{"e":12345678901234567890e2}', '{"s":"12345678901234567890"}']) {
    t.equal(keep(text), JSON.stringify(JSON.parse(text)))
  }
  t.same(keepExactIntegers(`[1${'0'.repeat(400)}]`, JSON.parse(`[1${'0'.repeat(400)}]`)), [Number.POSITIVE_INFINITY])
})

t.test('text without long integers, or nested too deeply, gives the value as it is', async t => {
  const value = { a: 1 }
  t.equal(keepExactIntegers('{"a":1}', value), value)
  const deep = `${'['.repeat(200_000)}9007199254740993${']'.repeat(200_000)}`
  const parsed = JSON.parse(deep) as JsonValue
  t.equal(keepExactIntegers(deep, parsed), parsed)
})

t.test('raw JSON can be removed again', async t => {
  const text = '{"a":[{"id":9007199254740993}],"b":"x"}'
  const exact = keepExactIntegers(text, JSON.parse(text) as JsonValue)
  t.strictSame(structuredClone(withoutRawJson(exact)), JSON.parse(text))
  const plain = { a: [1, null] }
  t.equal(withoutRawJson(plain), plain)
})
