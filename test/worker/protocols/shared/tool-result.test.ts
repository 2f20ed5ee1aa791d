import t from 'tap'
import { coerceToolResult } from '../../../../worker/protocols/shared/tool-result.ts'

const coerce = (text: string) => coerceToolResult([{ type: 'text', text }], false)

t.test('decision 42: a result that nests deeper than a body may stays text', async t => {
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
