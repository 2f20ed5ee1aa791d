import t from 'tap'
import { accumulateEvents, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { messagesCompatibleFace } from '../../../../../worker/protocols/messages/provider/face.ts'
import { checkGrammar } from '../../../normalized/grammar.ts'
import {
  answer,
  call,
  delta,
  findCause,
  inputDelta,
  messageDelta,
  messageStart,
  messageStop,
  openReader,
  readStream,
  readWhole,
  start,
  stop,
  stream,
  text,
  textDelta,
  writeFrames
} from './support.ts'

function findError(events: readonly NormalizedEvent[]) {
  const last = events.at(-1)
  return last?.type === 'error' ? last.error : undefined
}

/** The anomalies that reading reports. */
function listAnomalies(read: (onAnomaly: (name: string, details: object) => void) => unknown): unknown[] {
  const reported: unknown[] = []
  read((name, details) => reported.push([name, details]))
  return reported
}

const openText = start(0, { type: 'text', text: '' })

t.test('every fault of the order of frames has its id', async t => {
  const faults: Record<string, Array<Array<object | string>>> = {
    stream_data_before_start: [[openText], [textDelta(0, 'a')], [stop(0)], [messageDelta()], [messageStop]],
    duplicate_stream_start: [[messageStart(), messageStart()]],
    invalid_stream_block: [
      [messageStart(), textDelta(0, 'a')],
      [messageStart(), stop(0)],
      [messageStart(), openText, textDelta(1, 'b')],
      [messageStart(), openText, stop(1)],
      [messageStart(), start(-1, { type: 'text', text: '' })],
      [messageStart(), { type: 'content_block_start', index: 0 }],
      [messageStart(), { type: 'content_block_start', content_block: { type: 'text', text: '' } }]
    ],
    invalid_stream_delta: [
      [messageStart(), openText, inputDelta(0, '{}')],
      [messageStart(), openText, delta(0, { type: 'thinking_delta', thinking: 'a' })],
      [messageStart(), start(0, { type: 'thinking', thinking: '' }), textDelta(0, 'a')],
      [messageStart(), start(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }), textDelta(0, 'a')],
      [messageStart(), start(0, { type: 'redacted_thinking', data: 'a' }), textDelta(0, 'a')],
      [messageStart(), openText, { type: 'content_block_delta', index: 0 }],
      [messageStart(), openText, delta(0, { text: 'a' })]
    ],
    invalid_stream_content: [[messageStart(), openText, delta(0, { type: 'text_delta', text: 1 })]],
    invalid_tool_call: [
      [messageStart(), start(0, { type: 'tool_use', id: 'a', input: {} })],
      [messageStart(), start(0, { type: 'tool_use', id: 1, name: 'f', input: {} })]
    ],
    invalid_finish_reason: [[messageStart(), messageDelta(1)]],
    invalid_usage: [
      [messageStart({ usage: { input_tokens: 1.5 } })],
      [messageStart(), messageDelta('end_turn', {}, { output_tokens: -1 })]
    ],
    duplicate_stream_terminal: [[messageStart(), messageDelta('end_turn'), messageDelta('max_tokens')]],
    stream_data_after_terminal: [
      [messageStart(), messageDelta(), openText],
      [messageStart(), openText, messageDelta(), textDelta(0, 'a')]
    ],
    stream_data_after_done: [
      [messageStart(), messageDelta(), messageStop, openText],
      [messageStart(), ...text(0, 'a'), messageDelta(), messageStop, textDelta(0, 'a')],
      [messageStart(), messageDelta(), messageStop, messageStop]
    ],
    invalid_stream_json: [[messageStart(), '{'], ['nonsense']],
    invalid_stream_chunk: [['[1]'], ['"a"'], [{ type: 'message_start' }]],
    incomplete_stream: [
      [],
      [messageStart()],
      [messageStart(), messageStop],
      [messageStart(), openText, textDelta(0, 'a')],
      [messageStart(), ...text(0, 'a')],
      [messageStart(), start(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }), messageStop]
    ]
  }
  for (const [cause, streams] of Object.entries(faults)) {
    for (const frames of streams) t.equal(findCause(readStream([writeFrames(frames)])), cause, JSON.stringify(frames))
  }
})

