import t from 'tap'
import { accumulateEvents, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { checkGrammar } from '../../../normalized/grammar.ts'
import { answer, chunk, findCause, readStream, readWhole, writeFrames } from './support.ts'

const call = (index: number | undefined, members: object, text?: string) => ({
  ...(index === undefined ? {} : { index }),
  ...members,
  ...(text === undefined ? {} : { function: { arguments: text } })
})
const begin = (index: number | undefined, id: string, name: string, text = '') =>
  call(index, { id, type: 'function', function: { name, arguments: text } })
const calls = (...deltas: object[]) => chunk({ tool_calls: deltas })
const end = chunk({}, 'stop')

/** What a client gets of a stream. */
function summarise(frames: ReadonlyArray<object | string>) {
  return summariseEvents(readStream([writeFrames(frames)]))
}

function summariseEvents(events: readonly NormalizedEvent[]) {
  const faults = checkGrammar(events)
  if (faults.length > 0) throw new Error(faults.join('; '))
  const { items, finish, usage, state } = accumulateEvents(events)
  return {
    items: items.map(item =>
      item.type === 'tool-call' ? [item.id, item.name, item.arguments] : [item.type, 'text' in item ? item.text : '']
    ),
    reason: finish.reason,
    usage,
    state
  }
}

t.test('a stream gives its events, the usage before the finish', async t => {
  const usage = {
    prompt_tokens: 5,
    completion_tokens: 7,
    total_tokens: 12,
    prompt_tokens_details: { cached_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 3 }
  }
  const events = readStream([
    writeFrames([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      end,
      { model: 'upstream-model', choices: [], usage },
      '[DONE]'
    ])
  ])
  t.same(events, [
    {
      type: 'start',
      providerModel: 'upstream-model',
      metadata: {},
      identity: { id: 'chatcmpl-1', createdAt: 1 }
    },
    { type: 'text-start' },
    { type: 'text-delta', text: 'Hel' },
    { type: 'text-delta', text: 'lo' },
    { type: 'text-end' },
    {
      type: 'usage',
      usage: {
        inputTokens: 5,
        cacheReadTokens: 2,
        cacheWriteTokens: null,
        outputTokens: 7,
        reasoningTokens: 3,
        totalTokens: 12
      }
    },
    { type: 'finish', reason: 'stop', providerReason: 'stop', metadata: {} }
  ])
})

t.test('dialects of streams', async t => {
  const plain = { items: [['text', 'ab']], reason: 'stop' }
  const dialects: Record<string, ReadonlyArray<object | string>> = {
    'no end marker': [chunk({ content: 'ab' }), end],
    'reasons that are empty until the end': [chunk({ content: 'a' }, ''), chunk({ content: 'b' }, 'stop'), '[DONE]'],
    'null members': [
      chunk({ content: 'ab', refusal: null, tool_calls: null, function_call: null, reasoning_content: null }),
      end
    ],
    'no index of the choice': [
      { choices: [{ delta: { content: 'ab' } }] },
      { choices: [{ delta: {}, finish_reason: 'stop' }] }
    ],
    'choices without a delta': [
      { choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      { choices: [{ index: 0, finish_reason: null, content_filter_results: {} }] },
      chunk({ content: 'ab' }),
      chunk(null, 'stop')
    ],
    'an empty delta with the usage after the end': [
      chunk({ content: 'ab' }),
      end,
      chunk({ role: 'assistant', content: '' }, 'stop', { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
      '[DONE]'
    ],
    'comments, empty data and a marker with blanks': [chunk({ content: 'ab' }), '', end, ' [DONE] '],
    'a choice of another index': [
      chunk({ content: 'ab' }),
      { choices: [{ index: 1, delta: { content: 'other' }, finish_reason: 'length' }] },
      end
    ]
  }
  for (const [name, frames] of Object.entries(dialects)) t.match(summarise(frames), plain, name)
  const text = `: hi\r\ndata:${JSON.stringify(chunk({ content: 'ab' }))}\r\rdata:${JSON.stringify(end)}\n\ndata:[DONE]\n\n`
  t.match(summariseEvents(readStream([Buffer.from(text)])), plain, 'other line ends and no blank')
})

t.test('the counts of the last chunk with usage count, wherever they come', async t => {
  const usage = (count: number) => ({ usage: { prompt_tokens: 9, completion_tokens: count, total_tokens: 9 + count } })
  const frames = [
    { choices: [], ...usage(0) },
    chunk({ content: 'a' }, null, usage(1)),
    { choices: [], ...usage(1) },
    chunk({ content: 'b' }, null, usage(2)),
    chunk({}, 'stop', usage(3)),
    { model: 'm', usage: usage(4).usage },
    '[DONE]'
  ]
  t.match(summarise(frames), { items: [['text', 'ab']], usage: { inputTokens: 9, outputTokens: 4, totalTokens: 13 } })
})

t.test(
  'reasoning that is counted beside the completion is part of the output, and no part exceeds its whole (D3)',
  async t => {
    const usageOf = (output: number, total: number | undefined, reasoning: number, cached = 6) => {
      const usage = {
        prompt_tokens: 32,
        completion_tokens: output,
        ...(total === undefined ? {} : { total_tokens: total }),
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: reasoning }
      }
      const streamed = summarise([chunk({ content: 'a' }), chunk({}, 'stop', { usage }), '[DONE]'])
      t.same(streamed.usage, summariseEvents(readWhole(answer({ content: 'a' }, 'stop', { usage }))).usage)
      return streamed.usage
    }
    const plain = { inputTokens: 32, cacheReadTokens: 6 }
    t.match(usageOf(9, 135, 94), { ...plain, outputTokens: 103, reasoningTokens: 94, totalTokens: 135 })
    t.match(usageOf(103, 135, 94), { ...plain, outputTokens: 103, reasoningTokens: 94, totalTokens: 135 })
    t.match(usageOf(0, 126, 94), { ...plain, outputTokens: 94, reasoningTokens: 94, totalTokens: 126 })
    t.match(usageOf(9, 41, 0), { ...plain, outputTokens: 9, reasoningTokens: 0, totalTokens: 41 })
    t.match(usageOf(9, undefined, 94), { ...plain, outputTokens: 9, reasoningTokens: 9, totalTokens: 41 })
    t.match(usageOf(9, 41, 3, 99), { inputTokens: 32, cacheReadTokens: 32, outputTokens: 9, reasoningTokens: 3 })
  }
)

t.test('reasoning in every dialect', async t => {
  const expected = {
    items: [
      ['reasoning', 'hm so'],
      ['text', 'yes']
    ]
  }
  const dialects: Record<string, object[]> = {
    reasoning_content: [{ reasoning_content: 'hm ' }, { reasoning_content: 'so' }, { content: 'yes' }],
    reasoning: [{ reasoning: 'hm ' }, { reasoning: 'so', content: null }, { content: 'yes' }],
    'both members with the same text': [{ reasoning: 'hm so', reasoning_content: 'hm so' }, { content: 'yes' }],
    'tags in the text': [{ content: ' \n<thi' }, { content: 'nk>hm ' }, { content: 'so</th' }, { content: 'ink>yes' }],
    'tags in one piece': [{ content: '<THINK>hm so</THINK>yes' }],
    details: [
      { reasoning_details: [{ type: 'reasoning.text', text: 'hm ', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.text', text: 'so', index: 0, signature: 's' }] },
      { content: 'yes' }
    ]
  }
  for (const [name, deltas] of Object.entries(dialects)) {
    t.match(summarise([...deltas.map(delta => chunk(delta)), end]), expected, name)
  }
  t.match(summarise([chunk({ content: '<think>never closed </thi' }), end]), {
    items: [['reasoning', 'never closed </thi']]
  })
  for (const text of ['a <think>b</think>', '<thinking>', `${' '.repeat(65)}<think>`, '< think>', '\n']) {
    t.match(summarise([...text].map(content => chunk({ content })).concat(end)), { items: [['text', text]] }, text)
  }
  t.match(summarise([chunk({ reasoning_content: 'hm' }), chunk({ content: '<think>x</think>' }), end]), {
    items: [
      ['reasoning', 'hm'],
      ['text', '<think>x</think>']
    ]
  })
})

t.test('reasoning details are state that is sent back as it came', async t => {
  const events = readStream([
    writeFrames([
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'a', index: 0, id: null }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'b', index: 0 }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.text', signature: 's', index: 0 }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', index: 1 }] }),
      chunk({ content: 'yes' }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'late', index: 2 }] }),
      end
    ])
  ])
  const { items, state } = accumulateEvents(events)
  const [reasoning] = items.filter(item => item.type === 'reasoning')
  t.same(JSON.parse(reasoning?.state?.chat_compatible?.reasoningDetails ?? ''), [
    { type: 'reasoning.text', text: 'ab', index: 0, id: null, signature: 's' },
    { type: 'reasoning.encrypted', data: 'x', index: 1 }
  ])
  t.same(JSON.parse(state?.chat_compatible?.reasoningDetails ?? ''), [
    { type: 'reasoning.encrypted', data: 'late', index: 2 }
  ])
  const hidden = accumulateEvents(
    readWhole(answer({ content: 'yes', reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] }))
  )
  t.match(hidden.items, [
    {
      type: 'reasoning',
      text: '',
      state: { chat_compatible: { reasoningDetails: '[{"type":"reasoning.encrypted","data":"x"}]' } }
    },
    { type: 'text', text: 'yes' }
  ])
})

