// What services on the chat completions wire send beside its own words, whole and streamed
// (decisions.md 81): the reader gives the same events for all of it.

import t from 'tap'
import { accumulateEvents, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { checkGrammar } from '../../../normalized/grammar.ts'
import { answer, chunk, findCause, readStream, readWhole, writeFrames } from './support.ts'

const end = (reason: unknown = 'stop', more: object = {}) => chunk({}, reason, more)

function read(events: readonly NormalizedEvent[]) {
  t.same(checkGrammar(events), [])
  return accumulateEvents(events)
}

/** The same message in a whole response, and in a stream of one delta. */
function bothWays(message: object, reason: unknown = 'stop', more: object = {}) {
  return {
    whole: read(readWhole(answer(message, reason, more))),
    streamed: read(readStream([writeFrames([chunk(message, null), end(reason, more), '[DONE]'])]))
  }
}

t.test('calls without type or id, and with arguments as an object', async t => {
  const plain = { name: 'f', arguments: '{"a":"x"}' }
  const calls: Record<string, object> = {
    'no type': { id: 'call_1', function: plain },
    'a type of null': { id: 'call_1', type: null, function: plain },
    'an empty type': { id: 'call_1', type: '', function: plain },
    'an object': { id: 'call_1', type: 'function', function: { name: 'f', arguments: { a: 'x' } } },
    'a number as id': { id: 7, function: plain },
    'no id': { type: 'function', function: plain },
    'an id of null': { id: null, type: 'function', function: plain },
    'an empty id': { id: '', type: null, function: plain }
  }
  for (const [name, call] of Object.entries(calls)) {
    for (const { items, finish } of Object.values(bothWays({ content: null, tool_calls: [call] }, 'tool_calls'))) {
      t.match(items, [{ type: 'tool-call', name: 'f', arguments: '{"a":"x"}', id: /^(call_|7)/ }], name)
      t.equal(items.length, 1, name)
      t.equal(finish.reason, 'tool-calls', name)
    }
  }
})

t.test('arguments that are an object keep the digits of their numbers', async t => {
  const message = '{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"n":12345678901234567890}}}]}'
  const json = JSON.stringify(JSON.parse(answer({}).toString())).replace('{"role":"assistant"}', message)
  t.match(read(readWhole(Buffer.from(json))).items, [{ arguments: '{"n":12345678901234567890}' }])
  const frame = JSON.stringify(chunk('DELTA')).replace('"DELTA"', message)
  const { items } = read(readStream([writeFrames([frame, end(), '[DONE]'])]))
  t.match(items, [{ arguments: '{"n":12345678901234567890}' }])
})

t.test('a call without arguments has none', async t => {
  for (const definition of [{ name: 'f' }, { name: 'f', arguments: null }, { name: 'f', arguments: '' }]) {
    const { whole, streamed } = bothWays({ tool_calls: [{ id: 'a', function: definition }] }, 'tool_calls')
    t.match(whole.items, [{ name: 'f', arguments: '' }])
    t.match(streamed.items, [{ name: 'f', arguments: '' }])
  }
})

t.test('the name of a call may come in a later delta', async t => {
  const calls = (...deltas: object[]) => chunk({ tool_calls: deltas })
  const streams: Record<string, object[]> = {
    'behind the id': [
      calls({ index: 0, id: 'call_1', type: 'function' }),
      calls({ index: 0, function: { name: 'f' } }),
      calls({ index: 0, function: { arguments: '{"a":1}' } })
    ],
    'with the id': [
      calls({ index: 0, function: { arguments: '' } }),
      calls({ index: 0, id: 'call_1', function: { name: 'f', arguments: '{"a":1}' } })
    ],
    'behind the arguments': [
      calls({ index: 0, id: 'call_1', function: { arguments: '{"a"' } }),
      calls({ index: 0, function: { arguments: ':1}' } }),
      calls({ index: 0, function: { name: 'f' } })
    ],
    'without an index': [
      calls({ id: 'call_1', function: { arguments: '' } }),
      calls({ id: 'call_1', function: { name: 'f', arguments: '{"a":1}' } })
    ]
  }
  for (const [name, deltas] of Object.entries(streams)) {
    const { items } = read(readStream([writeFrames([...deltas, end('tool_calls'), '[DONE]'])]))
    t.match(items, [{ type: 'tool-call', id: 'call_1', name: 'f', arguments: '{"a":1}' }], name)
    t.equal(items.length, 1, name)
  }
})

t.test('the content may be a list with texts and thinking', async t => {
  const message = {
    content: [
      {
        type: 'thinking',
        thinking: [{ type: 'text', text: 'thi' }, { type: 'reference' }, { type: 'text', text: 'nk' }]
      },
      { type: 'text', text: 'h' },
      { type: 'reference', reference_ids: [1] },
      { type: 'text', text: 'i' }
    ]
  }
  for (const { items } of Object.values(bothWays(message))) {
    t.strictSame(items, [
      { type: 'reasoning', text: 'think', state: { chat_compatible: { reasoningName: 'content' } } },
      { type: 'text', text: 'hi', citations: [] }
    ])
  }
  const streamed = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'th' }] }] }),
    chunk({ content: [{ type: 'thinking', thinking: 'ink' }] }),
    chunk({ content: [{ type: 'text', text: 'h' }] }),
    chunk({ content: 'i' }),
    end(),
    '[DONE]'
  ]
  t.match(read(readStream([writeFrames(streamed)])).items, [
    { type: 'reasoning', text: 'think' },
    { type: 'text', text: 'hi' }
  ])
  t.match(Object.values(bothWays({ content: [{ type: 'refusal', refusal: 'no' }] })), [
    { items: [{ type: 'refusal', text: 'no' }] },
    { items: [{ type: 'refusal', text: 'no' }] }
  ])
  t.equal(findCause(readWhole(answer({ content: ['hi'] }))), 'invalid_message_content')
})