t.test('every fault of a whole response has its id', async t => {
  const faults: Record<string, Buffer[]> = {
    invalid_json_response: [Buffer.from('{'), Buffer.from('[]'), Buffer.from('<html>')],
    invalid_message_content: [
      answer('a' as never),
      answer([1 as never]),
      answer([{ type: 'text', text: 1 }]),
      answer([{ type: 'thinking', thinking: 'a', signature: 1 }]),
      Buffer.from('{"type":"message","stop_reason":"end_turn"}')
    ],
    invalid_tool_call: [answer([{ type: 'tool_use', id: 'a', name: '', input: {} }])],
    invalid_finish_reason: [answer([{ type: 'text', text: 'a' }], null), answer([], 5)],
    invalid_usage: [answer([], 'end_turn', { usage: 3 })]
  }
  for (const [cause, bodies] of Object.entries(faults)) {
    for (const body of bodies) t.equal(findCause(readWhole(body)), cause, body.toString())
  }
})

t.test('pings, comments and the marker of another wire may stand anywhere', async t => {
  const ping = { type: 'ping' }
  const frames = writeFrames([
    ping,
    messageStart(),
    ping,
    openText,
    textDelta(0, 'a'),
    ping,
    stop(0),
    messageDelta(),
    ping,
    messageStop,
    ping,
    '[DONE]'
  ])
  t.match(accumulateEvents(readStream([frames])), { items: [{ text: 'a' }], finish: { reason: 'stop' } })
})

t.test('a stream and a whole response give the same response', async t => {
  const streamed = readStream([
    stream(
      [
        start(0, { type: 'thinking', thinking: '', signature: '' }),
        delta(0, { type: 'thinking_delta', thinking: 'why' }),
        delta(0, { type: 'signature_delta', signature: 'sig' }),
        stop(0),
        ...text(1, 'He', 'llo'),
        ...call(2, {}, '{"a":', '1}'),
        ...call(3)
      ],
      'tool_use'
    )
  ])
  const whole = readWhole(
    answer(
      [
        { type: 'thinking', thinking: 'why', signature: 'sig' },
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'toolu_2', name: 'f', input: { a: 1 } },
        { type: 'tool_use', id: 'toolu_3', name: 'f', input: {} }
      ],
      'tool_use'
    )
  )
  t.same(accumulateEvents(streamed), accumulateEvents(whole))
})

t.test('every stop reason has its finish reason, and calls decide (A6)', async t => {
  const finishOf = (reason: unknown, content: object[] = [{ type: 'text', text: 'a' }], more: object = {}) => {
    const last = readWhole(answer(content, reason, more)).at(-1)
    return last?.type === 'finish' ? [last.reason, last.providerReason, last.stopSequence] : last
  }
  const used = [{ type: 'tool_use', id: 'a', name: 'f', input: {} }]
  t.same(finishOf('end_turn'), ['stop', 'end_turn', undefined])
  t.same(finishOf('max_tokens'), ['length', 'max_tokens', undefined])
  t.same(finishOf('model_context_window_exceeded'), ['length', 'model_context_window_exceeded', undefined])
  t.same(finishOf('refusal'), ['content-filter', 'refusal', undefined])
  t.same(finishOf('pause_turn'), ['stop', 'pause_turn', undefined])
  t.same(finishOf('stop_sequence', undefined, { stop_sequence: 'END' }), ['stop', 'stop_sequence', 'END'])
  t.same(finishOf('end_turn', undefined, { stop_sequence: 'END' }), ['stop', 'end_turn', undefined])
  t.same(finishOf('tool_use', used), ['tool-calls', 'tool_use', undefined])
  t.same(finishOf('end_turn', used), ['tool-calls', 'end_turn', undefined])
  t.same(finishOf(null, used), ['tool-calls', null, undefined])
  t.same(finishOf('max_tokens', used), ['length', 'max_tokens', undefined])
  t.same(finishOf('tool_use'), ['stop', 'tool_use', undefined])
  t.same(finishOf('constructor'), ['stop', 'constructor', undefined])
})

