import t from 'tap'
import { type JsonObject, readToolCallId } from '../../../../../worker/normalized/index.ts'
import { framesV1, framesV2, wholeV1, wholeV2 } from '../../../../support/native-route.ts'
import { send } from './native-route.ts'
import { readFrames } from './support.ts'

const weather = { name: 'get_weather', input_schema: { type: 'object' } }
const SEVERAL = { type: 'auto', disable_parallel_tool_use: false }
const call = (name: string, city: string): JsonObject => ({ function_call: { name, arguments: { city } } })
const say = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content })
const text = (text: string) => ({ type: 'text', text })

/** The accumulated blocks of a stream, by index, and its stop reason. */
function addUp(stream: string) {
  const blocks: string[] = []
  let stop: unknown
  for (const frame of readFrames(stream)) {
    if (frame.type === 'content_block_start') blocks.push(`${(frame.content_block as JsonObject).type}:`)
    if (frame.type === 'message_delta') stop = (frame.delta as JsonObject).stop_reason
    if (frame.type !== 'content_block_delta') continue
    const { type, signature: _signature, ...delta } = frame.delta as JsonObject
    blocks[Number(frame.index)] += type === 'signature_delta' ? '' : Object.values(delta).join('')
  }
  return { blocks, stop }
}

t.test('messages 63: both contracts give the same token counts', async t => {
  const usage = { input_tokens: 14, output_tokens: 8, cache_read_input_tokens: 5 }
  t.match(send('v1', {}).whole(wholeV1({ content: 'a' })).usage, usage)
  t.match(send('v2', {}).whole(wholeV2([say({ text: 'a' })])).usage, usage)
})

t.test('messages 19: a response is cut before a stop string', async t => {
  t.match(send('v1', { stop_sequences: ['xx', 'lo'] }).whole(wholeV1({ content: 'Hello' })), {
    content: [text('Hel')],
    stop_reason: 'stop_sequence',
    stop_sequence: 'lo'
  })
})

t.test('messages 20: the beginning of a stop string is not shown', async t => {
  const exchange = send('v1', { stop_sequences: ['lo'], stream: true })
  const stream = exchange.stream(framesV1([{ content: 'Hel' }, { content: 'l' }, { content: 'o!' }]))
  t.strictSame(addUp(stream), { blocks: ['text:Hel'], stop: 'stop_sequence' })
  const falseAlarm = exchange.stream(framesV1([{ content: 'Hel' }, { content: 'l' }, { content: 'y' }]))
  t.strictSame(addUp(falseAlarm), { blocks: ['text:Helly'], stop: 'end_turn' }, 'unless the rest of it does not follow')
})

t.test('the id of a call holds the state id, whole and streamed (B3, C3)', async t => {
  const exchange = send('v2', { tools: [weather] })
  const message = { ...say(call('get_weather', 'Paris')), tool_state_id: 'ts-1' }
  const whole = exchange.whole(wholeV2([message], 'function_call'))
  t.match(whole, { content: [{ type: 'tool_use', input: { city: 'Paris' } }], stop_reason: 'tool_use' })
  const [block] = whole.content
  const id = block?.type === 'tool_use' ? block.id : ''
  t.same(readToolCallId(id), { stateId: 'ts-1', callNumber: 0, isOwn: true })
  const started = readFrames(exchange.stream(framesV2([message], 'function_call'))).find(
    frame => frame.type === 'content_block_start'
  )
  t.match(started, { content_block: { id } })
  const next = send('v2', {
    messages: [
      { role: 'assistant', content: whole.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] }
    ]
  })
  t.match(next.upstream.messages, [{ tools_state_id: 'ts-1' }, { tools_state_id: 'ts-1' }])
})

t.test('messages 34: a call of a function with a reserved name has the name of the client (B11)', async t => {
  const exchange = send('v2', { tools: [{ ...weather, name: 'web_search' }] })
  const wireName = '__gateway_user_search_web'
  t.match(exchange.upstream.tools, [{ functions: { specifications: [{ name: wireName }] } }])
  const message = say(call(wireName, 'P'))
  t.match(exchange.whole(wholeV2([message], 'function_call')).content, [{ name: 'web_search' }])
  const stream = exchange.stream(framesV2([message], 'function_call'))
  t.match(stream, /"name":"web_search"/)
  t.notMatch(stream, wireName)
})

