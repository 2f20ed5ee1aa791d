import t from 'tap'
import { dropLaterCalls, type NormalizedEvent } from '../../../worker/normalized/index.ts'

const call = (index: number): NormalizedEvent[] => [
  { type: 'tool-call-start', index, id: `c${index}`, name: 'f' },
  { type: 'tool-call-delta', index, arguments: '{}' },
  { type: 'tool-call-end', index }
]
const text: NormalizedEvent[] = [{ type: 'text-start' }, { type: 'text-delta', text: 'so' }, { type: 'text-end' }]

t.test('every call after the first is dropped, and all other content stays in its place', async t => {
  t.same(dropLaterCalls([...call(0), ...text, ...call(1), ...call(2), ...text]), [...call(0), ...text, ...text])
  t.same(dropLaterCalls(call(1)), [])
})

t.test('a list without a later call is passed on as it is', async t => {
  for (const events of [[], text, call(0)]) t.equal(dropLaterCalls(events), events)
})