t.test('anomalies of a usable response are reported, each kind once', async t => {
  const whole = (body: Buffer, reading = {}) => listAnomalies(onAnomaly => readWhole(body, { onAnomaly, reading }))
  t.same(whole(answer([], 'tool_use')), [['announced_tool_call_missing', {}]])
  t.same(whole(answer([], 'eos')), [['finish_reason_unknown', { reason: 'eos' }]])
  t.same(whole(answer([]), { droppedToolCalls: 2 }), [['abandoned_tool_calls_dropped', { count: 2 }]])
  const server = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  t.same(whole(answer([server, server])), [['content_block_ignored', { type: 'server_tool_use' }]])
  const odd = delta(0, { type: 'odd_delta' })
  const frames = writeFrames([
    { type: 'odd' },
    messageStart(),
    { type: 'odd' },
    openText,
    odd,
    odd,
    textDelta(0, 'a'),
    stop(0)
  ])
  t.same(
    listAnomalies(onAnomaly => readStream([frames, writeFrames([messageStop])], { onAnomaly })),
    [
      ['stream_event_ignored', { type: 'odd' }],
      ['content_delta_ignored', { type: 'odd_delta' }],
      ['finish_reason_missing', {}]
    ]
  )
  t.same(
    listAnomalies(onAnomaly =>
      readStream([writeFrames([messageStart(), ...text(0, 'a'), messageDelta()])], { onAnomaly })
    ),
    [['end_marker_missing', {}]]
  )
})

t.test('names and ids are those of the client', async t => {
  const toolNames = new Map([['n__f', { name: 'f', namespace: 'n' }]])
  const used = (id: unknown, name = 'n__f') => ({ type: 'tool_use', id, name, input: {} })
  const events = readWhole(answer([used('functions.f:0'), used(null, 'g'), used('ok_1', 'g')], 'tool_use'), {
    reading: { toolNames }
  })
  const calls = events.flatMap(event => (event.type === 'tool-call-start' ? [event] : []))
  t.match(calls, [
    { name: 'f', namespace: 'n', id: /^call_[\w-]{32}$/ },
    { name: 'g', id: /^call_gw_[\w-]+$/ },
    { name: 'g', id: 'ok_1' }
  ])
  t.equal(new Set(calls.map(({ id }) => id)).size, 3)
})

t.test('two calls of one id get two ids', async t => {
  const events = readStream([stream([...call(0, { id: 'same' }, '{}'), ...call(1, { id: 'same' }, '{}')], 'tool_use')])
  const ids = events.flatMap(event => (event.type === 'tool-call-start' ? [event.id] : []))
  t.equal(ids[0], 'same')
  t.equal(new Set(ids).size, 2)
})

t.test('arguments that are no object are passed on as they are (decisions.md 113)', async t => {
  for (const reason of ['tool_use', 'max_tokens']) {
    const events = readStream([stream(call(0, {}, '{"a":'), reason)])
    t.match(accumulateEvents(events).items, [{ type: 'tool-call', arguments: '{"a":' }])
  }
})

t.test('the counts of the start stay where the end has none or only zeros (D3)', async t => {
  const usageOf = (atStart: object, atEnd: object | undefined) => {
    const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: atEnd }
    const events = readStream([writeFrames([messageStart({ usage: atStart }), ...text(0, 'a'), end, messageStop])])
    return accumulateEvents(events).usage
  }
  const full = { input_tokens: 10, cache_read_input_tokens: 4, cache_creation_input_tokens: 3, output_tokens: 1 }
  const expected = { inputTokens: 17, cacheReadTokens: 4, cacheWriteTokens: 3, outputTokens: 7, totalTokens: 24 }
  t.match(usageOf(full, { output_tokens: 7 }), expected)
  t.match(usageOf(full, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 }), expected)
  t.match(usageOf(full, { ...full, output_tokens: 7, output_tokens_details: { thinking_tokens: 9 } }), {
    ...expected,
    reasoningTokens: 7
  })
  t.match(usageOf({ input_tokens: 0, output_tokens: 0 }, { input_tokens: 5, output_tokens: 2 }), { totalTokens: 7 })
  t.match(usageOf(full, undefined), { outputTokens: 1 })
  t.equal(usageOf({}, {}), null)
})

