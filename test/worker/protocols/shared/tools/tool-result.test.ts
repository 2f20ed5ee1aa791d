import t from 'tap'
import { coerceToolResult } from '../../../../../worker/protocols/shared/tools/tool-result.ts'

const coerce = (text: string) => coerceToolResult([{ type: 'text', text }], false)

t.test('decisions.md 42: a result that nests deeper than a body may stays text', async t => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  t.equal(coerce(nested(1000)).text, nested(1000))
  for (const levels of [1001, 200_000]) {
    t.strictSame(coerce(nested(levels)).object, { result: nested(levels) })
    t.strictSame(
      coerce(JSON.stringify(nested(levels))).object,
      { result: nested(levels) },
      'also when it is encoded twice'
    )
  }
})

t.test('a text that would lose digits as a number stays text, such as a version', async t => {
  for (const text of ['3.10', '1e3', '-0', ' 1.50 ', '0.1000'])
    t.strictSame(coerce(text).object, { result: text }, text)
  for (const text of ['3', ' 3.5 ', '-12', 'true', 'null'])
    t.strictSame(coerce(text).object, { result: JSON.parse(text) })
  t.equal(coerce('12345678901234567890').text, '{"result":12345678901234567890}')
})
