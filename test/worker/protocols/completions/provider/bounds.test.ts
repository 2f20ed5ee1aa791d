import t from 'tap'
import { chunk, findCause, readStream, readWhole, writeFrames } from './support.ts'

t.test('an event of a stream beyond its bound ends the stream', async t => {
  const events = readStream([writeFrames([chunk({ content: 'a' }), chunk({ content: 'x'.repeat(1024 * 1024) })])])
  t.equal(findCause(events), 'response_too_large')
  const within = readStream([writeFrames([chunk({ content: 'x'.repeat(1_000_000) }), chunk({}, 'stop')])])
  t.equal(findCause(within), undefined)
})

t.test('details of reasoning count as much as text', async t => {
  const details = Array.from({ length: 9 }, () => ({ type: 'reasoning.encrypted', data: 'x'.repeat(1_000_000) }))
  const body = { choices: [{ message: { content: 'a', reasoning_details: details }, finish_reason: 'stop' }] }
  t.match(findCause(readWhole(Buffer.from(JSON.stringify(body)))), /too many characters/)
})
