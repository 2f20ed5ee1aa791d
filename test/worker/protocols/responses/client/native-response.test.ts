import t, { type Test } from 'tap'
import { type JsonObject, readToolCallId } from '../../../../../worker/normalized/index.ts'
import type { ResponsesOutputItem, ResponsesResponse } from '../../../../../worker/protocols/responses/client/schema.ts'
import { readResponsesStrictly } from '../../../../properties/responses-events.ts'
import { type Exchange, framesV1, framesV2, wholeV1, wholeV2 } from '../../../../support/native-route.ts'
import { send } from './native-route.ts'
import { requestId } from './support.ts'

const say = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content })
const call = (name: string, city: string): JsonObject => ({ function_call: { name, arguments: { city } } })
const weather = { type: 'function', name: 'weather' }

/** The whole response for messages of the upstream; the test fails when the stream for the same messages differs. */
function both(t: Test, exchange: Exchange<ResponsesResponse>, messages: JsonObject[], reason = 'stop') {
  const whole = exchange.whole(wholeV2(messages, reason))
  const { response } = readResponsesStrictly(exchange.stream(framesV2(messages, reason)))
  t.same(response, whole, 'a stream has the same content as a whole response (F3)')
  return whole
}

function findCalls(output: readonly ResponsesOutputItem[]) {
  return output.flatMap(item => (item.type === 'function_call' ? [item] : []))
}

t.test('responses 51: the id of a call holds the state id, and the next turn sends it back (C3)', async t => {
  const exchange = send('v2', { tools: [weather] })
  const message = { ...say(call('weather', 'Omsk')), tool_state_id: 'ts-1' }
  const { output } = both(t, exchange, [message], 'function_call')
  const [item] = findCalls(output)
  t.same(readToolCallId(item?.call_id ?? ''), { stateId: 'ts-1', callNumber: 0, isOwn: true })
  t.equal(item?.id, `fc_${item?.call_id}`)
  t.strictSame(JSON.parse(item?.arguments ?? ''), { city: 'Omsk' })
  const result = { type: 'function_call_output', call_id: item?.call_id ?? '', output: 'cold' }
  const next = send('v2', { input: [{ role: 'user', content: 'weather?' }, ...output, result] as JsonObject[] })
  t.match(next.upstream.messages, [
    {},
    { role: 'assistant', tools_state_id: 'ts-1', content: [{ function_call: { name: 'weather' } }] },
    { role: 'tool', tools_state_id: 'ts-1', content: [{ function_result: { name: 'weather' } }] }
  ])
})

t.test(
  'decisions.md 39: in a stored conversation the id of a call holds the name for a result that comes alone',
  async t => {
    for (const stored of [{ store: true }, { previous_response_id: 'resp_th' }]) {
      const exchange = send('v2', { tools: [weather], ...stored })
      const message = { ...say(call('weather', 'Omsk')), tool_state_id: 'ts-1' }
      const [item] = findCalls(both(t, exchange, [message], 'function_call').output)
      t.same(readToolCallId(item?.call_id ?? ''), { stateId: 'ts-1', name: 'weather', callNumber: 0, isOwn: true })
      const result = { type: 'function_call_output', call_id: item?.call_id ?? '', output: 'cold' }
      const alone = send('v2', { previous_response_id: 'resp_th', input: [result] })
      t.match(alone.upstream.messages, [
        { role: 'tool', tools_state_id: 'ts-1', content: [{ function_result: { name: 'weather' } }] }
      ])
    }
  }
)

t.test('responses 53: parallel calls are items with different ids that hold one state id (B1, B2)', async t => {
  const tools = [weather]
  const exchange = send('v2', { model: 'GigaChat-2-Max', parallel_tool_calls: true, tools })
  const message = { ...say(call('weather', 'Omsk'), call('weather', 'Oslo')), tool_state_id: 'ts-1' }
  const { output } = both(t, exchange, [message], 'function_call')
  const calls = findCalls(output)
  t.equal(new Set(calls.map(({ call_id }) => call_id)).size, 2)
  const results = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: call_id }))
  const next = send('v2', { input: [...output, ...results] as JsonObject[] })
  t.strictSame(
    (next.upstream.messages as JsonObject[]).map(({ role, tools_state_id }) => [role, tools_state_id]),
    [
      ['assistant', 'ts-1'],
      ['tool', 'ts-1'],
      ['tool', 'ts-1']
    ]
  )
})

t.test('responses 45: a call of a function in a namespace has its name and its namespace', async t => {
  const tools = [{ type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'f' }] }]
  const message = { ...say(call('ns__f', 'Omsk')), tool_state_id: 'ts-1' }
  const [item] = findCalls(both(t, send('v2', { tools }), [message], 'function_call').output)
  t.match(item, { name: 'f', namespace: 'ns' })
})

t.test('responses 64: reasoning and text are two items, whole and streamed', async t => {
  const messages = [{ role: 'reasoning', content: [{ text: 'why' }] }, say({ text: 'so' })]
  const { output } = both(t, send('v2', {}), messages)
  t.match(output, [
    { type: 'reasoning', summary: [{ text: 'why' }] },
    { type: 'message', content: [{ text: 'so' }] }
  ])
})