t.test('calls in every dialect', async t => {
  const two = {
    items: [
      ['a', 'f', '{"x":1}'],
      ['b', 'g', '{}']
    ],
    reason: 'tool-calls'
  }
  const dialects: Record<string, object[]> = {
    'one after the other': [
      calls(begin(0, 'a', 'f')),
      calls(call(0, {}, '{"x"')),
      calls(call(0, {}, ':1}')),
      calls(begin(1, 'b', 'g', '{}'))
    ],
    interleaved: [
      calls(begin(0, 'a', 'f', '{"x"'), begin(1, 'b', 'g')),
      calls(call(1, {}, '{')),
      calls(call(0, {}, ':1}')),
      calls(call(1, {}, '}'))
    ],
    'without an index': [
      calls(begin(undefined, 'a', 'f', '{"x"')),
      calls(call(undefined, {}, ':1}')),
      calls(begin(undefined, 'b', 'g', '{}'))
    ],
    'without an index, told apart by their ids': [
      calls(begin(undefined, 'a', 'f', '{"x"'), begin(undefined, 'b', 'g', '{')),
      calls(call(undefined, { id: 'a' }, ':1}'), call(undefined, { id: 'b' }, '}'))
    ],
    'without an index, told apart by their places': [
      calls(begin(undefined, 'a', 'f'), begin(undefined, 'b', 'g')),
      calls(call(undefined, {}, '{"x"'), call(undefined, {}, '{')),
      calls(call(undefined, {}, ':1}'), call(undefined, {}, '}'))
    ],
    'all with the same index': [calls(begin(0, 'a', 'f', '{"x":1}')), calls(begin(0, 'b', 'g', '{}'))],
    'with the id and the name in every delta': [
      calls(begin(0, 'a', 'f', '{"x"')),
      calls(begin(0, 'a', 'f', ':1}')),
      calls(begin(1, 'b', 'g', '{}'))
    ],
    'with null members': [
      calls(begin(0, 'a', 'f', '{"x"')),
      calls({ index: 0, id: null, type: null, function: { name: null, arguments: ':1}' } }),
      calls(begin(1, 'b', 'g', '{}'))
    ]
  }
  for (const [name, frames] of Object.entries(dialects)) {
    t.match(summarise([...frames, chunk({}, 'tool_calls')]), two, name)
    t.match(summarise([...frames, end]), two, `${name}, with the reason stop (A6)`)
  }
  t.match(
    summarise([
      chunk({ content: 'I look' }),
      calls(begin(0, 'a', 'f', '{}')),
      chunk({ content: 'ed.' }),
      chunk({}, 'tool_calls')
    ]),
    {
      items: [
        ['text', 'I look'],
        ['a', 'f', '{}'],
        ['text', 'ed.']
      ]
    }
  )
})