t.test('messages 42: several calls of the upstream are several blocks whose ids hold one state id', async t => {
  const exchange = send('v2', { tools: [weather], tool_choice: SEVERAL })
  const message = { ...say(call('get_weather', 'A'), call('get_weather', 'B')), tool_state_id: 'ts-1' }
  t.equal(exchange.upstream.parallel_tool_calls, true)
  const { content, stop_reason } = exchange.whole(wholeV2([message], 'function_call'))
  const ids = content.map(block => (block.type === 'tool_use' ? block.id : ''))
  t.equal(new Set(ids).size, 2)
  t.strictSame(
    ids.map(id => readToolCallId(id).stateId),
    ['ts-1', 'ts-1']
  )
  t.match(content, [{ input: { city: 'A' } }, { input: { city: 'B' } }])
  t.equal(stop_reason, 'tool_use')
  const stream = exchange.stream(framesV2([message], 'function_call'))
  t.strictSame(addUp(stream), { blocks: ['tool_use:{"city":"A"}', 'tool_use:{"city":"B"}'], stop: 'tool_use' })
  const inTwoMessages = [say(call('get_weather', 'A')), say(call('get_weather', 'B'))]
  t.equal(exchange.whole(wholeV2(inTwoMessages, 'function_call')).content.length, 2)
})

t.test('messages 43: a client that says nothing about several calls gets all of them', async t => {
  const messages = [{ ...say(call('get_weather', 'A'), call('get_weather', 'B')), tool_state_id: 'ts-1' }]
  const blocks = ['tool_use:{"city":"A"}', 'tool_use:{"city":"B"}']
  for (const tool_choice of [undefined, { type: 'auto' }]) {
    const exchange = send('v2', { tools: [weather], ...(tool_choice === undefined ? {} : { tool_choice }) })
    t.notOk('parallel_tool_calls' in exchange.upstream)
    const { content, stop_reason } = exchange.whole(wholeV2(messages, 'function_call'))
    t.match(content, [
      { type: 'tool_use', input: { city: 'A' } },
      { type: 'tool_use', input: { city: 'B' } }
    ])
    t.equal(stop_reason, 'tool_use')
    const stream = exchange.stream(framesV2(messages, 'function_call'))
    t.strictSame(addUp(stream), { blocks, stop: 'tool_use' })
  }
  const inV1 = ['A', 'B'].map(city => ({ ...call('get_weather', city), functions_state_id: 'ts-1' }))
  const streamV1 = send('v1', { tools: [weather] }).stream(framesV1(inV1, 'function_call'))
  t.strictSame(addUp(streamV1), { blocks, stop: 'tool_use' })
})

t.test('text around calls keeps its blocks, whole and streamed', async t => {
  const exchange = send('v2', { tools: [weather] })
  const parts = [
    { text: 'one' },
    call('get_weather', 'A'),
    { text: 'two' },
    call('get_weather', 'B'),
    { text: 'three' }
  ]
  const blocks = ['text:one', 'tool_use:{"city":"A"}', 'text:two', 'tool_use:{"city":"B"}', 'text:three']
  const whole = exchange.whole(wholeV2([{ ...say(...parts), tool_state_id: 'ts-1' }], 'function_call'))
  t.equal(whole.content.length, blocks.length)
  t.match(whole.content, [text('one'), { input: { city: 'A' } }, text('two'), { input: { city: 'B' } }, text('three')])
  const frames = parts.map(part => ({ ...say(part), tool_state_id: 'ts-1' }))
  t.strictSame(addUp(exchange.stream(framesV2(frames, 'function_call'))), { blocks, stop: 'tool_use' })
})

t.test('messages 43: the upstream is not asked for several calls on v1 and for smaller models', async t => {
  const requested = { tools: [weather], tool_choice: SEVERAL }
  t.notOk('parallel_tool_calls' in send('v1', requested).upstream)
  t.notOk('parallel_tool_calls' in send('v2', { ...requested, model: 'GigaChat-2' }).upstream)
  const one = wholeV1({ function_call: { name: 'get_weather', arguments: { city: 'A' } } }, 'function_call')
  t.equal(send('v1', requested).whole(one).content.length, 1)
})

t.test('messages 49, 50: JSON of a schema is one text block, whole and streamed', async t => {
  const output_config = { format: { type: 'json_schema', schema: { type: 'object' } } }
  const exchange = send('v1', { output_config })
  t.match(exchange.upstream, { response_format: { type: 'json_schema' }, functions: undefined })
  const json = '{\n    "a": 1\n}'
  t.match(exchange.whole(wholeV1({ content: json })), { content: [text(json)], stop_reason: 'end_turn' })
  const stream = exchange.stream(framesV1([{ content: '{\n    "a"' }, { content: ': 1\n}' }]))
  t.strictSame(addUp(stream), { blocks: [`text:${json}`], stop: 'end_turn' })
  t.match(readFrames(stream).at(-2), { usage: { output_tokens: 8 } })
})

