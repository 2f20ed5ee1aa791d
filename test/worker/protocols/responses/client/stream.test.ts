import t from 'tap'
import {
  GatewayError,
  type JsonObject,
  type NormalizedEvent,
  type RequestEcho
} from '../../../../../worker/normalized/index.ts'
import type { StreamFrames } from '../../../../../worker/protocols/client-face.ts'
import { writeEchoText } from '../../../../../worker/protocols/responses/client/echo.ts'
import { createResponsesStreamWriter } from '../../../../../worker/protocols/responses/client/stream.ts'
import { joinFrames } from '../../../../../worker/protocols/shared/stream/stream-frames.ts'
import { readResponsesStrictly } from '../../../../properties/responses-events.ts'
import { accumulateWithSdk, eventsOf, requestId, responseContext, writeResponse, writeStream } from './support.ts'

const start: NormalizedEvent = { type: 'start', providerModel: null, metadata: {} }
const text: NormalizedEvent[] = [{ type: 'text-start' }, { type: 'text-delta', text: 'ok' }, { type: 'text-end' }]
const finish = (threadId?: string): NormalizedEvent => ({
  type: 'finish',
  reason: 'stop',
  providerReason: 'stop',
  metadata: {},
  ...(threadId === undefined ? {} : { conversationId: threadId })
})

function ids(text: string): unknown[] {
  const { events } = readResponsesStrictly(text)
  const responses = events.flatMap(event => (event.response === undefined ? [] : [event.response as JsonObject]))
  return [...new Set(responses.map(response => response.id))]
}

t.test('the response begins with the first event of the upstream, before its content', async t => {
  const writer = createResponsesStreamWriter(responseContext())
  const begin = writer.write([start])
  t.match(begin, /^event: response\.created\ndata: .+\n\nevent: response\.in_progress\ndata: .+\n\n$/)
  t.equal(writer.write([{ type: 'text-start' }]), '', 'a message opens with its first text')
  t.match(writer.write([{ type: 'text-delta', text: 'a' }]), /response\.output_text\.delta/)
})

t.test('responses 80: an empty response has every event except deltas', async t => {
  const { events } = readResponsesStrictly(writeStream([[start, finish()]]))
  t.strictSame(
    events.map(({ type }) => String(type).replace('response.', '')),
    [
      ...['created', 'in_progress', 'output_item.added', 'content_part.added'],
      ...['output_text.done', 'content_part.done', 'output_item.done', 'completed']
    ]
  )
})

t.test('responses 61: a stream of text has all events in order, logprobs in each, and no [DONE] (A17, F1)', async t => {
  const written = writeStream([[start], text, [finish()]])
  t.notMatch(written, '[DONE]')
  const { events } = readResponsesStrictly(written)
  t.strictSame(
    events.map(({ type }) => String(type).replace('response.', '')),
    [
      ...['created', 'in_progress', 'output_item.added', 'content_part.added', 'output_text.delta'],
      ...['output_text.done', 'content_part.done', 'output_item.done', 'completed']
    ]
  )
})

t.test('responses 62: a thread id that arrives first is in the response id from the first event on', async t => {
  const known: NormalizedEvent = { ...start, conversationId: 'th' }
  t.strictSame(ids(writeStream([[known], text, [finish('th')]], responseContext({ store: true }))), ['resp_th'])
})

t.test(
  'responses 63: a thread id that arrives last is in the response id of the last event, and item ids do not change',
  async t => {
    const written = writeStream([[start], text, [finish('th')]], responseContext({ store: true }))
    t.strictSame(ids(written), [`resp_${requestId}`, 'resp_th'])
    const { events } = readResponsesStrictly(written)
    const itemIds = events.flatMap(({ item, item_id }) => item_id ?? (item as JsonObject | undefined)?.id ?? [])
    t.strictSame([...new Set(itemIds)], [`msg_${requestId}`])
  }
)

t.test('the id of a continued thread is in the response id from the first event on', async t => {
  t.strictSame(
    ids(writeStream([[start], text, [finish('th')]], responseContext({ previous_response_id: 'resp_th' }))),
    ['resp_th']
  )
})

t.test('all events of one read have the thread id that arrives in it', async t => {
  t.strictSame(ids(writeStream([[start, ...text, finish('th')]], responseContext({ store: true }))), ['resp_th'])
})

