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

t.test(
  'of hosted runs that end in another order than they began the last one names the inline data, as in a whole response',
  async t => {
    const run = { kind: 'web_search', name: 'web_search' } as const
    const ended = { status: 'completed' as const, sources: [] }
    const events: NormalizedEvent[] = [
      { type: 'hosted-tool-start', index: 0, ...run },
      { type: 'hosted-tool-start', index: 1, ...run },
      { type: 'hosted-tool-end', index: 1, ...ended, inlineData: { images: ['of 1'] } },
      {
        type: 'hosted-tool-end',
        index: 0,
        ...ended,
        inlineData: { images: ['of 0'], sources: { 1: 'of 0' } }
      },
      finish
    ]
    const expected = { images: ['of 1'], sources: { 1: 'of 0' } }
    const whole = writeCompletionsResponse(accumulateEvents(events), responseContext())
    t.same(whole.choices[0].message.inline_data, expected)
    const frames = createCompletionsStreamWriter(responseContext()).write(events).trimEnd().split('\n\n')
    const shown = frames
      .slice(0, -1)
      .map(frame => JSON.parse(frame.slice('data: '.length)).choices[0]?.delta.inline_data)
    t.same(shown.filter(data => data !== undefined).at(-1), expected)
  }
)