t.test('the member in which a provider sends reasoning is kept as state', async t => {
  for (const name of ['reasoning_content', 'reasoning']) {
    const { whole, streamed } = bothWays({ [name]: 'because', content: 'so' })
    for (const { items } of [whole, streamed]) {
      t.match(items, [
        { type: 'reasoning', text: 'because', state: { chat_compatible: { reasoningName: name } } },
        { type: 'text', text: 'so', state: undefined }
      ])
    }
    const call = { id: 'a', function: { name: 'f', arguments: '{}' } }
    for (const { items } of Object.values(bothWays({ content: '', [name]: 'because', tool_calls: [call] }))) {
      t.match(items, [{ type: 'reasoning', state: { chat_compatible: { reasoningName: name } } }, { name: 'f' }])
    }
    t.match(bothWays({ [name]: 'because' }).streamed.items, [{ state: { chat_compatible: { reasoningName: name } } }])
  }
  const [thought] = bothWays({ content: '<think>because</think>so' }).whole.items
  t.equal(thought?.type === 'reasoning' && thought.state, undefined, 'a thought in the text has no member of its own')
})

t.test('words for the end of a response', async t => {
  const words: Record<string, string[]> = {
    length: [
      'length',
      'model_length',
      'max_tokens',
      'MAX_TOKENS',
      'insufficient_system_resource',
      'error',
      'network_error'
    ],
    stop: ['stop', 'eos', 'eos_token', 'end_turn', 'STOP', 'something_new', 'toString', 'tool_calls'],
    'content-filter': ['content_filter', 'sensitive', 'SAFETY', 'content_filter: PROHIBITED_CONTENT']
  }
  for (const [reason, list] of Object.entries(words)) {
    for (const word of list) {
      for (const { items, finish } of Object.values(bothWays({ content: 'hi' }, word))) {
        t.match(items, [{ type: 'text', text: 'hi' }], word)
        t.match(finish, { reason, providerReason: word })
      }
    }
  }
  for (const word of [null, '']) {
    t.match(read(readWhole(answer({ content: 'hi' }, word))).finish, { reason: 'stop', providerReason: null })
  }
  const call = { id: 'a', function: { name: 'f', arguments: '{}' } }
  t.match(read(readWhole(answer({ tool_calls: [call] }, 'eos'))).finish, { reason: 'tool-calls' })
  const failed = { code: 'upstream_generation_error', status: 500 }
  t.match(readWhole(answer({ content: '' }, 'error')), [{ type: 'error', error: failed }])
  t.match(readStream([writeFrames([chunk({ content: '' }, 'error'), '[DONE]'])]).at(-1), { error: failed })
})

t.test('counts that stand beside the totals, and usage in other members', async t => {
  const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const flat: Array<[more: object, cached: number | null, reasoning: number | null]> = [
    [{ cached_tokens: 8 }, 8, null],
    [{ prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 2 }, 8, null],
    [{ cache_read_input_tokens: 8 }, 8, null],
    [{ cached_tokens: 8, prompt_tokens_details: { cached_tokens: 0 } }, 8, null],
    [{ prompt_tokens_details: { cached_tokens: 8 } }, 8, null],
    [{ cached_tokens: 99 }, 10, null],
    [{ cached_tokens: 'x' }, null, null],
    [{ reasoning_tokens: 3 }, null, 3]
  ]
  for (const [more, cacheReadTokens, reasoningTokens] of flat) {
    for (const { usage } of Object.values(bothWays({ content: 'a' }, 'stop', { usage: { ...counts, ...more } }))) {
      const whole = { inputTokens: 10, outputTokens: 5, totalTokens: 15, cacheWriteTokens: null }
      t.strictSame(usage, { ...whole, cacheReadTokens, reasoningTokens }, JSON.stringify(more))
    }
  }
  const places: object[][] = [
    [chunk({ content: 'a' }), { ...end(), x_groq: { id: 'req_1', usage: counts } }],
    [
      chunk({ content: 'a' }),
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { ...counts, cached_tokens: 8 } }] }
    ],
    [chunk({ content: 'a' }), end(), { choices: [], usage: counts }],
    [chunk({ content: 'a' }), end(), { choices: null, usage: counts }]
  ]
  for (const frames of places) {
    t.match(read(readStream([writeFrames([...frames, '[DONE]'])])).usage, { inputTokens: 10, outputTokens: 5 })
  }
})