t.test('whole calls with one index and empty ids are calls of their own (B1, B2)', async t => {
  const streams: Record<string, object[]> = {
    'of one function': [begin(0, '', 'f', '{"x":1}'), begin(0, '', 'f', '{"x":2}'), begin(0, '', 'f', '{"x":1}')],
    'without an index': [
      begin(undefined, '', 'f', '{"x":1}'),
      begin(undefined, '', 'f', '{"x":2}'),
      begin(undefined, '', 'f', '{"x":1}')
    ],
    'the last with an id': [begin(0, '', 'f', '{"x":1}'), begin(0, '', 'f', '{"x":2}'), begin(0, 'c', 'f', '{"x":1}')],
    'in pieces, the name in each': [
      begin(0, '', 'f', '{"x"'),
      begin(0, '', 'f', ':1}'),
      begin(0, '', 'f'),
      begin(0, '', 'f', '{"x":'),
      begin(0, '', 'f', '2}'),
      begin(0, '', 'f', '{"x":1}')
    ]
  }
  for (const [name, deltas] of Object.entries(streams)) {
    const { items, reason } = summarise([...deltas.map(delta => calls(delta)), chunk({}, 'tool_calls'), '[DONE]'])
    t.same(
      items.map(([, ...call]) => call),
      [
        ['f', '{"x":1}'],
        ['f', '{"x":2}'],
        ['f', '{"x":1}']
      ],
      name
    )
    t.equal(new Set(items.map(([id]) => id)).size, 3, `${name}: each call has an id of its own`)
    t.equal(reason, 'tool-calls')
  }
  t.match(summarise([calls(begin(0, '', 'f', '{}')), calls(begin(0, '', 'g', '{"x":1}')), end]), {
    items: [
      [/^call_gw_/, 'f', '{}'],
      [/^call_gw_/, 'g', '{"x":1}']
    ]
  })
  t.match(
    summarise([calls(begin(0, '', 'f', '{"x":')), calls(begin(0, '', 'f', '{"y":1}')), calls(call(0, {}, '}')), end]),
    { items: [[/^call_gw_/, 'f', '{"x":{"y":1}}']] },
    'a piece within the arguments begins no call'
  )
})