t.test('responses 65, 66: text and a call have the same ids, whole and streamed (A6)', async t => {
  const exchange = send('v2', { tools: [weather] })
  const message = { ...say({ text: 'One moment.' }, call('weather', 'Omsk')), tool_state_id: 'ts-1' }
  t.match(both(t, exchange, [message], 'function_call').output, [
    { type: 'message', status: 'completed' },
    { type: 'function_call', status: 'completed' }
  ])
  const alone = { ...say(call('weather', 'Omsk')), tool_state_id: 'ts-1' }
  t.match(both(t, exchange, [alone], 'function_call').output, [{ type: 'function_call' }])
})

t.test('reasoning inside the text becomes a reasoning item, wherever the text is cut into pieces', async t => {
  const exchange = send('v1', {})
  const whole = exchange.whole(wholeV1({ content: '<think>hm</think>yes' }))
  const stream = exchange.stream(framesV1([{ content: '<thi' }, { content: 'nk>hm</th' }, { content: 'ink>yes' }]))
  t.same(readResponsesStrictly(stream).response, whole)
  t.match(whole.output, [
    { type: 'reasoning', summary: [{ text: 'hm' }] },
    { type: 'message', content: [{ text: 'yes' }] }
  ])
})

const found = { images: [], sources: { 1: { url: 'https://example.test/a', title: 'A' } } }

t.test('responses 58: a search is an item with its sources, and its citations point into the text', async t => {
  const exchange = send('v2', { input: 'news?', tools: [{ type: 'web_search' }] })
  const messages = [
    say({ tool_execution: { name: 'web_search', status: 'success' } }),
    say({ inline_data: found }),
    say({ text: 'News. [sources=[1]] More.' })
  ]
  const { output } = both(t, exchange, messages)
  t.match(output[0], {
    type: 'web_search_call',
    status: 'completed',
    action: { query: 'news?', sources: [{ type: 'url', url: 'https://example.test/a' }] }
  })
  const part = output[1]?.type === 'message' ? output[1].content[0] : undefined
  if (part?.type !== 'output_text') throw new Error('There is no text.')
  t.notMatch(part.text, 'sources=')
  t.match(part.text, 'Sources:\n- [A](https://example.test/a)')
  t.strictSame(part.inline_data, found)
  t.equal(part.annotations.length, 1)
  for (const { start_index, end_index } of part.annotations) {
    t.ok(start_index <= end_index && end_index <= part.text.length)
  }
})

t.test('responses 68: the progress of a search is reported, its completion once, and the message follows', async t => {
  const exchange = send('v2', { tools: [{ type: 'web_search' }] })
  const { events } = readResponsesStrictly(
    exchange.stream(
      framesV2([
        say({ tool_execution: { name: 'web_search' } }),
        say({ tool_execution: { name: 'web_search', status: 'searching', seconds_left: 2 } }),
        say({ tool_execution: { name: 'web_search', status: 'success' } }),
        say({ inline_data: found }),
        say({ text: 'News.' })
      ])
    )
  )
  const reported = events.filter(({ item_id }) => item_id === `ws_${requestId}`)
  t.match(reported, [
    { type: 'response.web_search_call.in_progress' },
    { type: 'response.web_search_call.searching', seconds_left: 2 },
    { type: 'response.web_search_call.completed' }
  ])
  t.equal(reported.length, 3)
  const done = events.flatMap(event => (event.type === 'response.output_item.done' ? [event.item as JsonObject] : []))
  t.match(done, [{ type: 'web_search_call', status: 'completed' }, { type: 'message' }])
})

t.test('responses 69: the progress of an image is reported, and the image is the only item', async t => {
  const exchange = send('v2', { tools: [{ type: 'image_generation' }] })
  const messages = [
    say({ tool_execution: { name: 'image_generate', status: 'generating' } }),
    say({ tool_execution: { name: 'image_generate', status: 'success' } }),
    say({ files: [{ id: 'f1', mime: 'image/jpeg', target: 'image' }] })
  ]
  const { events, response } = readResponsesStrictly(exchange.stream(framesV2(messages)))
  t.same(response, exchange.whole(wholeV2(messages)))
  t.strictSame(
    events.slice(2, -1).map(({ type }) => type),
    [
      'response.output_item.added',
      'response.image_generation_call.generating',
      'response.image_generation_call.completed',
      'response.output_item.done'
    ]
  )
  t.match(response.output, [{ type: 'image_generation_call', status: 'completed', file_id: 'f1' }])
})

t.test('JSON of a schema is the unchanged text of a message', async t => {
  const text = { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } }
  const pieces = ['{\n    "a"', ': "[sources=[1]]"\n}']
  const { output } = both(
    t,
    send('v2', { text, tools: [weather] }),
    pieces.map(piece => say({ text: piece }))
  )
  t.match(output, [{ type: 'message' }])
  t.equal(output.length, 1)
})

t.test(
  'the thread id of the upstream is in the response id, and the names of hosted tools are in the metadata',
  async t => {
    const exchange = send('v2', { store: true, tools: [{ type: 'code_interpreter' }], metadata: { k: 'v' } })
    const response = exchange.whole({
      ...wholeV2([say({ tool_execution: { name: 'code_interpreter', status: 'success' } }), say({ text: '42' })]),
      thread_id: 'th7'
    })
    t.match(response, {
      id: 'resp_th7',
      store: true,
      metadata: {
        k: 'v',
        upstream_thread_id: 'th7',
        upstream_called_tools: '[{"index":0,"name":"code_interpreter","role":"assistant"}]'
      },
      output: [{ type: 'message' }]
    })
  }
)
