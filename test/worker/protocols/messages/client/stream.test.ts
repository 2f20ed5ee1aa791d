import t from 'tap'
import { GatewayError } from '../../../../../worker/normalized/index.ts'
import { createMessagesStreamWriter, PING_FRAME } from '../../../../../worker/protocols/messages/client/stream.ts'
import { eventsOf, readFrames, responseContext, writeFrames } from './support.ts'

t.test('a ping is one frame', async t => {
  t.equal(PING_FRAME, 'event: ping\ndata: {"type":"ping"}\n\n')
})

t.test('a stream starts with one empty message (A2)', async t => {
  const [start, ping, ...rest] = writeFrames(eventsOf(assembler => assembler.text('a')))
  t.match(start, {
    type: 'message_start',
    message: { content: [], stop_reason: null, usage: { input_tokens: 0, output_tokens: 0, service_tier: 'standard' } }
  })
  t.strictSame(ping, { type: 'ping' })
  t.notOk(rest.some(frame => frame.type === 'message_start' || frame.type === 'ping'))
})

t.test('text is written at once (A18), the arguments of a call when it ends (decisions.md 113)', async t => {
  const writer = createMessagesStreamWriter(responseContext())
  t.match(readFrames(writer.write([{ type: 'tool-call-start', index: 0, id: 'a', name: 'f' }])), [
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} } }
  ])
  t.equal(writer.write([{ type: 'tool-call-delta', index: 0, arguments: '{"a"' }]), '')
  t.equal(writer.write([{ type: 'tool-call-delta', index: 0, arguments: ':1}' }]), '')
  t.match(readFrames(writer.write([{ type: 'tool-call-end', index: 0 }])), [
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: ':1}' } },
    { type: 'content_block_stop', index: 0 }
  ])
  const text = createMessagesStreamWriter(responseContext())
  t.match(readFrames(text.write([{ type: 'text-start' }, { type: 'text-delta', text: 'a' }])), [
    { type: 'content_block_start' },
    { type: 'content_block_delta', delta: { text: 'a' } }
  ])
})

t.test('an empty delta opens no block (A7)', async t => {
  const writer = createMessagesStreamWriter(responseContext())
  t.equal(writer.write([{ type: 'text-start' }, { type: 'text-delta', text: '' }, { type: 'text-end' }]), '')
  t.match(readFrames(writer.write([{ type: 'tool-call-start', index: 0, id: 'a', name: 'f' }])), [{ index: 0 }])
})

t.test('an error ends the stream and does not close the open block (A14)', async t => {
  const writer = createMessagesStreamWriter(responseContext())
  const written = writer.write([
    { type: 'tool-call-start', index: 0, id: 'a', name: 'f' },
    { type: 'tool-call-delta', index: 0, arguments: '{"path":"/' },
    { type: 'error', error: new GatewayError('rate_limited', { message: 'Slow down.' }) },
    { type: 'tool-call-end', index: 0 }
  ])
  t.strictSame(
    readFrames(written).map(frame => frame.type),
    ['content_block_start', 'error']
  )
  t.match(readFrames(written)[1], { error: { type: 'rate_limit_error', message: 'Slow down.' } })
  t.equal(writer.write([{ type: 'text-delta', text: 'x' }]), '')
})

t.test('errors in a stream have the same types as errors before a stream', async t => {
  const typeOf = (error: GatewayError) => writeFrames([{ type: 'error', error }])[0]?.error
  t.match(typeOf(new GatewayError('provider_timeout')), { type: 'timeout_error' })
  t.match(typeOf(new GatewayError('provider_protocol_error')), { type: 'api_error' })
  t.match(typeOf(new GatewayError('provider_failure', { status: 503 })), { type: 'overloaded_error' })
  t.match(typeOf(new GatewayError('upstream_error')), { type: 'api_error' })
  t.match(typeOf(new GatewayError('upstream_generation_error')), { type: 'api_error' })
  t.match(typeOf(new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down' })), {
    type: 'overloaded_error',
    details: { error_code: 'gateway_shutting_down' }
  })
})

t.test('redacted reasoning is a block without deltas', async t => {
  const frames = writeFrames([
    { type: 'reasoning-start' },
    { type: 'reasoning-end', state: { messages_compatible: { redacted: 'enc' } } }
  ])
  t.strictSame(frames, [
    { type: 'content_block_start', index: 0, content_block: { type: 'redacted_thinking', data: 'enc' } },
    { type: 'content_block_stop', index: 0 }
  ])
})
