import t from 'tap'
import { chunk, findCause, readStream, readWhole, writeFrames } from './support.ts'

t.test('an event of a stream has no bound of its own, the texts of a response have one (providers.md 1)', async t => {
  const stream = (delta: object) => [writeFrames([chunk({ content: 'a' }), chunk(delta), chunk({}, 'stop')])]
  t.equal(findCause(readStream(stream({ content: 'b', padding: 'x'.repeat(3_000_000) }))), undefined)
  t.match(findCause(readStream(stream({ content: 'x'.repeat(2_000_000) }))), /too many characters/)
})

t.test('details of reasoning count as much as text', async t => {
  const details = Array.from({ length: 9 }, () => ({ type: 'reasoning.encrypted', data: 'x'.repeat(1_000_000) }))
  const body = { choices: [{ message: { content: 'a', reasoning_details: details }, finish_reason: 'stop' }] }
  t.match(findCause(readWhole(Buffer.from(JSON.stringify(body)))), /too many characters/)
})