t.test(
  'for an SDK that refuses a changing id, a stream of a new stored conversation waits until the id is known',
  async t => {
    const context = { ...responseContext({ store: true }), needsFinalId: true }
    const writer = createResponsesStreamWriter(context)
    t.same([writer.write([start]), writer.write(text)], ['', ''])
    const written = joinFrames(writer.write([finish('th')]))
    t.strictSame(ids(written), ['resp_th'])
    t.equal((await accumulateWithSdk(written)).id, 'resp_th')

    const known: NormalizedEvent = { ...start, conversationId: 'th' }
    t.not(createResponsesStreamWriter(context).write([known]), '', 'the thread id is known')
    const unstored = { ...responseContext(), needsFinalId: true }
    t.not(createResponsesStreamWriter(unstored).write([start]), '', 'the conversation is not stored')
    t.strictSame(ids(writeStream([[start], text, [finish('th')]], unstored)), [`resp_${requestId}`])
    const continued = { ...responseContext({ previous_response_id: 'resp_th' }), needsFinalId: true }
    t.not(createResponsesStreamWriter(continued).write([start]), '', 'the thread id is in the request')
  }
)

t.test('a stream that breaks while it waits for its id is a failed response', async t => {
  const context = { ...responseContext({ store: true }), needsFinalId: true }
  const error: NormalizedEvent = { type: 'error', error: new GatewayError('provider_timeout') }
  const { response } = readResponsesStrictly(writeStream([[start], text, [error]], context))
  t.match(response, { id: `resp_${requestId}`, status: 'failed', output: [{ type: 'message', status: 'completed' }] })
})

