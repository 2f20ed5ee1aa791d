// Readers beyond the goldens: when events are given, which anomalies are reported, bounds, and sequences of states.

import t from 'tap'
import { accumulateEvents, type NormalizedEvent, readToolCallId } from '../../../../worker/normalized/index.ts'
import { nativeV1Face } from '../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../worker/protocols/native/v2/face.ts'
import { SSE_FRAME_CHARACTERS_MAX } from '../../../../worker/protocols/shared/stream/sse.ts'
import { type NativeFace, openReader, readStream, readWhole, type Setup } from './support.ts'

const frame = (payload: unknown, name?: string) =>
  Buffer.from(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(payload)}\n\n`)
const v1 = (delta: object, more: object = {}, around: object = {}) =>
  frame({ choices: [{ delta, index: 0, ...more }], model: 'm', ...around })
const delta = (message: object, around: object = {}) =>
  frame({ model: 'm', messages: [{ role: 'assistant', ...message }], ...around }, 'response.message.delta')
const done = (more: object = {}) => frame({ model: 'm', finish_reason: 'stop', ...more }, 'response.message.done')
const types = (events: readonly NormalizedEvent[]) => events.map(event => event.type)

t.test('a delta is given with the bytes that complete it (A18)', async t => {
  const reader = openReader(nativeV1Face)
  t.same(types(reader.push(v1({ content: 'a', role: 'assistant' }))), ['start', 'text-start', 'text-delta'])
  const bytes = v1({ content: 'b' })
  t.same(types(reader.push(bytes.subarray(0, -2))), [])
  t.same(types(reader.push(bytes.subarray(-2))), ['text-delta'])
})

t.test('a call starts when it arrives, and pieces of its arguments are passed on at once (A18)', async t => {
  const reader = openReader(nativeV2Face)
  const call = (text: string, more: object = {}) => ({ content: [{ function_call: { arguments: text, ...more } }] })
  const first = reader.push(delta({ tool_state_id: 's', ...call('{"a"', { name: 'f' }) }))
  t.same(types(first), ['start', 'tool-call-start', 'tool-call-delta'])
  t.same(types(reader.push(delta(call(':1')))), ['tool-call-delta'])
  t.same(types(reader.push(delta(call('}')))), ['tool-call-delta'])
  t.same(types(reader.push(done())), ['tool-call-end', 'finish'])
})

t.test('an object of arguments waits for the next frame, which may repeat it with more members', async t => {
  const reader = openReader(nativeV1Face)
  const call = { function_call: { name: 'f', arguments: { a: 1 } }, functions_state_id: 's' }
  t.same(types(reader.push(v1(call))), ['start', 'tool-call-start'])
  t.same(types(reader.push(v1({ content: 'and' }))), ['tool-call-delta', 'tool-call-end', 'text-start', 'text-delta'])
})

t.test('with parallel calls switched on, no call is given before the upstream has finished', async t => {
  const reader = openReader(nativeV2Face, { reading: { buffersToolCalls: true } })
  const call = (name: string) => delta({ tool_state_id: 's', content: [{ function_call: { name, arguments: {} } }] })
  t.same(types(reader.push(call('f'))), ['start'])
  t.same(types(reader.push(call('g'))), [])
  const events = reader.push(done())
  t.equal(types(events).filter(type => type === 'tool-call-start').length, 2)
  const ids = events.flatMap(event => (event.type === 'tool-call-start' ? [readToolCallId(event.id)] : []))
  t.match(ids, [
    { stateId: 's', callNumber: 0, isOwn: true },
    { stateId: 's', callNumber: 1, isOwn: true }
  ])
})

t.test('decisions.md 38: every call of a response is read, in order, whole and streamed', async t => {
  const call = (a: number) => ({ function_call: { name: 'f', arguments: { a } } })
  const summary = (events: readonly NormalizedEvent[]) => {
    const { items, finish } = accumulateEvents(events)
    const shown = items.map(item => {
      if (item.type === 'tool-call') return item.arguments
      return item.type === 'text' ? item.text : item.type
    })
    return [...shown, finish.reason]
  }
  const v1Deltas = [call(1), { content: 'so' }, call(2), { content: 'then' }]
  const v1Pieces = v1Deltas.map(content => v1({ ...content, functions_state_id: 's' }))
  const v1End = v1({}, { finish_reason: 'function_call' })
  t.same(summary(readStream(nativeV1Face, [...v1Pieces, v1End])), ['{"a":1}', 'so', '{"a":2}', 'then', 'tool-calls'])

  const content = [call(1), { text: 'so' }, call(2), call(3), { text: 'then' }]
  const message = { role: 'assistant', tool_state_id: 's', content }
  const whole = Buffer.from(JSON.stringify({ messages: [message], finish_reason: 'function_call' }))
  const v2Pieces = content.map(part => delta({ tool_state_id: 's', content: [part] }))
  for (const buffersToolCalls of [false, true]) {
    const setup = { reading: { buffersToolCalls } }
    const expected = buffersToolCalls
      ? ['sothen', '{"a":1}', '{"a":2}', '{"a":3}', 'tool-calls']
      : ['{"a":1}', 'so', '{"a":2}', '{"a":3}', 'then', 'tool-calls']
    t.same(summary(readWhole(nativeV2Face, whole, setup)), expected)
    const stream = [...v2Pieces, done({ finish_reason: 'function_call' })]
    t.same(summary(readStream(nativeV2Face, stream, setup)), expected)
  }
})

t.test('the digits of integers beyond 2^53 in arguments do not change, whole and streamed', async t => {
  const text = '{"id":9007199254740993,"list":[-12345678901234567890]}'
  const data = '"inline_data":{"sources":{"1":{"url":"https://a.test","rank":9007199254740993}}}'
  const message = `"tool_state_id":"s","content":[{${data}},{"function_call":{"name":"f","arguments":${text}}}]`
  const v1Call = `"function_call":{"name":"f","arguments":${text}}`
  const read = (events: readonly NormalizedEvent[]) => {
    const { items, metadata } = accumulateEvents(structuredClone(events))
    t.match(metadata.upstream_called_tools, text)
    return items
  }
  const call = { type: 'tool-call', arguments: text }
  const run = { type: 'hosted-tool', inlineData: { sources: { '1': { rank: 9007199254740992 } } } }
  const wholeV1 = Buffer.from(`{"choices":[{"message":{${v1Call}},"finish_reason":"function_call"}]}`)
  t.match(read(openReader(nativeV1Face).readBody(wholeV1)), [call])
  const streamV1 = Buffer.from(`data: {"choices":[{"delta":{${v1Call}},"finish_reason":"function_call"}]}\n\n`)
  t.match(read(readStream(nativeV1Face, [streamV1])), [call])
  const wholeV2 = Buffer.from(`{"messages":[{${message}}],"finish_reason":"function_call"}`)
  t.match(read(openReader(nativeV2Face).readBody(wholeV2)), [run, call])
  const frameV2 = Buffer.from(`event: response.message.delta\ndata: {"messages":[{${message}}]}\n\n`)
  t.match(read(readStream(nativeV2Face, [frameV2, done()])), [run, call])
  const other = Buffer.from(frameV2.toString().replaceAll('740993', '740994'))
  const starts = types(readStream(nativeV2Face, [frameV2, other, done()])).filter(type => type === 'tool-call-start')
  t.equal(starts.length, 2, 'calls that differ only in such a digit are two')
})

t.test('decisions.md 39: an id holds the name of the function where the conversation is stored', async t => {
  const call = { function_call: { name: 'f', arguments: {} } }
  const message = { role: 'assistant', tool_state_id: '019e8374-28b2-741f-a05c-000000000001', content: [call] }
  const whole = Buffer.from(JSON.stringify({ messages: [message], finish_reason: 'function_call' }))
  for (const namesCallsInIds of [false, true]) {
    const [start] = readWhole(nativeV2Face, whole, { reading: { namesCallsInIds } }).filter(
      event => event.type === 'tool-call-start'
    )
    const { stateId, name } = readToolCallId(start?.id ?? '')
    t.same([stateId, name], [message.tool_state_id, namesCallsInIds ? 'f' : undefined])
  }
})

t.test('a v2 call waits for its state id, because the id of the call must contain it', async t => {
  const reader = openReader(nativeV2Face)
  t.same(types(reader.push(delta({ content: [{ function_call: { name: 'f', arguments: '{"a":1}' } }] }))), ['start'])
  const events = reader.push(delta({ tools_state_id: 's', content: [] }))
  t.same(types(events), ['tool-call-start', 'tool-call-delta'])
})

t.test('v2 ends with its last event, v1 with its end marker or the end of the bytes', async t => {
  const reader = openReader(nativeV2Face)
  reader.push(delta({ content: [{ text: 'a' }] }))
  t.equal(reader.push(done()).at(-1)?.type, 'finish')
  t.same(reader.push(delta({ content: [{ text: 'late' }] })), [])
  t.same(reader.end(), [])

  const v1Reader = openReader(nativeV1Face)
  v1Reader.push(v1({ content: 'a' }))
  t.same(types(v1Reader.push(v1({ content: '' }, { finish_reason: 'stop' }))), [])
  t.same(types(v1Reader.push(Buffer.from('data: [DONE]\n\n'))), ['text-end', 'finish'])
  t.same(v1Reader.end(), [])
})

t.test('an error before any content is the only event', async t => {
  t.same(types(openReader(nativeV1Face).push(frame({ status: 429, message: 'slow' }))), ['error'])
  t.same(types(openReader(nativeV2Face).end()), ['error'])
})

t.test('a frame beyond the bound ends the stream with an error', async t => {
  const reader = openReader(nativeV1Face)
  reader.push(v1({ content: 'a' }))
  const events = reader.push(Buffer.alloc(SSE_FRAME_CHARACTERS_MAX + 1, 'x'))
  t.match(events, [{ type: 'error', error: { code: 'provider_protocol_error' } }])
  t.same(reader.push(v1({ content: 'b' })), [])
})

t.test('repeated frames give the same events as any other frames', async t => {
  const text = (piece: string, more: object = {}) => v1({ content: piece }, {}, { created: 1, object: 'o', ...more })
  const pieces = [
    'one',
    '"two"',
    'tab\t',
    'delta',
    '\u0001',
    '',
    'three',
    '\\',
    'content',
    '👋',
    '</think>',
    '<think>r</think>s'
  ]
  const events = readStream(nativeV1Face, [
    ...pieces.map(piece => text(piece)),
    text('last', { created: 2 }),
    v1({ content: '' }, { finish_reason: 'stop' })
  ])
  const { items } = accumulateEvents(events)
  const visible = items.map(item => (item.type === 'text' ? item.text : '')).join('')
  t.equal(visible, 'one"two"tab\tdelta\u0001three\\content👋</think>slast')
  t.match(items, [{ type: 'text' }, { type: 'reasoning', text: 'r' }, { type: 'text' }])
})

t.test('a frame that only begins and ends like the earlier ones is parsed', async t => {
  const plain = (piece: string) => `data: {"messages":[{"role":"assistant","content":[{"text":"${piece}"}]}]}\n\n`
  const twoTexts = 'data: {"messages":[{"role":"assistant","content":[{"text":"b"},{"text":"c"}]}]}\n\n'
  const broken = plain('d\\')
  const events = readStream(nativeV2Face, [Buffer.from(plain('a') + plain('a2') + twoTexts + broken)])
  t.equal(events.map(event => (event.type === 'text-delta' ? event.text : '')).join(''), 'aa2bc')
  t.match(events.at(-1), { type: 'error', error: { code: 'provider_protocol_error' } })
})

t.test('only the first of several choices is read', async t => {
  const bytes = frame({
    choices: [
      { delta: { content: 'other' }, index: 1 },
      { delta: { content: 'mine' }, index: 0, finish_reason: 'stop' }
    ]
  })
  const { items } = accumulateEvents(readStream(nativeV1Face, [bytes]))
  t.match(items, [{ type: 'text', text: 'mine' }])
})

t.test(
  'a response without message, finish reason and usage is an error, whole and streamed (B3, decisions.md 61)',
  async t => {
    const unusable = { code: 'provider_protocol_error' }
    const check = (create: NativeFace, payload: object) => {
      const text = JSON.stringify(payload)
      t.throws(() => openReader(create).readBody(Buffer.from(text)), unusable, text)
      const events = readStream(create, [frame(payload), Buffer.from('data: [DONE]\n\n')])
      t.match(events, [{ type: 'error', error: unusable }], `${text} as a stream`)
    }
    for (const create of [nativeV1Face, nativeV2Face]) {
      for (const choices of [[], [{}], [{ index: 0, finish_reason: null }], [null], null]) check(create, { choices })
    }
    for (const messages of [[], [null], null]) check(nativeV2Face, { messages, model: 'GigaChat-2' })
  }
)

t.test('an empty message, a finish reason or usage is enough for a response', async t => {
  const usage = { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 }
  const cases = [
    [nativeV1Face, { choices: [{ index: 0, message: { role: 'assistant', content: '' } }] }],
    [nativeV1Face, { choices: [{ index: 0, finish_reason: 'blacklist' }] }],
    [nativeV1Face, { choices: [], usage }],
    [nativeV2Face, { messages: [{ role: 'assistant', content: [] }] }],
    [nativeV2Face, { messages: [], finish_reason: 'blacklist' }],
    [nativeV2Face, { messages: [], usage: { input_tokens: 1, output_tokens: 0, total_tokens: 1 } }]
  ] as const
  for (const [create, payload] of cases) {
    const text = JSON.stringify(payload)
    t.equal(openReader(create).readBody(Buffer.from(text)).at(-1)?.type, 'finish', text)
  }
})

t.test('anomalies of a response are reported', async t => {
  const reported = (create: NativeFace, pieces: Uint8Array[], setup: Setup = {}) => {
    const names: string[] = []
    readStream(create, pieces, { ...setup, onAnomaly: name => names.push(name) })
    return names
  }
  const text = v1({ content: 'a' })
  t.same(reported(nativeV1Face, [text, v1({}, { finish_reason: 'stop' })]), [])
  t.same(reported(nativeV1Face, [text, Buffer.from('data: [DONE]\n\n')]), ['finish_reason_missing'])
  t.same(reported(nativeV1Face, [text, v1({}, { finish_reason: 'weird' })]), ['finish_reason_unknown'])
  t.same(reported(nativeV1Face, [text, v1({}, { finish_reason: 'function_call' })]), ['announced_tool_call_missing'])
  const required = { reading: { expectsToolCall: true } }
  t.same(reported(nativeV2Face, [done()], required), ['forced_tool_call_missing'])
  const search = delta({ content: [{ tool_execution: { name: 'web_search' } }] })
  t.same(reported(nativeV2Face, [search, done()], required), [])
  const call = (a: number) =>
    delta({ tool_state_id: 's', content: [{ function_call: { name: 'f', id: 'p', arguments: { a } } }] })
  const between = delta({ content: [{ text: 'x' }] })
  t.same(reported(nativeV2Face, [call(1), between, call(2), done()]), ['tool_call_changed_late'])
  const ofState = (id: string) => ({ tool_state_id: id, content: [{ function_call: { name: 'f', arguments: {} } }] })
  t.same(reported(nativeV2Face, [delta(ofState('s'.repeat(36))), done()]), ['tool_state_id_left_out'])
  t.same(reported(nativeV2Face, [delta(ofState('77D3FB14-457A-46BA-937E-8D856156D003')), done()]), [])
})

t.test('usage is null when the upstream does not report it, and zero when it reports zero (D3)', async t => {
  const usageOf = (create: NativeFace, payload: object) =>
    accumulateEvents(openReader(create).readBody(Buffer.from(JSON.stringify(payload)))).usage
  const v1Usage = (usage: unknown) => usageOf(nativeV1Face, { choices: [{ message: { content: 'a' } }], usage })
  t.same(v1Usage({ prompt_tokens: 5, completion_tokens: 2 }), {
    inputTokens: 5,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: 2,
    reasoningTokens: null,
    totalTokens: 7
  })
  t.equal(v1Usage({ prompt_tokens: 5, precached_prompt_tokens: 0 })?.cacheReadTokens, 0)
  t.equal(v1Usage({ completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 3 } })?.reasoningTokens, 3)
  for (const nothing of [undefined, null, {}, 'x', { prompt_tokens: '5' }, { prompt_tokens: -1 }]) {
    t.equal(v1Usage(nothing), null)
  }
  const v2Usage = usageOf(nativeV2Face, {
    messages: [],
    usage: {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 1 }
    }
  })
  t.same(v2Usage, {
    inputTokens: 9,
    cacheReadTokens: 4,
    cacheWriteTokens: null,
    outputTokens: 1,
    reasoningTokens: 1,
    totalTokens: 10
  })
})

t.test('metadata has the ids of the upstream, without values that are too long', async t => {
  const read = (setup: Setup, payload: object = {}) =>
    accumulateEvents(
      openReader(nativeV2Face, setup).readBody(
        Buffer.from(JSON.stringify({ messages: [{ content: 'a' }], ...payload }))
      )
    ).metadata
  t.same(read({ headers: {} }), {})
  t.same(read({ headers: { 'x-request-id': 'r', 'x-session-id': 'x'.repeat(513) } }), { upstream_x_request_id: 'r' })
  t.same(read({ headers: {}, reading: { droppedAttachments: 2 } }), { upstream_dropped_attachments: '2' })
  t.match(read({ headers: {} }, { thread_id: 't', message_id: 'm', finish_reason: 'weird' }), {
    upstream_thread_id: 't',
    upstream_message_id: 'm',
    upstream_finish_reason: 'weird'
  })
})

t.test('structured output gets no list of sources', async t => {
  const inlineData = { sources: { '1': { url: 'https://a.test', title: 'A' } } }
  const payload = { messages: [{ content: [{ inline_data: inlineData, text: '{"a":"b[sources=[1]]"}' }] }] }
  const read = (isStructuredOutput: boolean) =>
    accumulateEvents(
      openReader(nativeV2Face, { reading: { isStructuredOutput } }).readBody(Buffer.from(JSON.stringify(payload)))
    ).items.at(-1)
  t.match(read(true), { type: 'text', text: '{"a":"b"}' })
  t.match(read(false), { type: 'text', text: '{"a":"b"}\n\nSources:\n- [A](https://a.test)' })
})

t.test('citations have positions in the delivered text', async t => {
  const inlineData = {
    sources: {
      '1': { url: 'https://a.test', title: ' A\n[x] ' },
      '2': { url: 'https://b.test' },
      '3': { url: 'https://a.test', title: 'same' },
      '4': { title: 'no address' }
    }
  }
  const pieces = [
    delta({ content: [{ text: 'One[sources=[2,9]]' }] }),
    delta({ content: [{ inline_data: inlineData }] }),
    delta({ content: [{ text: ' two[sources=[1]] three' }] }),
    done()
  ]
  const { items } = accumulateEvents(readStream(nativeV2Face, pieces))
  const text = items.find(item => item.type === 'text')
  t.equal(text?.text, 'One two three\n\nSources:\n- [https://b.test](https://b.test)\n- [A \\[x\\]](https://a.test)')
  const cited = text?.citations.map(({ startIndex, endIndex, url }) => [
    url,
    text.text.slice(startIndex, endIndex),
    startIndex
  ])
  t.same(cited, [
    ['https://a.test', '', 7],
    ['https://b.test', '- [https://b.test](https://b.test)', 24]
  ])
})

t.test('a second search is another run, and a repeated end is ignored', async t => {
  const run = (status?: string) => ({
    tool_execution: { name: 'web_search', ...(status === undefined ? {} : { status }) }
  })
  const pieces = [
    delta({ content: [run()] }),
    delta({ content: [run('success')], ...run('success') }),
    delta({ content: [run()] }),
    delta({ content: [run('success')] }),
    delta({ content: [{ tool_execution: { name: 'image_generate', status: 'success' } }] }),
    delta({ content: [{ tool_execution: { name: 'image_generate', status: 'success' } }] }),
    delta({ content: [{ tool_execution: { name: 'mystery' } }] }),
    done()
  ]
  const { items } = accumulateEvents(readStream(nativeV2Face, pieces))
  t.same(
    items.map(item => (item.type === 'hosted-tool' ? [item.kind, item.name, item.status] : item)),
    [
      ['web_search', 'web_search', 'completed'],
      ['web_search', 'web_search', 'completed'],
      ['image_generate', 'image_generate', 'completed'],
      ['other', 'mystery', 'completed']
    ]
  )
})

t.test('an image run without success fails unless the response has a file', async t => {
  const running = delta({ content: [{ tool_execution: { name: 'image_generate' } }] })
  const file = delta({ content: [{ files: [{ id: 'f-1', mime: 'image/png', target: 'image' }] }] })
  for (const [pieces, status] of [
    [[running, done()], 'failed'],
    [[running, file, done()], 'completed']
  ] as const) {
    const ended = readStream(nativeV2Face, pieces).find(event => event.type === 'hosted-tool-end')
    t.match(ended, { type: 'hosted-tool-end', status })
  }
})

t.test('a text that also occurs in the JSON around it is read like any other', async t => {
  const marks = [':', ',', '{', '"', '\\', '[', '}', 'content', 'text', 'model']
  for (const mark of marks) {
    const pieces = ['', mark, mark, 'Hi', mark, mark]
    const streams = [
      readStream(nativeV1Face, [...pieces.map(content => v1({ content })), v1({}, { finish_reason: 'stop' })]),
      readStream(nativeV2Face, [
        ...pieces.map((text, index) => delta({ content: [{ text }] }, { created_at: index >> 1 })),
        done()
      ])
    ]
    for (const events of streams) {
      const text = events.map(event => (event.type === 'text-delta' ? event.text : '')).join('')
      t.equal(text, pieces.join(''), mark)
      t.equal(events.at(-1)?.type, 'finish')
    }
  }
})
