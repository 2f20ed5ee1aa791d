import t from 'tap'
import { limitPart, readCount, readDetail } from '../../../../worker/protocols/shared/token-counts.ts'

const NO_COUNTS = [-1, 1.5, '7', Number.NaN, Number.MAX_SAFE_INTEGER + 1, true, {}, []]

t.test('a count is a whole number from 0; one that is missing or null is not reported', async t => {
  t.equal(readCount(0), 0)
  t.equal(readCount(7), 7)
  t.equal(readCount(undefined), null)
  t.equal(readCount(null), null)
  for (const value of NO_COUNTS) t.throws(() => readCount(value), { code: 'provider_protocol_error' }, String(value))
})

t.test('a detail that is no count is not reported', async t => {
  t.equal(readDetail(7), 7)
  for (const value of [undefined, null, ...NO_COUNTS]) t.equal(readDetail(value), null, String(value))
})

t.test('a part does not exceed its whole, where both are known', async t => {
  t.equal(limitPart(9, 7), 7)
  t.equal(limitPart(3, 7), 3)
  t.equal(limitPart(9, null), 9)
  t.equal(limitPart(null, 7), null)
})
