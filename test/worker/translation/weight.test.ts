import t from 'tap'
import { weighJson } from '../../../worker/translation/weight.ts'

const ofLength = (unit: string, length: number) => Buffer.from(unit.repeat(Math.ceil(length / unit.length)))

t.test('a small body weighs its bytes', async t => {
  for (const unit of ['word ', '1,']) t.equal(weighJson(Buffer.from(unit.repeat(100))), unit.length * 100)
})

t.test('cost 3: a body of small values weighs several times its bytes, and a text its bytes', async t => {
  const bytes = 200_000
  const text = ofLength('Ordinary prose without any sign that separates values; ', bytes)
  t.equal(weighJson(text), text.length)
  const values = ofLength('{"a":1},', bytes)
  t.ok(weighJson(values) > 3 * values.length)
  // The expensive half may stand anywhere.
  for (const half of [Buffer.concat([text, values]), Buffer.concat([values, text])]) {
    t.ok(weighJson(half) > 2 * half.length)
    t.ok(weighJson(half) < 3.5 * half.length)
  }
})
