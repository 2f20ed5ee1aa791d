import t from 'tap'
import {
  answer,
  delta,
  findCause,
  messageStart,
  readStream,
  readWhole,
  start,
  stop,
  stream,
  textDelta,
  writeFrames
} from './support.ts'

t.test('an event of a stream has no bound of its own, the texts of a response have one (providers.md 1)', async t => {
  const open = [{ ...messageStart(), padding: 'x'.repeat(3_000_000) }, start(0, { type: 'text', text: '' })]
  const read = (length: number) => readStream([writeFrames([...open, textDelta(0, 'x'.repeat(length))])])
  t.equal(findCause(read(1_000)), 'incomplete_stream')
  t.match(findCause(read(2_000_000)), /too many characters/)
})

t.test('signatures and redacted thinking count as much as text', async t => {
  const long = 'x'.repeat(1_000_000)
  const blocks = Array.from({ length: 9 }, () => ({ type: 'thinking', thinking: '', signature: long }))
  t.match(findCause(readWhole(answer(blocks))), /too many characters/)
  const redacted = Array.from({ length: 9 }, () => ({ type: 'redacted_thinking', data: long }))
  t.match(findCause(readWhole(answer(redacted))), /too many characters/)
  const signed = Array.from({ length: 4 }, () => delta(0, { type: 'signature_delta', signature: 'x'.repeat(500_000) }))
  const frames = [messageStart(), start(0, { type: 'thinking', thinking: '' }), ...signed, stop(0)]
  t.match(findCause(readStream([writeFrames(frames)])), /too many characters/)
})

t.test('calls have a bound', async t => {
  const used = Array.from({ length: 1025 }, (_, index) => ({ type: 'tool_use', id: `a${index}`, name: 'f', input: {} }))
  t.match(findCause(readWhole(answer(used, 'tool_use'))), /too many tool calls/)
})

t.test('arguments that nest too deeply end the response', async t => {
  const deep = '{"a":'.repeat(1001)
  const frames = [
    start(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: deep })
  ]
  t.match(findCause(readStream([stream(frames)])), /nested too deeply/)
  const body = `{"content":[{"type":"tool_use","id":"a","name":"f","input":${deep}1${'}'.repeat(1001)}}],"stop_reason":"tool_use"}`
  t.equal(findCause(readWhole(Buffer.from(body))), 'invalid_json_response')
})
