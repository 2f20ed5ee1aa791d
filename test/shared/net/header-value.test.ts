import t from 'tap'
import { isHeaderValue } from '../../../shared/net/header-value.ts'

t.test('a header carries text of one byte a character without control characters', async t => {
  for (const text of ['', 'a b', 'a\tb', 'caf\u00e9']) t.ok(isHeaderValue(text), JSON.stringify(text))
  for (const text of ['a\n', 'a\r', '\0', '\x7f', '\u20ac']) t.notOk(isHeaderValue(text), JSON.stringify(text))
})