t.test('white space behind whole arguments does not end the stream when the next call has begun', async t => {
  const frames = [
    calls(begin(0, 'a', 'f', '{"x":1}')),
    calls(begin(1, 'b', 'g', '{')),
    calls(call(0, {}, '\n')),
    calls(call(1, {}, ' \n}')),
    calls(call(1, {}, ' ')),
    end
  ]
  t.match(summarise(frames), {
    items: [
      ['a', 'f', '{"x":1}'],
      ['b', 'g', '{ \n} ']
    ]
  })
})

t.test('a call whose arguments are whole is passed on before the next one ends', async t => {
  const events = readStream([writeFrames([calls(begin(0, 'a', 'f', '{}')), calls(begin(1, 'b', 'g', '{"x'))])])
  t.match(
    events.slice(1, 6).map(event => event.type),
    ['tool-call-start', 'tool-call-delta', 'tool-call-end', 'tool-call-start', 'tool-call-delta']
  )
})

t.test('ids of calls that clients do not accept are replaced', async t => {
  const ids = (...given: string[]) =>
    summarise([...given.map((id, index) => calls(begin(index, id, 'f', '{}'))), chunk({}, 'tool_calls')]).items.map(
      ([id]) => id
    )
  t.same(ids('call_1', 'chatcmpl-tool-0123456789abcdef012345'), ['call_1', 'chatcmpl-tool-0123456789abcdef012345'])
  t.match(ids('functions.f:0'), [/^call_[A-Za-z0-9_-]{32}$/])
  const [first, second, third] = ids('', 'same', 'same')
  t.match(first, /^call_gw_/)
  t.equal(second, 'same')
  t.match(third, /^call_gw_/)
})