t.test('cited pages become citations of the text', async t => {
  const url = 'https://example.org/x'
  const inner = { url, title: 'X', start_index: 0, end_index: 2 }
  const placed = [{ type: 'url-citation', startIndex: 0, endIndex: 2, url, title: 'X' }]
  const behind = [{ type: 'url-citation', startIndex: 2, endIndex: 2, url, title: 'X' }]
  const untitled = [{ type: 'url-citation', startIndex: 2, endIndex: 2, url, title: url }]
  const ofMessage: Array<[members: object, citations: object[]]> = [
    [{ annotations: [{ type: 'url_citation', url_citation: inner }] }, placed],
    [{ annotations: [{ type: 'url_citation', ...inner }] }, placed],
    [{ annotations: [{ type: 'url_citation', url_citation: { ...inner, end_index: 99 } }] }, placed],
    [{ annotations: [{ type: 'url_citation', url_citation: { url, title: 'X' } }] }, behind],
    [{ annotations: [{ type: 'file_citation' }, 7, { type: 'url_citation', url: 'javascript:x' }] }, []],
    [{ citations: [url] }, untitled]
  ]
  for (const [members, citations] of ofMessage) {
    for (const { items } of Object.values(bothWays({ content: 'hi', ...members }))) {
      t.strictSame(items, [{ type: 'text', text: 'hi', citations }], JSON.stringify(members))
    }
  }
  const lists: Array<[members: object, citations: object[]]> = [
    [{ citations: [url, url] }, untitled],
    [{ search_results: [{ title: 'X', url, date: null }], citations: [url] }, behind],
    [{ web_search: [{ title: 'X', link: url, media: 'M' }] }, behind],
    [{ citations: null, search_results: [7, {}] }, []]
  ]
  for (const [members, citations] of lists) {
    const { whole, streamed } = bothWays({ content: 'hi' }, 'stop', members)
    t.strictSame(whole.items, [{ type: 'text', text: 'hi', citations }])
    t.strictSame(streamed.items, whole.items)
  }
  const everyChunk = { citations: [url] }
  const frames = [
    chunk({ content: 'h' }, null, everyChunk),
    chunk({ content: 'i' }, null, everyChunk),
    end('stop', everyChunk)
  ]
  t.match(read(readStream([writeFrames([...frames, '[DONE]'])])).items, [{ text: 'hi', citations: untitled }])
  const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }
  const early = [chunk({ annotations: [{ type: 'url_citation', url_citation: inner }] }), chunk({ content: 'hi' })]
  const withCall = [...early, chunk({ tool_calls: [call] }), end('tool_calls'), '[DONE]']
  t.match(read(readStream([writeFrames(withCall)])).items, [{ text: 'hi', citations: placed }, { name: 'f' }])
})

t.test('the fingerprint is the provider’s, whole and streamed alike', async t => {
  const { whole, streamed } = bothWays({ content: 'hi' })
  t.strictSame(whole.identity, { id: 'chatcmpl-1', createdAt: 1 })
  t.strictSame(streamed.identity, whole.identity)
  const named = { system_fingerprint: 'fp_1' }
  t.match(read(readWhole(answer({ content: 'hi' }, 'stop', named))).identity, { fingerprint: 'fp_1' })
  const frames = writeFrames([chunk({ content: 'hi' }, null, named), end(), '[DONE]'])
  t.match(read(readStream([frames])).identity, { fingerprint: 'fp_1' })
})

t.test('the report of a filter on the prompt does not name the response', async t => {
  const report = {
    id: '',
    model: '',
    object: '',
    created: 0,
    choices: [],
    prompt_filter_results: [{ prompt_index: 0 }]
  }
  const events = readStream([writeFrames([report, chunk({ content: 'hi' }), end(), '[DONE]'])])
  t.match(events[0], { type: 'start', providerModel: 'upstream-model', identity: { id: 'chatcmpl-1' } })
  const counts = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }
  const only = readStream([writeFrames([counts, { choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] }])])
  t.equal(only[0]?.type, 'start')
})
