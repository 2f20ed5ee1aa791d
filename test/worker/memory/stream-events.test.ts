import t from 'tap'
import { EventNumbers, endsStream, readType, writeEventFrame } from '../../../worker/memory/stream-events.ts'

t.test('the events of a writer get numbers behind those that the gateway has stored', t => {
  const numbers = new EventNumbers()
  const first = numbers.create('response.created', { response: { id: 'resp_1' } })
  t.equal(first.sequenceNumber, 0)
  t.equal(first.json.toString(), '{"type":"response.created","sequence_number":0,"response":{"id":"resp_1"}}')
  const frames =
    'event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n' +
    'event: response.in_progress\ndata: {"type":"response.in_progress","sequence_number":1}\n\n' +
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":2,"delta":"a"}\n\n'
  const [delta, ...others] = numbers.take([frames.slice(0, 80), Buffer.from(frames.slice(80))])
  t.same(others, [], 'the first events of the writer are those of the gateway')
  t.equal(delta?.json.toString(), '{"type":"response.output_text.delta","sequence_number":1,"delta":"a"}')
  t.equal(numbers.last, 1)
  t.end()
})

t.test('the frames of a provider keep everything but their numbers', t => {
  const numbers = new EventNumbers(3)
  const frames =
    ': a comment\r\n\r\n' +
    'data: {"type":"response.output_item.done","item":{"id":"msg_1","n":12345678901234567890},"sequence_number":70}\r\n\r\n' +
    'data: no JSON\n\n' +
    'event: response.completed\ndata: {"response":{"id":"resp_1"},\ndata: "type":"response.completed"}\n\n'
  const events = numbers.take(Buffer.from(frames))
  t.same(
    events.map(({ json }) => json.toString()),
    [
      '{"type":"response.output_item.done","item":{"id":"msg_1","n":12345678901234567890},"sequence_number":3}',
      '{"response":{"id":"resp_1"}, "type":"response.completed","sequence_number":4} '
    ]
  )
  t.ok(endsStream(events[1]?.type ?? ''))
  t.equal(
    writeEventFrame(events[1] as never).toString(),
    'event: response.completed\ndata: {"response":{"id":"resp_1"}, "type":"response.completed","sequence_number":4} \n\n'
  )
  t.end()
})

t.test('a type is read wherever it stands', t => {
  t.equal(readType(Buffer.from('{"type":"response.queued"}')), 'response.queued')
  t.equal(readType(Buffer.from('{"n":1,"type":"response.failed"}')), 'response.failed')
  t.equal(readType(Buffer.from('no JSON')), '')
  t.end()
})