t.test('the legacy call', async t => {
  const stream = summarise([
    chunk({ function_call: { name: 'f', arguments: '{"x"' } }),
    chunk({ function_call: { arguments: ':1}' } }),
    chunk({}, 'function_call')
  ])
  t.match(stream, { items: [[/^call_gw_/, 'f', '{"x":1}']], reason: 'tool-calls' })
  const whole = summariseEvents(
    readWhole(answer({ content: null, function_call: { name: 'f', arguments: '{}' } }, 'function_call'))
  )
  t.match(whole, { items: [[/^call_gw_/, 'f', '{}']], reason: 'tool-calls' })
})

t.test('refusals, and reasons that end a response early', async t => {
  t.match(summarise([chunk({ refusal: 'I ' }), chunk({ refusal: 'cannot' }), end]), {
    items: [['refusal', 'I cannot']]
  })
  t.match(summariseEvents(readWhole(answer({ content: null, refusal: 'no' }))), { items: [['refusal', 'no']] })
  t.match(summarise([chunk({ content: 'a' }), chunk({}, 'content_filter')]), { reason: 'content-filter' })
  t.match(summarise([calls(begin(0, 'a', 'f', '{"x')), chunk({}, 'length')]), { reason: 'length' })
})

t.test('a stop string that the server names is passed on when the client sent it', async t => {
  const frames = writeFrames([
    chunk({ content: 'a' }),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop', stop_reason: 'END' }] }
  ])
  const sequence = (stops: string[]) =>
    accumulateEvents(readStream([frames], { reading: { stops } })).finish.stopSequence
  t.equal(sequence(['END']), 'END')
  t.equal(sequence(['other']), undefined)
})

t.test('malformed whole responses are refused with their detailed id', async t => {
  const choice = (members: object) => Buffer.from(JSON.stringify({ choices: [{ index: 0, ...members }] }))
  const message = { role: 'assistant', content: 'a' }
  const withCall = (entry: unknown) => answer({ content: null, tool_calls: [entry] }, 'tool_calls')
  const table: Array<[id: string, body: Buffer]> = [
    ['invalid_json_response', Buffer.from('{"choices":')],
    ['invalid_json_response', Buffer.from('[]')],
    ['invalid_json_response', Buffer.from(`{"choices":${'['.repeat(1100)}${']'.repeat(1100)}}`)],
    ['invalid_choices', Buffer.from('{}')],
    ['invalid_choices', Buffer.from('{"choices":[]}')],
    ['invalid_choices', Buffer.from('{"choices":{}}')],
    ['invalid_choice', Buffer.from('{"choices":[7]}')],
    ['invalid_message', choice({ finish_reason: 'stop' })],
    ['invalid_message', choice({ message: 'a', finish_reason: 'stop' })],
    ['invalid_message_content', choice({ message: { content: ['a'] }, finish_reason: 'stop' })],
    ['invalid_message_content', choice({ message: { content: 7 }, finish_reason: 'stop' })],
    ['invalid_finish_reason', choice({ message, finish_reason: 7 })],
    ['invalid_tool_call', answer({ tool_calls: {} }, 'tool_calls')],
    ['invalid_tool_call', withCall('x')],
    ['invalid_tool_call', withCall({ id: ['a'], type: 'function', function: { name: 'f', arguments: '{}' } })],
    ['invalid_tool_call', withCall({ id: 'a', type: 'custom', function: { name: 'f', arguments: '{}' } })],
    ['invalid_tool_call', withCall({ id: 'a', type: 'function' })],
    ['invalid_tool_call', withCall({ id: 'a', type: 'function', function: { arguments: '{}' } })],
    ['invalid_usage', answer({ content: 'a' }, 'stop', { usage: 7 })],
    ['invalid_usage', answer({ content: 'a' }, 'stop', { usage: { prompt_tokens: -1 } })],
    ['invalid_usage', answer({ content: 'a' }, 'stop', { usage: { completion_tokens: 1.5 } })],
    ['invalid_usage', answer({ content: 'a' }, 'stop', { usage: { total_tokens: '7' } })]
  ]
  for (const [id, body] of table) {
    const events = readWhole(body)
    t.match(
      events,
      [{ type: 'error', error: { code: 'provider_protocol_error', status: 502 } }],
      body.toString().slice(0, 80)
    )
    t.equal(findCause(events), id, body.toString().slice(0, 80))
  }
})

