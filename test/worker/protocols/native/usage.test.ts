import t from 'tap'
import { readUsage } from '../../../../worker/protocols/native/usage.ts'

t.test('a count that is no integer is no count', async t => {
  for (const odd of [27.5, -1, 1.2345678901234568e29, '7', null, {}, Number.POSITIVE_INFINITY]) {
    t.equal(readUsage({ total_tokens: odd }), null, String(odd))
    t.match(readUsage({ input_tokens: odd, output_tokens: 3 }), { inputTokens: null, outputTokens: 3 }, String(odd))
  }
  t.match(readUsage({ input_tokens: 0, output_tokens: 3 }), { inputTokens: 0, outputTokens: 3, totalTokens: 3 })
})