t.test('an error before the start event is a failed response', async t => {
  const { events, response } = readResponsesStrictly(
    writeStream([[{ type: 'error', error: new GatewayError('rate_limited', { message: 'Too Many Requests' }) }]])
  )
  t.equal(events.length, 3)
  t.match(response, { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Too Many Requests' } })
})

t.test('responses 72: a broken stream ends with its finished items only, and nothing follows (A14)', async t => {
  const writer = createResponsesStreamWriter(responseContext())
  const error: NormalizedEvent = { type: 'error', error: new GatewayError('provider_failure', { message: 'lost' }) }
  const written = [
    writer.write([
      start,
      { type: 'reasoning-start' },
      { type: 'reasoning-delta', text: 'hm' },
      { type: 'reasoning-end' },
      { type: 'hosted-tool-start', index: 0, kind: 'web_search', name: 'web_search' },
      { type: 'hosted-tool-progress', index: 0, status: 'completed' },
      { type: 'text-start' },
      { type: 'text-delta', text: 'Fo' }
    ]),
    writer.write([error])
  ]
    .map(joinFrames)
    .join('')
  t.equal(writer.write([...text, finish()]), '')
  const { events, response } = readResponsesStrictly(written)
  t.match(response, {
    status: 'failed',
    error: { code: 'server_error', message: 'lost' },
    incomplete_details: null,
    output: [{ type: 'reasoning', summary: [{ text: 'hm' }] }]
  })
  t.equal((response.output as unknown[]).length, 1)
  t.strictSame(
    events.filter(({ type }) => type === 'response.output_item.done').map(event => event.output_index),
    [0],
    'no end is reported of the search and of the message'
  )
  t.notOk(events.some(({ type }) => type === 'response.output_text.done'))
  t.equal((await accumulateWithSdk(written)).status, 'failed')
})

t.test(
  'a large part of the request that three events repeat is encoded once, and its bytes are written three times',
  async t => {
    const context = responseContext({
      tools: [{ type: 'function', name: 'f', description: 'Слово "слово".\n'.repeat(5000) }]
    })
    const { request } = context
    const echoText = writeEchoText(request)
    const stream = (echo: RequestEcho) => {
      const writer = createResponsesStreamWriter({ ...context, request: { ...request, echo } })
      return [[start], text, [finish()]].map(events => writer.write(events))
    }
    const written = stream({ members: {}, text: echoText })
    const bytes = written.flatMap(frames =>
      typeof frames === 'string' ? [] : frames.filter(piece => typeof piece !== 'string')
    )
    t.equal(bytes.length, 3)
    t.equal(new Set(bytes).size, 1)
    const read = (frames: StreamFrames[]) => readResponsesStrictly(frames.map(joinFrames).join(''))
    t.strictSame(read(written), read(stream(request.echo ?? { members: {} })))
  }
)

t.test(
  'large texts are written as in the whole response, and are looked for only in items that may have them',
  async t => {
    const large = JSON.stringify({ query: 'я"\\n'.repeat(20_000) })
    const call = (index: number, text: string): NormalizedEvent[] => [
      { type: 'tool-call-start', index, id: `call-${index}`, name: 'f' },
      { type: 'tool-call-delta', index, arguments: text.slice(0, 70_000) },
      ...(text.length > 70_000 ? [{ type: 'tool-call-delta', index, arguments: text.slice(70_000) } as const] : []),
      { type: 'tool-call-end', index }
    ]
    const { stringify } = JSON
    let searches = 0
    JSON.stringify = (value: unknown, replacer?: unknown) => {
      if (replacer !== undefined) searches++
      return stringify(value, replacer as never)
    }
    t.teardown(() => {
      JSON.stringify = stringify
    })
    const small = Array.from({ length: 1000 }, (_, index) => call(index, '{}'))
    const write = (reads: NormalizedEvent[][]) => {
      searches = 0
      const { response } = readResponsesStrictly(writeStream([[start], ...reads, [finish()]]))
      t.strictSame(response, writeResponse([start, ...reads.flat(), finish()]))
      return searches
    }
    t.equal(write(small), 0, 'no text of a thousand calls is large')
    const found = write([...small, call(1000, large), call(1001, '{}'), call(1002, large)])
    t.ok(found > 0 && found < 12, `${found} searches`)
  }
)

t.test('responses 70: a stream that the provider cut ends with response.incomplete', async t => {
  const { events, response } = readResponsesStrictly(
    writeStream([
      [start, ...text, { ...finish(), type: 'finish', reason: 'length', providerReason: 'length', metadata: {} }]
    ])
  )
  t.equal(events.at(-1)?.type, 'response.incomplete')
  t.match(response, { incomplete_details: { reason: 'max_output_tokens' }, output: [{ status: 'incomplete' }] })
})

t.test('a call is reported as done when the next item starts, and not before its end (A18)', async t => {
  const writer = createResponsesStreamWriter(responseContext())
  writer.write([start])
  const head: NormalizedEvent = { type: 'tool-call-start', index: 0, id: 'a', name: 'f' }
  t.match(writer.write([head]), /output_item\.added/)
  t.match(writer.write([{ type: 'tool-call-delta', index: 0, arguments: '{"a"' }]), /function_call_arguments\.delta/)
  t.equal(writer.write([{ type: 'tool-call-end', index: 0 }]), '')
  t.match(writer.write([{ ...head, index: 1, id: 'b' }]), /function_call_arguments\.done.+output_item\.done.+added/s)
})

t.test('the last event has the usage and the final metadata (D1)', async t => {
  const events = eventsOf(assembler => {
    assembler.text('ok')
    const usage = {
      inputTokens: 3,
      cacheReadTokens: 0,
      cacheWriteTokens: null,
      outputTokens: 2,
      reasoningTokens: 0,
      totalTokens: 5
    }
    assembler.finish({ reason: 'stop', providerReason: null, metadata: { upstream_message_id: 'm' } }, usage)
  })
  const { response } = readResponsesStrictly(writeStream([events], responseContext({ metadata: { k: 'v' } })))
  t.match(response, { usage: { total_tokens: 5 }, metadata: { k: 'v', upstream_message_id: 'm' } })
})

t.test('the call of a custom tool streams the text of its input (decisions.md 77)', async t => {
  const input = '*** Begin Patch\n"x" é'
  const args = JSON.stringify({ input })
  const tools = [
    { type: 'custom', name: 'patch' },
    { type: 'namespace', name: 'ns', tools: [{ type: 'custom', name: 'exec' }] },
    { type: 'function', name: 'f' }
  ]
  const call = (index: number, name: string, ...pieces: string[]): NormalizedEvent[] => [
    { type: 'tool-call-start', index, id: `call_${index}`, name },
    ...pieces.map((piece): NormalizedEvent => ({ type: 'tool-call-delta', index, arguments: piece })),
    { type: 'tool-call-end', index }
  ]
  const end: NormalizedEvent = { type: 'finish', reason: 'tool-calls', providerReason: 'x', metadata: {} }
  const reads: NormalizedEvent[][] = [
    [start],
    call(0, 'patch', args.slice(0, 12), args.slice(12, 20), args.slice(20)),
    call(1, 'ns__exec', 'ls -la'),
    call(2, 'f', '{"a":1}'),
    [end]
  ]
  const written = writeStream(reads, responseContext({ tools }))
  const { events, response } = readResponsesStrictly(written)
  const expected = [
    { id: 'ctc_call_0', type: 'custom_tool_call', call_id: 'call_0', name: 'patch', input },
    { id: 'ctc_call_1', type: 'custom_tool_call', call_id: 'call_1', name: 'exec', namespace: 'ns', input: 'ls -la' },
    { id: 'fc_call_2', type: 'function_call', arguments: '{"a":1}' }
  ]
  t.match(response.output, expected)
  t.same(response, writeResponse(reads.flat(), { tools }))
  const ofCall = events.filter(({ item_id }) => item_id === 'ctc_call_0')
  t.strictSame(
    ofCall.map(({ type }) => type),
    [
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done'
    ]
  )
  t.match(ofCall.at(-1), { input, output_index: 0 })
  t.equal(ofCall.flatMap(({ delta }) => delta ?? []).join(''), input)
  t.match((await accumulateWithSdk(written)).output, expected)
})

t.test('the call of a custom tool that is cut has no done event', async t => {
  const reads: NormalizedEvent[][] = [
    [
      start,
      { type: 'tool-call-start', index: 0, id: 'call_0', name: 'patch' },
      { type: 'tool-call-delta', index: 0, arguments: '{"input":"abc' },
      { type: 'tool-call-end', index: 0 },
      { type: 'finish', reason: 'length', providerReason: 'length', metadata: {} }
    ]
  ]
  const tools = [{ type: 'custom', name: 'patch' }]
  const { events, response } = readResponsesStrictly(writeStream(reads, responseContext({ tools })))
  t.match(response.output, [{ type: 'custom_tool_call', status: 'incomplete', input: 'abc' }])
  t.notOk(events.some(({ type }) => type === 'response.custom_tool_call_input.done'))
})

t.test(
  'memory 12: a stream can be written as it is so far, with its open item, and goes on as if nothing was asked',
  async t => {
    const call: NormalizedEvent[] = [
      { type: 'tool-call-start', index: 0, id: 'call_1', name: 'f' },
      { type: 'tool-call-delta', index: 0, arguments: '{"a"' }
    ]
    const reads: NormalizedEvent[][] = [
      [start, { type: 'reasoning-start' }, { type: 'reasoning-delta', text: 'why' }],
      [{ type: 'reasoning-end' }, { type: 'text-start' }, { type: 'text-delta', text: 'on' }],
      [{ type: 'text-delta', text: 'e' }, { type: 'text-end' }],
      call
    ]
    const plain = createResponsesStreamWriter(responseContext())
    const asked = createResponsesStreamWriter(responseContext())
    const partials = reads.map(read => {
      t.equal(joinFrames(asked.write(read)), joinFrames(plain.write(read)))
      return JSON.parse(asked.writePartial?.().response ?? '')
    })
    t.equal(joinFrames(asked.write([finish()])), joinFrames(plain.write([finish()])))
    for (const partial of partials) t.match(partial, { status: 'incomplete', error: null, object: 'response' })
    const outputs = partials.map(({ output }) => output)
    t.match(outputs[0], [{ type: 'reasoning', summary: [{ text: 'why' }] }])
    t.match(outputs[1], [{ type: 'reasoning' }, { type: 'message', status: 'incomplete', content: [{ text: 'on' }] }])
    t.match(outputs[2], [{ type: 'reasoning' }, { type: 'message', status: 'completed', content: [{ text: 'one' }] }])
    t.match(outputs[3]?.[2], { type: 'function_call', status: 'incomplete', arguments: '{"a"' })
  }
)

t.test('memory 2: a response of the memory has its own id in every event and in the ids of its items', async t => {
  const turn = { id: `resp_${'k'.repeat(32)}`, isStored: true, previousResponseId: 'resp_1', conversationId: 'conv_1' }
  const context = responseContext()
  context.request.turn = turn
  context.needsFinalId = true
  const written = writeStream([[{ ...start, conversationId: 'th' }, ...text], [finish('th2')]], context)
  t.same(ids(written), [turn.id])
  const { response } = readResponsesStrictly(written)
  t.match(response, { store: true, previous_response_id: 'resp_1', conversation: { id: 'conv_1' } })
  t.match(response, { output: [{ id: `msg_${'k'.repeat(32)}` }] })
})