t.test('arguments that are no object are passed on as they are (decisions.md 113)', async t => {
  const withText = (text: string, reason = 'tool_calls') =>
    answer({ tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }] }, reason)
  const framesOf = (text: string, reason = 'tool_calls') => [
    writeFrames([
      calls(begin(0, 'a', 'f', text.slice(0, 3))),
      calls(call(0, {}, text.slice(3))),
      chunk({}, reason),
      '[DONE]'
    ])
  ]
  for (const text of ['{"a":', 'x', '{}}', '["a"]', '"a"', '7', 'null']) {
    const expected = { items: [['a', 'f', text]] }
    for (const reason of ['tool_calls', 'length', 'content_filter']) {
      t.match(summariseEvents(readWhole(withText(text, reason))), expected, `${text}, ${reason}`)
      t.match(summariseEvents(readStream(framesOf(text, reason))), expected, `${text}, ${reason}`)
    }
  }
})

t.test('whole responses of lenient servers are read', async t => {
  const toolCalls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
  for (const reason of ['tool_calls', 'stop', null, '', undefined]) {
    t.match(summariseEvents(readWhole(answer({ tool_calls: toolCalls }, reason))), {
      items: [['a', 'f', '{}']],
      reason: 'tool-calls'
    })
  }
  t.match(summariseEvents(readWhole(answer({ content: 'a', tool_calls: null }, 'stop', { usage: null }))), {
    items: [['text', 'a']],
    usage: null
  })
  t.match(summariseEvents(readWhole(answer({ content: '<think>hm</think>yes' }))), {
    items: [
      ['reasoning', 'hm'],
      ['text', 'yes']
    ]
  })
  const anomalies: string[] = []
  const body = {
    choices: [
      { index: 1, message: { content: 'b' }, finish_reason: 'stop' },
      { index: 0, message: { content: 'a' }, finish_reason: 'stop' }
    ]
  }
  const events = readWhole(Buffer.from(JSON.stringify(body)), { onAnomaly: name => anomalies.push(name) })
  t.match(summariseEvents(events), { items: [['text', 'a']] })
  t.same(anomalies, ['further_choices_dropped'])
})

t.test('a stream with content and an end marker needs no finish reason (A11)', async t => {
  const table: Array<[frames: object[], expected: object]> = [
    [[chunk({ content: 'a' }), chunk({ content: 'b' }, '')], { items: [['text', 'ab']], reason: 'stop' }],
    [[chunk({ content: '<thin' })], { items: [['text', '<thin']], reason: 'stop' }],
    [[chunk({ refusal: 'no' })], { items: [['refusal', 'no']], reason: 'stop' }],
    [[calls(begin(0, 'a', 'f', '{}'))], { items: [['a', 'f', '{}']], reason: 'tool-calls' }]
  ]
  for (const [frames, expected] of table) {
    const anomalies: string[] = []
    const events = readStream([writeFrames([...frames, '[DONE]'])], { onAnomaly: name => anomalies.push(name) })
    t.match(summariseEvents(events), expected)
    t.same(anomalies, ['finish_reason_missing'])
  }
})

