import t from 'tap'
import { LargeTexts } from '../../../../../worker/protocols/shared/json/large-texts.ts'

t.test('JSON with large texts is that of JSON.stringify', async t => {
  const large = 'я"\n$&$1\\'.repeat(20_000)
  const other = `${large}.`
  const texts = new LargeTexts('4711')
  for (const value of [
    { text: large, part: { text: large, list: [large, other, 'short', 1, null, undefined] } },
    { [large.slice(0, 10)]: 'short', text: other },
    { text: 'large-text-4711-0' },
    {}
  ]) {
    t.ok(texts.stringify(value) === JSON.stringify(value))
  }
})