t.test('the errors of a stream have their classes (A14)', async t => {
  const errors: Record<string, object> = {
    overloaded_error: { status: 503, code: 'provider_failure' },
    rate_limit_error: { status: 429, code: 'rate_limited', message: 'words' },
    invalid_request_error: { status: 400, code: 'upstream_rejected', message: 'words' },
    request_too_large: { status: 413, code: 'upstream_rejected', message: 'words' },
    timeout_error: { status: 504, code: 'provider_timeout' },
    api_error: { status: 502, code: 'provider_failure' },
    authentication_error: { status: 502, code: 'provider_failure' },
    permission_error: { status: 502, code: 'provider_failure' }
  }
  for (const [type, expected] of Object.entries(errors)) {
    const frame = { type: 'error', error: { type, message: 'words' }, request_id: 'req' }
    t.match(findError(readStream([writeFrames([messageStart(), frame])])), expected, type)
    t.match(findError(readStream([writeFrames([JSON.stringify(frame)])])), expected, `${type} without a name`)
    t.match(findError(readWhole(Buffer.from(JSON.stringify(frame)))), expected, `${type} as a whole response`)
  }
})

t.test('bridge 8.7: the errors of a call have their classes, and an overloaded service is one', async t => {
  const read = (status: number, type: string) =>
    messagesCompatibleFace.readError(
      { status, headers: { 'retry-after': '7' } },
      Buffer.from(JSON.stringify({ type: 'error', error: { type, message: 'the words' } }))
    )
  t.match(read(400, 'invalid_request_error'), { status: 400, code: 'upstream_rejected', message: 'the words' })
  t.match(read(401, 'authentication_error'), { status: 502, code: 'provider_failure' })
  t.match(read(404, 'not_found_error'), { status: 502, code: 'provider_failure' })
  t.match(read(429, 'rate_limit_error'), { status: 429, code: 'rate_limited', retryAfter: '7' })
  t.match(read(500, 'api_error'), { status: 500, code: 'provider_failure' })
  t.match(read(529, 'overloaded_error'), { status: 503, code: 'provider_failure', retryAfter: '7' })
  t.notMatch(read(500, 'api_error').message, 'the words')
})

t.test('an id of another form is not shown', async t => {
  const identityOf = (id: unknown) => {
    const [first] = readWhole(answer([], 'end_turn', { id }))
    return first?.type === 'start' ? first.identity : undefined
  }
  t.same(identityOf('msg_01Ab'), { id: '01Ab' })
  t.same(identityOf('chat-7'), { id: 'chat-7' })
  for (const id of [undefined, '', 'msg_', 'a b', 'x'.repeat(300), 5]) t.equal(identityOf(id), undefined)
})

t.test('frames that are read as text of a known form belong to the open block', async t => {
  const frames = [messageStart(), openText, ...['a', 'b', 'c'].map(piece => textDelta(0, piece)), stop(0)]
  t.equal(findCause(readStream([writeFrames([...frames, textDelta(1, 'd')])])), 'invalid_stream_block')
  const others = [...frames, ...text(1, 'd', 'e', 'f'), messageDelta(), messageStop]
  t.match(accumulateEvents(readStream([writeFrames(others)])).items, [{ text: 'abc' }, { text: 'def' }])
})

t.test('a reader that has ended takes nothing more', async t => {
  const reader = messagesCompatibleFace.createReader(
    { toolNames: new Map(), droppedToolCalls: 0 },
    { status: 200, headers: {} },
    { createNonce: () => '' }
  )
  t.equal(reader.push(stream(text(0, 'a'))).at(-1)?.type, 'finish')
  t.same(reader.push(writeFrames(['x'])), [])
  t.same(reader.end(), [])
})

/** What a stream of blocks becomes. */
const itemsOf = (blocks: readonly object[], reason = 'end_turn') => {
  const events = readStream([stream(blocks, reason)])
  t.same(checkGrammar(events), [])
  return accumulateEvents(events).items
}

const thinking = (index: number, piece: string) => delta(index, { type: 'thinking_delta', thinking: piece })
const signed = (index: number, signature: string) => delta(index, { type: 'signature_delta', signature })
const openThinking = (index: number) => start(index, { type: 'thinking', thinking: '' })
const openCall = (index: number, name = 'f') =>
  start(index, { type: 'tool_use', id: `toolu_${index}`, name, input: {} })

