import t from 'tap'
import { accumulateEvents, GatewayError, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { createCompletionsStreamWriter } from '../../../../../worker/protocols/completions/client/stream.ts'
import { writeCompletionsResponse } from '../../../../../worker/protocols/completions/client/write-response.ts'
import { eventsOf, responseContext } from './support.ts'

const finish: NormalizedEvent = { type: 'finish', reason: 'stop', providerReason: 'stop', metadata: {} }

t.test('events that a client cannot see write nothing', async t => {
  const writer = createCompletionsStreamWriter(responseContext())
  t.equal(writer.write([{ type: 'start', providerModel: 'm', metadata: {} }]), '')
  t.equal(writer.write([{ type: 'text-start' }, { type: 'text-end' }]), '')
  t.equal(writer.write([]), '')
})

t.test('the events of one read are written as one text (A18)', async t => {
  const writer = createCompletionsStreamWriter(responseContext())
  const written = writer.write([
    { type: 'text-start' },
    { type: 'text-delta', text: 'a' },
    { type: 'text-delta', text: 'b' }
  ])
  t.equal(written.split('\n\n').length, 3)
})

t.test('events after the end write nothing (A2, A5)', async t => {
  for (const end of [
    finish,
    { type: 'error', error: new GatewayError('provider_failure') } satisfies NormalizedEvent
  ]) {
    const writer = createCompletionsStreamWriter(responseContext())
    t.ok(writer.write([end, { type: 'text-delta', text: 'late' }, finish]).endsWith('data: [DONE]\n\n'))
    t.equal(writer.write([{ type: 'text-delta', text: 'later' }, finish]), '')
  }
})

t.test('every chunk has the time and the id of the request', async t => {
  const writer = createCompletionsStreamWriter(responseContext())
  const frames = writer
    .write(eventsOf(assembler => assembler.text('a')))
    .trimEnd()
    .split('\n\n')
  for (const frame of frames.slice(0, -1)) {
    const { id, created, model } = JSON.parse(frame.slice('data: '.length))
    t.match({ id, created, model }, { id: /^chatcmpl-6f3f/, created: 1_795_187_162, model: 'GigaChat-2' })
  }
})

t.test('a reasoning block without text adds nothing to the stream or the response', async t => {
  const events: NormalizedEvent[] = [
    { type: 'reasoning-start' },
    { type: 'reasoning-end', state: { messages_compatible: { redacted: 'x' } } },
    { type: 'reasoning-start' },
    { type: 'reasoning-delta', text: 'hm' },
    { type: 'reasoning-end' },
    finish
  ]
  const written = createCompletionsStreamWriter(responseContext()).write(events)
  t.match(written, '"reasoning_content":"hm"')
  const whole = writeCompletionsResponse(accumulateEvents(events), responseContext())
  t.equal(whole.choices[0].message.reasoning_content, 'hm')
})
