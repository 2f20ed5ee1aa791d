import t from 'tap'
import { GatewayError, type NormalizedEvent } from '../../../../worker/normalized/index.ts'
import { StreamMessage } from '../../../../worker/observation/traffic/stream-message.ts'

const start: NormalizedEvent = { type: 'start', providerModel: null, metadata: {} }
const text = (piece: string): NormalizedEvent => ({ type: 'text-delta', text: piece })

t.test('the pieces of a stream become one message, with count and times', async t => {
  const message = new StreamMessage(1000)
  message.take([], 1)
  message.take([start, text('Hel')], 10.12345)
  message.take(
    [
      text('lo'),
      { type: 'reasoning-delta', text: 'because' },
      { type: 'tool-call-start', index: 0, id: 'call_1', name: 'look' },
      { type: 'tool-call-delta', index: 0, arguments: '{"a":' },
      { type: 'tool-call-delta', index: 0, arguments: '1}' },
      { type: 'hosted-tool-start', index: 0, kind: 'other', name: 'search' },
      { type: 'hosted-tool-end', index: 0, status: 'completed', sources: [] },
      { type: 'finish', reason: 'tool-calls', providerReason: null, metadata: {} }
    ],
    20
  )
  t.same(JSON.parse(message.write()), {
    object: 'stream',
    role: 'assistant',
    content: 'Hello',
    reasoning: 'because',
    tool_calls: [{ id: 'call_1', name: 'look', arguments: '{"a":1}' }],
    hosted_tools: [{ name: 'search', status: 'completed' }],
    finish_reason: 'tool-calls'
  })
  t.same(message.timings, { event_count: 10, first_event_ms: 10.123, last_event_ms: 20 })
})

t.test('it is bounded, and names the error that ended the stream', async t => {
  const message = new StreamMessage(100)
  for (let index = 0; index < 10_000; index += 1) message.take([text('some words ')], index)
  for (let index = 0; index < 1000; index += 1) {
    message.take([{ type: 'tool-call-start', index, id: `call_${index}`, name: 'n' }], 1)
    message.take([{ type: 'tool-call-delta', index, arguments: 'x'.repeat(10_000) }], 1)
  }
  message.take([{ type: 'error', error: new GatewayError('provider_failure', { message: 'it broke' }) }], 2)
  const written = message.write()
  t.ok(written.length < 1_000_000)
  t.match(JSON.parse(written), { left_out: 872, error: { code: 'provider_failure', message: 'it broke' } })
})
