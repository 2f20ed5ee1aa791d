import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import { Stream } from 'openai/streaming'
import t from 'tap'
import { accumulateEvents, GatewayError, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { createCompletionsStreamWriter } from '../../../../../worker/protocols/completions/client/stream.ts'
import { writeCompletionsResponse } from '../../../../../worker/protocols/completions/client/write-response.ts'
import { joinFrames } from '../../../../../worker/protocols/shared/stream/stream-frames.ts'
import { eventsOf, responseContext, writeStream } from './support.ts'

const finish: NormalizedEvent = { type: 'finish', reason: 'stop', providerReason: 'stop', metadata: {} }

t.test('events that a client cannot see write nothing', async t => {
  const writer = createCompletionsStreamWriter(responseContext())
  t.equal(writer.write([{ type: 'start', providerModel: 'm', metadata: {} }]), '')
  t.equal(writer.write([{ type: 'text-start' }, { type: 'text-end' }]), '')
  t.equal(writer.write([]), '')
})

t.test('the events of one read are written as one text (A18)', async t => {
  const written = writeStream([
    [{ type: 'text-start' }, { type: 'text-delta', text: 'a' }, { type: 'text-delta', text: 'b' }]
  ])
  t.equal(written.split('\n\n').length, 3)
})

t.test('events after the end write nothing (A2, A5)', async t => {
  const error: NormalizedEvent = { type: 'error', error: new GatewayError('provider_failure') }
  for (const [end, last] of [
    [finish, /data: \[DONE\]\n\n$/],
    // Nothing follows the error, no end mark either (decisions.md 108).
    [error, /^data: \{"error":\{[^\n]*\}\n\n$/]
  ] as const) {
    const writer = createCompletionsStreamWriter(responseContext())
    t.match(joinFrames(writer.write([end, { type: 'text-delta', text: 'late' }, finish])), last)
    t.equal(writer.write([{ type: 'text-delta', text: 'later' }, finish]), '')
  }
})

t.test('every chunk has the time and the id of the request', async t => {
  const frames = writeStream([eventsOf(assembler => assembler.text('a'))])
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
  const written = writeStream([events])
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
    const frames = writeStream([events]).trimEnd().split('\n\n')
    const shown = frames
      .slice(0, -1)
      .map(frame => JSON.parse(frame.slice('data: '.length)).choices[0]?.delta.inline_data)
    t.same(shown.filter(data => data !== undefined).at(-1), expected)
  }
)

t.test('images are encoded once, however often their list is repeated, and the last list has all of them', async t => {
  const image = 'abcd'.repeat(25_000)
  const names = ['a', 'b', 'c', 'd', 'e']
  const files = names.map((fileId): NormalizedEvent[] => [
    { type: 'file', file: { fileId, mediaType: 'image/png', target: 'image', base64: image + fileId } }
  ])
  const reads = [...files, [finish]]
  const writer = createCompletionsStreamWriter(responseContext())
  const written = reads.map(read => writer.write(read))
  const bytes = written.flatMap(frames =>
    typeof frames === 'string' ? [] : frames.filter(piece => typeof piece !== 'string')
  )
  t.equal(new Set(bytes).size, names.length)
  t.ok(bytes.length > names.length)
  const lists = written
    .map(joinFrames)
    .join('')
    .trimEnd()
    .split('\n\n')
    .slice(0, -1)
    .map(frame => JSON.parse(frame.slice('data: '.length)).choices[0].delta.files)
    .filter(list => list !== undefined)
  t.same(lists.at(0), [{ id: 'a', mime: 'image/png', target: 'image', content: `${image}a` }])
  t.same(
    lists.at(-1),
    writeCompletionsResponse(accumulateEvents(reads.flat()), responseContext()).choices[0].message.files
  )
})

t.test('the call of a custom tool has its input as text, whole and streamed (decisions.md 77)', async t => {
  const input = '*** Begin Patch\n"x" é'
  const args = JSON.stringify({ input })
  const tools = [
    { type: 'custom', custom: { name: 'patch' } },
    { type: 'function', function: { name: 'f' } }
  ]
  const call = (index: number, name: string, ...pieces: string[]): NormalizedEvent[] => [
    { type: 'tool-call-start', index, id: `call_${index}`, name },
    ...pieces.map((piece): NormalizedEvent => ({ type: 'tool-call-delta', index, arguments: piece })),
    { type: 'tool-call-end', index }
  ]
  const reads: NormalizedEvent[][] = [
    call(0, 'patch', args.slice(0, 4)).slice(0, -1),
    call(0, 'patch', args.slice(4, 20), args.slice(20)).slice(1),
    call(1, 'f', '{"a":1}'),
    call(2, 'patch', 'ls', ' -la'),
    call(3, 'patch'),
    [{ ...finish, reason: 'tool-calls' }]
  ]
  const context = responseContext({ tools })
  const expected = [
    { id: 'call_0', type: 'custom', custom: { name: 'patch', input } },
    { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
    { id: 'call_2', type: 'custom', custom: { name: 'patch', input: 'ls -la' } },
    { id: 'call_3', type: 'custom', custom: { name: 'patch', input: '' } }
  ]
  const whole = writeCompletionsResponse(accumulateEvents(reads.flat()), context)
  t.strictSame(whole.choices[0].message.tool_calls, expected)
  t.equal(whole.choices[0].finish_reason, 'tool_calls')
  const written = writeStream(reads, context)
  const deltas = written
    .split('\n\n')
    .filter(frame => frame.startsWith('data: {'))
    .flatMap(frame => JSON.parse(frame.slice('data: '.length)).choices[0]?.delta.tool_calls ?? [])
  t.strictSame(
    deltas.filter(({ index }) => index === 0),
    [
      { index: 0, id: 'call_0', type: 'custom', custom: { name: 'patch', input: '' } },
      { index: 0, custom: { input: '*** Begin ' } },
      { index: 0, custom: { input: 'Patch\n"x" é' } }
    ]
  )
  const stream = ChatCompletionStream.fromReadableStream(
    Stream.fromSSEResponse(new Response(written), new AbortController()).toReadableStream()
  )
  t.match((await stream.finalMessage()).tool_calls, expected)
})