t.test('messages 51: a tool may be called although a schema is set', async t => {
  const format = { type: 'json_schema', schema: { type: 'object' }, strict: true }
  const exchange = send('v2', { output_config: { format }, tools: [weather] })
  t.match(exchange.upstream.model_options, { response_format: { strict: true, schema: { type: 'object' } } })
  t.notOk('tool_config' in exchange.upstream)
  t.match(exchange.whole(wholeV2([say(call('get_weather', 'P'))], 'function_call')), {
    content: [{ type: 'tool_use' }],
    stop_reason: 'tool_use'
  })
})

t.test('messages 53: text in two pieces is one block with two deltas', async t => {
  const exchange = send('v1', { stream: true })
  t.equal(exchange.upstream.stream, true)
  const frames = readFrames(exchange.stream(framesV1([{ content: 'Hel', role: 'assistant' }, { content: 'lo' }])))
  t.strictSame(
    frames.map(frame => frame.type),
    [
      ...['message_start', 'ping', 'content_block_start', 'content_block_delta', 'content_block_delta'],
      ...['content_block_stop', 'message_delta', 'message_stop']
    ]
  )
})

t.test('messages 54, 55: text and a call are two blocks, wherever the upstream puts the finish reason', async t => {
  const expected = { blocks: ['text:Let me.', 'tool_use:{"city":"Paris"}'], stop: 'tool_use' }
  const onV1 = send('v1', { tools: [weather], stream: true }).stream(
    framesV1([{ content: 'Let me.' }, { content: '', ...call('get_weather', 'Paris') }], 'function_call')
  )
  t.strictSame(addUp(onV1), expected)
  const onV2 = send('v2', { tools: [weather], stream: true }).stream(
    framesV2([say({ text: 'Let me.' }), { ...say(call('get_weather', 'Paris')), tool_state_id: 't' }], 'function_call')
  )
  t.strictSame(addUp(onV2), expected)
})

t.test('messages 56, 57: reasoning is a block before the text, in every form of the upstream', async t => {
  const expected = { blocks: ['thinking:why', 'text:Hel'], stop: 'end_turn' }
  const tagged = send('v1', {}).stream(
    framesV1([{ content: '<thi' }, { content: 'nk>why</THINK>' }, { content: 'Hel' }])
  )
  t.strictSame(addUp(tagged), expected)
  t.match(tagged, /signature_delta/)
  const apart = send('v2', {}).stream(
    framesV2([{ role: 'reasoning', content: [{ text: 'why' }] }, say({ text: 'Hel' })])
  )
  t.strictSame(addUp(apart), expected)
})

t.test(
  'messages 58, 62: a response that is cut at the token limit has the stop reason max_tokens, whole and streamed',
  async t => {
    t.equal(addUp(send('v1', {}).stream(framesV1([{ content: 'a' }], 'length'))).stop, 'max_tokens')
    t.equal(send('v1', {}).whole(wholeV1({ content: 'a' }, 'length')).stop_reason, 'max_tokens')
  }
)

t.test('messages 60: a broken stream ends with an error and without a stop reason', async t => {
  const frames = readFrames(send('v1', {}).stream(framesV1([{ content: 'Hel' }]).slice(0, 1)))
  t.match(frames.at(-1), { type: 'error', error: { type: 'api_error' } })
  t.notOk(frames.some(frame => frame.type === 'message_stop' || frame.type === 'message_delta'))
})

t.test('messages 61: a refusal of the upstream has the stop reason refusal, whole and streamed', async t => {
  const refusal = { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: null } }
  t.match(send('v1', {}).whole(wholeV1({ content: 'No.' }, 'blacklist')), refusal)
  for (const word of ['content_filter', 'request_blacklist', 'response_blacklist', 'request_filter']) {
    t.equal(addUp(send('v2', {}).stream(framesV2([say({ text: 'No.' })], word))).stop, 'refusal', word)
  }
})

t.test('a generation failure is an error, whole and streamed', async t => {
  t.throws(() => send('v1', {}).whole(wholeV1({ content: 'a' }, 'error')), { code: 'upstream_generation_error' })
  const frames = readFrames(send('v1', {}).stream(framesV1([{ content: 'a' }], 'function_call_error')))
  t.match(frames.at(-1), { type: 'error', error: { type: 'api_error' } })
})

t.test('messages 32: the sources of a search are listed after the text', async t => {
  const exchange = send('v2', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] })
  t.strictSame(exchange.upstream.tools, [{ web_search: {} }])
  const inline_data = { sources: { 1: { url: 'https://example.test/a', title: 'A' } } }
  const message = say({ inline_data }, { text: 'News [sources=[1]].' })
  t.strictSame(exchange.whole(wholeV2([message])).content, [text('News .\n\nSources:\n- [A](https://example.test/a)')])
})