t.test('blocks may end late, as a local server ends them (decisions.md 82)', async t => {
  const unsigned = { messages_compatible: { signature: '' } }
  t.match(
    itemsOf([
      openThinking(0),
      thinking(0, 'hm'),
      start(1, { type: 'text', text: '' }),
      textDelta(1, 'Hel'),
      textDelta(1, 'lo'),
      signed(0, ''),
      stop(0),
      stop(1)
    ]),
    [
      { type: 'reasoning', text: 'hm', state: unsigned },
      { type: 'text', text: 'Hello' }
    ]
  )
  t.match(
    itemsOf(
      [
        openThinking(0),
        thinking(0, 'hm'),
        openCall(1),
        inputDelta(1, '{"a":'),
        inputDelta(1, '1}'),
        openCall(2, 'g'),
        inputDelta(2, '{}'),
        signed(0, ''),
        stop(0),
        stop(1),
        stop(2)
      ],
      'tool_use'
    ),
    [
      { type: 'reasoning', text: 'hm', state: unsigned },
      { type: 'tool-call', id: 'toolu_1', name: 'f', arguments: '{"a":1}' },
      { type: 'tool-call', id: 'toolu_2', name: 'g', arguments: '{}' }
    ]
  )
})

t.test('content of blocks that alternate stays with its block (decisions.md 82)', async t => {
  t.match(
    itemsOf(
      [
        openCall(0),
        openCall(1, 'g'),
        inputDelta(1, '{"b"'),
        inputDelta(0, '{"a":'),
        start(2, { type: 'text', text: '' }),
        textDelta(2, 'So'),
        inputDelta(1, ':2}'),
        inputDelta(0, '1}'),
        stop(2),
        stop(1),
        stop(0)
      ],
      'tool_use'
    ),
    [
      { name: 'f', arguments: '{"a":1}' },
      { name: 'g', arguments: '{"b":2}' },
      { type: 'text', text: 'So' }
    ]
  )
  t.match(itemsOf([...text(0, 'a'), openThinking(1), textDelta(0, 'b'), thinking(1, 'hm'), stop(1)]), [
    { text: 'a' },
    { text: 'b' },
    { type: 'reasoning', text: 'hm' }
  ])
})

t.test('a call without an end holds nothing up once its arguments are whole', async t => {
  const reader = openReader()
  const push = (...frames: object[]) => reader.push(writeFrames(frames)).map(({ type }) => type)
  push(messageStart(), openCall(0), inputDelta(0, '{"a":1}'))
  t.same(push(openCall(1, 'g')), ['tool-call-end', 'tool-call-start'])
  t.same(push(start(2, { type: 'text', text: '' }), textDelta(2, 'a')), [], 'arguments may still come')
  t.same(push(stop(1)), ['tool-call-delta', 'tool-call-end', 'text-start', 'text-delta'])
})

t.test('a signature that comes behind other content goes back on its thinking (decisions.md 82)', async t => {
  const events = readStream([
    stream(
      [openThinking(0), thinking(0, 'hm'), openCall(1), inputDelta(1, '{}'), signed(0, 'SIG'), stop(0), stop(1)],
      'tool_use'
    )
  ])
  t.match(accumulateEvents(events).items, [
    { type: 'reasoning', text: 'hm', state: { messages_compatible: { signature: '' } } },
    { type: 'tool-call' },
    { type: 'reasoning', text: '', state: { messages_compatible: { signature: 'SIG' } } }
  ])
})

t.test('an event named error is an error, whatever its data look like (decisions.md 82)', async t => {
  const shapes = ['overloaded', '{"message":"x"}', '"text"', '[1]', '{"type":"content_block_stop","index":0}', 'null']
  for (const data of shapes) {
    const events = readStream([writeFrames([messageStart(), openText]), Buffer.from(`event: error\ndata: ${data}\n\n`)])
    t.match(findError(events), { code: 'provider_failure', status: 502 }, data)
  }
  const typed = Buffer.from('event: error\ndata: {"type":"overloaded_error","message":"x"}\n\n')
  t.match(findError(readStream([writeFrames([messageStart()]), typed])), { status: 503 })
})