t.test('malformed streams end with an error of their detailed id', async t => {
  const text = chunk({ content: 'a' })
  const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }
  const table: Array<[id: string, frames: ReadonlyArray<object | string>]> = [
    ['invalid_stream_json', [text, '{"choices"']],
    ['invalid_stream_chunk', [text, '7']],
    ['invalid_stream_chunk', [text, '[]']],
    ['invalid_stream_choices', [text, { choices: {} }]],
    ['invalid_stream_choices', [text, { object: 'x' }]],
    ['invalid_stream_choice', [text, { choices: [7] }]],
    ['invalid_stream_choice', [text, { choices: [{ index: -1, delta: {} }] }]],
    ['invalid_stream_delta', [text, chunk('a')]],
    ['invalid_stream_content', [text, chunk({ content: ['a'] })]],
    ['invalid_stream_content', [text, chunk({ refusal: 7 })]],
    ['invalid_stream_tool_calls', [text, chunk({ tool_calls: {} })]],
    ['invalid_stream_tool_call', [text, calls('x' as never)]],
    ['invalid_stream_tool_call', [calls({ index: 'x', id: 'a', type: 'function', function: { name: 'f' } })]],
    ['invalid_stream_tool_call', [calls({ index: 0, id: 'a', type: 'custom', function: { name: 'f' } })]],
    ['invalid_stream_tool_call', [calls({ index: 0, id: 'a', type: 'function', function: {} }), end, '[DONE]']],
    ['invalid_stream_tool_call', [calls(begin(0, 'a', 'f')), calls({ index: 0, function: { name: 7 } })]],
    ['invalid_stream_tool_call', [calls(begin(0, 'a', 'f')), calls({ index: 0, id: ['a'] })]],
    ['invalid_stream_tool_call', [text, calls(call(0, {}, '{}')), end, '[DONE]']],
    ['stream_tool_identity_changed', [calls(begin(0, 'a', 'f', '{')), calls(call(0, { id: 'b' }, '}'))]],
    ['stream_tool_identity_changed', [calls(begin(0, 'a', 'f', '{')), calls(begin(0, 'b', 'f', '}'))]],
    ['stream_tool_identity_changed', [calls(begin(0, 'a', 'f', '{}')), calls(begin(0, 'a', 'g', '{}'))]],
    ['invalid_finish_reason', [text, chunk({}, 7)]],
    ['invalid_usage', [text, chunk({}, 'stop', { usage: { prompt_tokens: 'x' } })]],
    ['stream_data_after_terminal', [text, end, text]],
    ['stream_data_after_terminal', [text, end, calls(begin(0, 'a', 'f'))]],
    ['stream_data_after_usage', [text, end, usage, text]],
    ['duplicate_stream_terminal', [text, end, end]],
    ['stream_data_after_done', [text, end, '[DONE]', text]],
    ['stream_data_after_done', [text, end, '[DONE]', usage]],
    ['duplicate_stream_done', [text, end, '[DONE]', '[DONE]']],
    ['incomplete_stream', [text]],
    ['incomplete_stream', [calls(begin(0, 'a', 'f', '{}'))]],
    ['incomplete_stream', [calls(begin(0, 'a', 'f', '{')), '[DONE]']],
    ['incomplete_stream', [text, calls(begin(0, 'a', 'f')), '[DONE]']],
    ['incomplete_stream', [chunk({ reasoning_content: 'hm' }), '[DONE]']],
    ['incomplete_stream', [chunk({ role: 'assistant', content: '' }), '[DONE]']],
    ['incomplete_stream', ['[DONE]']],
    ['incomplete_stream', []]
  ]
  for (const [id, frames] of table) {
    const events = readStream([writeFrames(frames)])
    t.equal(findCause(events), id, JSON.stringify(frames))
    t.match(events.at(-1), { error: { code: 'provider_protocol_error', status: 502 } })
    t.same(checkGrammar(events), [], JSON.stringify(frames))
  }
})

t.test('an error in a response of status 200 is the response (A16)', async t => {
  const limited = { error: { message: 'Slow down', type: 'requests', code: 'rate_limit_exceeded' } }
  t.match(readWhole(Buffer.from(JSON.stringify(limited))), [{ error: { code: 'rate_limited', message: 'Slow down' } }])
  const events = readStream([writeFrames([chunk({ content: 'a' }), { error: { message: 'x', code: 503 } }])])
  t.match(events.at(-1), { type: 'error', error: { code: 'provider_failure', status: 503 } })
  const self = { object: 'error', message: 'too long', type: 'BadRequestError', param: null, code: 400 }
  const refused = [{ type: 'error', error: { code: 'upstream_rejected', status: 400, message: 'too long' } }]
  t.match(readWhole(Buffer.from(JSON.stringify(self))), refused, 'the body is the error')
  t.match(readStream([writeFrames([self])]), refused)
  const named = readStream([Buffer.from('event: error\ndata: {"message":"boom"}\n\n')])
  t.match(named.at(-1), { type: 'error', error: { code: 'provider_failure', status: 502 } })
  t.notMatch(named.at(-1), { error: { message: /boom/ } })
})
