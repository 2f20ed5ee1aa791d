import t from 'tap'
import {
  readToolArguments,
  writeArgumentsObject,
  writeInputObject
} from '../../../../../worker/protocols/shared/tools/tool-arguments.ts'
import { coerceToolResult } from '../../../../../worker/protocols/shared/tools/tool-result.ts'

t.test('arguments as text keep their text beside the parsed object', async t => {
  const text = '{ "a" : 1.0 }'
  t.strictSame(readToolArguments(text, 'p'), { arguments: { a: 1 }, argumentsText: text })
})

t.test('absent arguments are an empty object', async t => {
  for (const value of [undefined, null, '', ' \n']) t.strictSame(readToolArguments(value, 'p'), { arguments: {} })
  t.strictSame(readToolArguments({ a: 1 }, 'p'), { arguments: { a: 1 } })
})

t.test(
  'arguments that are no object are kept as their text, and other values refused (B12, decisions.md 113)',
  async t => {
    for (const value of ['not json', '[1]', '"text"', 'null', '{"a":', '[12345678901234567890]']) {
      const read = readToolArguments(value, 'p')
      t.strictSame(read, { arguments: { arguments: value }, argumentsText: value })
      t.strictSame(writeArgumentsObject(read), { arguments: value })
      t.strictSame(writeInputObject(value), { arguments: value })
    }
    for (const value of [3, true, [1]]) {
      t.throws(() => readToolArguments(value, 'p.arguments'), { code: 'invalid_request', param: 'p.arguments' })
    }
  }
)

t.test('decisions.md 42: text that nests deeper than a body may is refused with its path', async t => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  t.equal(readToolArguments(nested(1000), 'p').argumentsText, nested(1000))
  for (const levels of [1001, 200_000]) {
    t.throws(() => readToolArguments(nested(levels), 'p'), { code: 'invalid_request', param: 'p' })
  }
})

t.test('cost 13: arguments and results with a number beyond the range of a double are not sent on as null', async t => {
  t.throws(() => readToolArguments('{"a":1e400}', 'x'), { code: 'invalid_request', param: 'x' })
  const text = '{"a":1e400}'
  t.same(coerceToolResult([{ type: 'text', text }], false), {
    object: { result: text },
    text: JSON.stringify({ result: text })
  })
})
