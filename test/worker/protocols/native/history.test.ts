// Messages on both wires: roles, merging, calls and results.

import t from 'tap'
import {
  type ContentPart,
  type JsonObject,
  type NormalizedMessage,
  type NormalizedRequest,
  type ToolCallPart,
  type ToolResultPart,
  writeToolCallId
} from '../../../../worker/normalized/index.ts'
import { nativeV1Face } from '../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../worker/protocols/native/v2/face.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../support/growth.ts'
import { makeRequest, openReader, plainOptions, say } from './support.ts'

const stateId = '019e8373-dc9a-7883-af60-ebb20b79e1e1'
const target = { upstreamModel: 'GigaChat-2' }

function call(id: string | null, name: string, callArguments: JsonObject = {}, more: Partial<ToolCallPart> = {}) {
  return { type: 'tool-call' as const, id, name, arguments: callArguments, ...more }
}

function result(callId: string | null, text: string, more: Partial<ToolResultPart> = {}): ToolResultPart {
  const content: ContentPart[] = text === '' ? [] : [{ type: 'text', text }]
  return { type: 'tool-result', callId, content, isError: false, path: 'messages[9].tool_call_id', ...more }
}

const assistant = (...content: ContentPart[]): NormalizedMessage => ({ role: 'assistant', content })
const tool = (...content: ContentPart[]): NormalizedMessage => ({ role: 'tool', content })
const user = (...content: ContentPart[]): NormalizedMessage => ({ role: 'user', content })

function v1(messages: NormalizedMessage[], members: Partial<NormalizedRequest> = {}): unknown {
  return nativeV1Face.writeChat(makeRequest({ messages, ...members }), target, plainOptions).body.messages
}

function v2(messages: NormalizedMessage[], members: Partial<NormalizedRequest> = {}): unknown {
  return nativeV2Face.writeChat(makeRequest({ messages, ...members }), target, plainOptions).body.messages
}

t.test('leading instructions of both roles are joined into one system message', async t => {
  const messages = [say('developer', 'a'), say('system', ''), say('system', 'b'), say('user', 'hi')]
  t.strictSame(v1(messages), [
    { role: 'system', content: 'a\n\nb' },
    { role: 'user', content: 'hi' }
  ])
  t.strictSame(v2(messages), [
    { role: 'system', content: [{ text: 'a\n\nb' }] },
    { role: 'user', content: [{ text: 'hi' }] }
  ])
})

t.test('a later instruction becomes user text and merges with adjacent user messages', async t => {
  t.strictSame(
    v1([say('system', 's'), say('user', 'a'), say('system', 'b'), say('assistant', 'c'), say('developer', 'd')]),
    [
      { role: 'system', content: 's' },
      { role: 'user', content: 'a\nb' },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: 'd' }
    ]
  )
})

t.test('the first instruction moves to the front when no instruction is there', async t => {
  t.strictSame(v1([say('user', 'a'), say('system', 's'), say('user', 'b')]), [
    { role: 'system', content: 's' },
    { role: 'user', content: 'a\nb' }
  ])
})

t.test('adjacent messages of one role are joined and trimmed', async t => {
  t.strictSame(v1([say('user', 'a '), say('user', ' b'), say('assistant', 'c'), say('assistant', 'd\n')]), [
    { role: 'user', content: 'a \n b' },
    { role: 'assistant', content: 'c\nd' }
  ])
  t.strictSame(v1([say('user', ' alone ')]), [{ role: 'user', content: ' alone ' }])
})

t.test('parts of text are joined with a line feed, pieces of one text with nothing', async t => {
  const parts = user({ type: 'text', text: 'a' }, { type: 'text', text: 'b' })
  t.strictSame(v1([parts]), [{ role: 'user', content: 'a\nb' }])
  t.strictSame(v1([{ ...parts, form: 'pieces' }]), [{ role: 'user', content: 'ab' }])
})

t.test(
  'pieces stay one text with a call among them; only media between them separate them (decisions.md 60)',
  async t => {
    const text = (piece: string) => ({ type: 'text', text: piece }) as const
    const turn: NormalizedMessage = { ...assistant(text('Let me '), call('c1', 'a'), text('look.')), form: 'pieces' }
    t.match(v2([turn]), [{ content: [{ text: 'Let me look.' }, { function_call: { name: 'a' } }] }])
    const file = { type: 'file', source: { kind: 'file-id', fileId: 'f' }, path: 'p' } as const
    const mixed: NormalizedMessage = { ...user(text('a'), text('b'), file, text('c')), form: 'pieces' }
    t.match(v1([mixed]), [{ content: 'ab\nc', attachments: ['f'] }])
  }
)

t.test('a message without content is sent as an empty text', async t => {
  t.strictSame(v1([assistant(), say('user', 'x')]), [
    { role: 'assistant', content: '' },
    { role: 'user', content: 'x' }
  ])
  t.strictSame(v2([assistant()]), [{ role: 'assistant', content: [{ text: '' }] }])
})

t.test('an assistant turn of pieces is left out when it holds nothing that this wire can send', async t => {
  const signed: NormalizedMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: '', state: { content_compatible: { thoughtSignature: 's' } } }],
    form: 'pieces'
  }
  const messages = [say('user', 'a'), say('assistant', 'b'), signed, say('user', 'c')]
  t.strictSame(v1(messages), [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'c' }
  ])
})

t.test('reasoning of earlier turns is never sent (C1)', async t => {
  const messages = [assistant({ type: 'reasoning', text: 'secret' }, { type: 'text', text: 'a' })]
  for (const write of [v1, v2]) t.notMatch(JSON.stringify(write(messages)), /secret/)
})

t.test('a refusal is sent only when the message has no other text', async t => {
  t.strictSame(v1([assistant({ type: 'refusal', text: 'no' })]), [{ role: 'assistant', content: 'no' }])
  t.strictSame(v1([assistant({ type: 'refusal', text: 'no' }, { type: 'text', text: 'a' })]), [
    { role: 'assistant', content: 'a' }
  ])
})

t.test('two calls and their results: parts on v2, pairs on v1, in the order of the calls', async t => {
  const own = (callNumber: number) => writeToolCallId({ stateId: 'abc', name: undefined, callNumber, nonce: '' })
  const messages = [
    say('user', 'go'),
    assistant({ type: 'text', text: 'both' }, call(own(0), 'a', { x: 1 }), call(own(1), 'b')),
    tool(result(own(1), '{"k":2}')),
    tool(result(own(0), 'plain'))
  ]
  t.strictSame(v2(messages), [
    { role: 'user', content: [{ text: 'go' }] },
    {
      role: 'assistant',
      content: [
        { text: 'both' },
        { function_call: { name: 'a', arguments: { x: 1 } } },
        { function_call: { name: 'b', arguments: {} } }
      ],
      tools_state_id: 'abc'
    },
    {
      role: 'tool',
      content: [{ function_result: { name: 'a', result: { result: 'plain' } } }],
      tools_state_id: 'abc'
    },
    { role: 'tool', content: [{ function_result: { name: 'b', result: { k: 2 } } }], tools_state_id: 'abc' }
  ])
  t.strictSame(v1(messages), [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'both', function_call: { name: 'a', arguments: { x: 1 } } },
    { role: 'function', name: 'a', content: '{"result":"plain"}' },
    { role: 'assistant', content: '', function_call: { name: 'b', arguments: {} } },
    { role: 'function', name: 'b', content: '{"k":2}' }
  ])
})

t.test('calls that came in two upstream messages are sent back in two', async t => {
  const first = writeToolCallId({ stateId: 's-1', name: 'a', callNumber: 0, nonce: '' })
  const second = writeToolCallId({ stateId: 's-1', name: 'a', callNumber: 1, nonce: '' })
  const third = writeToolCallId({ stateId: 's-2', name: 'b', callNumber: 0, nonce: '' })
  const messages = [
    assistant(call(first, 'a'), call(second, 'a'), call(third, 'b')),
    tool(result(third, '3'), result(first, '1'), result(second, '2'))
  ]
  const names = (v2(messages) as JsonObject[]).map(message => [message.role, message.tools_state_id])
  t.strictSame(names, [
    ['assistant', 's-1'],
    ['tool', 's-1'],
    ['tool', 's-1'],
    ['assistant', 's-2'],
    ['tool', 's-2']
  ])
})

t.test('state ids are never sent on v1', async t => {
  const messages: NormalizedMessage[] = [
    {
      ...assistant(call('ts-9', 'a', {}, { state: { native: { toolStateId: 'ts-9' } } })),
      state: { native: { toolStateId: 'ts-9' } }
    },
    tool(result('ts-9', '1', { state: { native: { toolStateId: 'ts-9' } } }))
  ]
  t.notMatch(JSON.stringify(v1(messages)), /ts-9|state_id/)
  t.match(JSON.stringify(v2(messages)), /"tools_state_id":"ts-9"/)
})

t.test('a state id that the client keeps beside the call id is sent back (C3)', async t => {
  const state = { native: { toolStateId: stateId } }
  t.match(v2([assistant(call(null, 'a', {}, { state })), tool(result(null, '1', { name: 'a' }))]), [
    { tools_state_id: stateId },
    { tools_state_id: stateId }
  ])
  t.match(v2([assistant(call('call_x', 'a', {}, { state })), tool(result('call_x', '1'))]), [
    { tools_state_id: stateId },
    { tools_state_id: stateId }
  ])
})

t.test('an id of the gateway that the client keeps as its state id gives the state id in it, or none', async t => {
  const sent = (id: string) => {
    const state = { native: { toolStateId: id } }
    const messages = v2([assistant(call(id, 'a', {}, { state })), tool(result(id, 'x', { state }))])
    return (messages as JsonObject[]).map(message => message.tools_state_id)
  }
  const own = writeToolCallId({ stateId: 's-1', name: undefined, callNumber: 0, nonce: '' })
  t.same(sent(own), ['s-1', 's-1'])
  t.same(sent(own.slice(0, -2)), [undefined, undefined])
  t.same(sent(`fc_${own.slice(0, -2)}`), [undefined, undefined])
})

t.test('no state id is invented', async t => {
  const own = writeToolCallId({ stateId: undefined, name: 'a', callNumber: 0, nonce: 'n' })
  for (const id of [null, own, 'toolu_01']) {
    const messages = [assistant(call(id, 'a')), tool(result(id, '1', { name: 'a' }))]
    t.notMatch(JSON.stringify(v2(messages)), /state_id/)
  }
})

t.test('calls listed one by one are one turn, calls with results between them are several', async t => {
  const oneTurn = [
    assistant(call('c1', 'a')),
    assistant(call('c2', 'b')),
    tool(result('c1', '1')),
    tool(result('c2', '2'))
  ]
  t.equal((v2(oneTurn) as unknown[]).length, 3)
  const own = (state: string) => writeToolCallId({ stateId: state, name: undefined, callNumber: 0, nonce: '' })
  const twoTurns = [
    assistant(call(own('c1'), 'a')),
    tool(result(own('c1'), '1')),
    assistant(call(own('c2'), 'b')),
    tool(result(own('c2'), '2'))
  ]
  t.strictSame(
    (v2(twoTurns) as JsonObject[]).map(message => message.tools_state_id),
    ['c1', 'c1', 'c2', 'c2']
  )
})

t.test('a text message before a call message stays a message', async t => {
  t.strictSame(v1([say('assistant', 'wait'), assistant(call('c1', 'a')), tool(result('c1', '1'))]), [
    { role: 'assistant', content: 'wait' },
    { role: 'assistant', content: '', function_call: { name: 'a', arguments: {} } },
    { role: 'function', name: 'a', content: '{"result":1}' }
  ])
})

t.test('results are sent before the text of the same message, and none gets lost (B13)', async t => {
  const messages = [
    assistant(call('c1', 'a'), call('c2', 'b')),
    user({ type: 'text', text: 'then' }, result('c2', '2'), result('c1', '1'))
  ]
  t.strictSame(
    (v2(messages) as JsonObject[]).map(message => message.role),
    ['assistant', 'tool', 'tool', 'user']
  )
})

t.test('results are never merged, even without their calls', async t => {
  const messages = [tool(result('c1', '1', { name: 'a' })), tool(result('c2', '2', { name: 'a' }))]
  t.equal((v1(messages) as unknown[]).length, 2)
  t.strictSame(
    (v2(messages) as JsonObject[]).map(message => message.tools_state_id),
    [undefined, undefined]
  )
})

t.test('a result without its call takes name and state from the id that the gateway issued', async t => {
  const id = writeToolCallId({ stateId, name: 'order_status', callNumber: 0, nonce: '' })
  t.strictSame(v2([tool(result(id, '{"status":"packed"}'))]), [
    {
      role: 'tool',
      content: [{ function_result: { name: 'order_status', result: { status: 'packed' } } }],
      tools_state_id: stateId
    }
  ])
})

t.test('results without their calls are sent in the order of the calls, each upstream message by itself', async t => {
  const own = (state: string, callNumber: number) =>
    writeToolCallId({ stateId: state, name: 'weather', callNumber, nonce: '' })
  const sent = (...ids: string[]) => {
    const named = ids.map(id => result(id, id, { name: 'weather' }))
    type Sent = { content: [{ function_result: { result: { result: string } } }] }
    const messages = v2(named.map(part => tool(part))) as Sent[]
    t.strictSame(v2([tool(...named)]), messages, 'also as parts of one message')
    return messages.map(({ content }) => content[0].function_result.result.result)
  }
  const [first, second, third] = [own(stateId, 0), own(stateId, 1), own(stateId, 2)]
  t.strictSame(sent(third, first, second), [first, second, third])
  t.strictSame(sent(first, second, third), [first, second, third])
  const others = [own('s-2', 1), own('s-2', 0)] as const
  t.strictSame(sent(second, first, ...others), [first, second, others[1], others[0]])
  t.strictSame(sent('ts-3#1', 'ts-3'), ['ts-3#1', 'ts-3'], 'foreign ids tell no order (decisions.md 85)')
  t.strictSame(sent('b', 'a'), ['b', 'a'], 'ids that tell no order keep theirs')
})

t.test('a user message separates results that are sorted', async t => {
  const own = (callNumber: number) => writeToolCallId({ stateId, name: 'f', callNumber, nonce: '' })
  const messages = v2([tool(result(own(1), 'late')), say('user', 'and'), tool(result(own(0), 'early'))])
  t.match(messages, [
    { content: [{ function_result: { result: { result: 'late' } } }] },
    { role: 'user' },
    { content: [{ function_result: { result: { result: 'early' } } }] }
  ])
})

t.test('a result without a matching id belongs to the open call of its name, else to the oldest open call', async t => {
  const calls = assistant(call('c1', 'a'), call('c2', 'b'))
  const byName = v2([calls, tool(result(null, '2', { name: 'b' })), tool(result(null, '1', { name: 'a' }))])
  t.match(byName, [{}, { content: [{ function_result: { name: 'a', result: { result: 1 } } }] }])
  const byOrder = v2([calls, tool(result('unknown', '1')), tool(result('unknown', '2'))])
  t.match(byOrder, [
    {},
    { content: [{ function_result: { name: 'a' } }] },
    { content: [{ function_result: { name: 'b' } }] }
  ])
})

t.test('a repeated id belongs to the latest open call', async t => {
  const messages = [
    assistant(call('1', 'a')),
    tool(result('1', '"first"')),
    assistant(call('1', 'b')),
    tool(result('1', '"second"'))
  ]
  t.match(v1(messages), [
    { function_call: { name: 'a' } },
    { name: 'a', content: '{"result":"first"}' },
    { function_call: { name: 'b' } },
    { name: 'b', content: '{"result":"second"}' }
  ])
})

t.test('a result that repeats an id of its turn is sent once, in a later turn again (decisions.md 64)', async t => {
  const once = tool(result('1', '"x"'), result('1', '"x"'))
  const sent = v1([assistant(call('1', 'a')), once, tool(result('1', '"x"'))])
  t.match(sent, [{ function_call: { name: 'a' } }, { name: 'a', content: '{"result":"x"}' }])
  t.equal((sent as unknown[]).length, 2)
  const withoutCall = [tool(result('c', '1', { name: 'a' })), tool(result('c', '1', { name: 'a' }))]
  t.equal((v2(withoutCall) as unknown[]).length, 1)
  const later = [...withoutCall.slice(0, 1), say('user', 'go on'), ...withoutCall.slice(1)]
  t.equal((v2(later) as unknown[]).length, 3)
})

t.test(
  'a state id that stands only beside the result is sent on v2 with the call and the result (decisions.md 64)',
  async t => {
    const state = { native: { toolStateId: stateId } }
    const messages = [assistant(call('foreign_1', 'a')), tool(result('foreign_1', '1', { state }))]
    t.match(v2(messages), [{ tools_state_id: stateId }, { tools_state_id: stateId }])
    t.notMatch(JSON.stringify(v1(messages)), stateId)
  }
)

t.test('a result with neither a call nor a name is refused with its path (B9)', async t => {
  for (const write of [v1, v2]) {
    t.throws(() => write([say('user', 'a'), tool(result('call_x', '1'))]), {
      code: 'invalid_request',
      param: 'messages[9].tool_call_id'
    })
  }
})

t.test('calls without results are dropped when later turns follow (B8)', async t => {
  const messages = [
    say('user', 'a'),
    assistant({ type: 'text', text: 'hm' }, call('c1', 'f')),
    say('user', 'never mind'),
    assistant(call('c2', 'f')),
    say('user', 'again'),
    assistant(call('c3', 'f'), call('c4', 'g')),
    tool(result('c4', '1')),
    say('user', 'and')
  ]
  t.strictSame(v1(messages), [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'hm' },
    { role: 'user', content: 'never mind\nagain' },
    { role: 'assistant', content: '', function_call: { name: 'g', arguments: {} } },
    { role: 'function', name: 'g', content: '{"result":1}' },
    { role: 'user', content: 'and' }
  ])
  const written = nativeV2Face.writeChat(makeRequest({ messages }), target, plainOptions)
  t.equal(written.reading.droppedToolCalls, 3)
})

t.test('the count of dropped calls is reported when the response begins (B8)', async t => {
  const anomalies: unknown[] = []
  const reader = openReader(nativeV2Face, {
    reading: { droppedToolCalls: 3 },
    onAnomaly: (name, details) => anomalies.push([name, details])
  })
  reader.readBody(Buffer.from('{"messages":[],"finish_reason":"stop"}'))
  t.strictSame(anomalies, [['abandoned_tool_calls_dropped', { count: 3 }]])
})

t.test('calls of the last turn are sent without results', async t => {
  t.match(v2([say('user', 'a'), assistant(call('c1', 'f'))]), [{}, { content: [{ function_call: { name: 'f' } }] }])
})

t.test('a result is always an object on the wire', async t => {
  const cases: Array<[string, unknown]> = [
    ['', {}],
    ['  ', {}],
    ['plain', { result: 'plain' }],
    ['[1,2]', { result: [1, 2] }],
    ['7', { result: 7 }],
    ['true', { result: true }],
    ['null', { result: null }],
    ['{"k":1}', { k: 1 }],
    [JSON.stringify('{"k":1}'), { k: 1 }],
    [JSON.stringify(JSON.stringify('{"k":1}')), { k: 1 }],
    [JSON.stringify('text'), { result: 'text' }],
    ["{'k': 1}", { result: "{'k': 1}" }]
  ]
  for (const [text, object] of cases) {
    const messages = [assistant(call('c1', 'f')), tool(result('c1', text))]
    const [, v2Result] = v2(messages) as JsonObject[]
    t.strictSame(v2Result?.content, [{ function_result: { name: 'f', result: object } }], text)
    const [, v1Result] = v1(messages) as JsonObject[]
    t.strictSame(JSON.parse(String(v1Result?.content)), object, text)
  }
})

t.test('the digits of integers beyond 2^53 in arguments and results do not change', async t => {
  const text = '{"id":9007199254740993,"list":[-12345678901234567890]}'
  const parsed = JSON.parse(text) as JsonObject
  const sent = (content: string) => {
    const messages = [assistant(call('c', 'f', parsed, { argumentsText: text })), tool(result('c', content))]
    const [v1Messages, v2Messages] = [JSON.stringify(v1(messages)), JSON.stringify(v2(messages))]
    t.match(v1Messages, `"function_call":{"name":"f","arguments":${text}}`)
    t.match(v2Messages, `"function_call":{"name":"f","arguments":${text}}`)
    return { inText: JSON.parse(v1Messages)[1].content, asObject: v2Messages }
  }
  const cases: Array<[content: string, expected: string]> = [
    [text, text],
    [JSON.stringify(text), text],
    [`[${text}]`, `{"result":[${text}]}`],
    ['9007199254740993', '{"result":9007199254740993}']
  ]
  for (const [content, expected] of cases) {
    const { inText, asObject } = sent(content)
    t.equal(inText, expected)
    t.match(asObject, `"result":${expected}}`)
  }
  const failed = tool(result('c', text, { isError: true }))
  t.match(JSON.stringify(v2([assistant(call('c', 'f')), failed])), `"result":{"error":${text},"is_error":true}`)
})

t.test('the JSON text of an object is sent unchanged on v1', async t => {
  const text = '{ "big": 12345678901234567890 }'
  t.match(v1([assistant(call('c1', 'f')), tool(result('c1', text))]), [{}, { content: text }])
})

t.test('parts of a result are joined, and a failed result has the member is_error', async t => {
  const parts: ContentPart[] = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' }
  ]
  const joined = v2([assistant(call('c1', 'f')), tool(result('c1', '', { content: parts }))])
  t.match(joined, [{}, { content: [{ function_result: { result: { result: 'a\nb' } } }] }])
  const failed = (text: string) =>
    (v2([assistant(call('c1', 'f')), tool(result('c1', text, { isError: true }))]) as JsonObject[])[1]?.content
  t.match(failed('boom'), [{ function_result: { result: { error: 'boom', is_error: true } } }])
  t.match(failed('{"code":1}'), [{ function_result: { result: { error: { code: 1 }, is_error: true } } }])
  t.match(failed(''), [{ function_result: { result: { error: '', is_error: true } } }])
})

t.test('three turns keep the state id of the upstream, streaming and not (C3)', async t => {
  const body = Buffer.from(
    JSON.stringify({
      messages: [
        { role: 'assistant', tool_state_id: stateId, content: [{ function_call: { name: 'f', arguments: { a: 1 } } }] }
      ],
      finish_reason: 'function_call'
    })
  )
  const whole = openReader(nativeV2Face).readBody(body)
  const reader = openReader(nativeV2Face)
  const streamed = [...reader.push(Buffer.from(`data: ${body}\n\n`)), ...reader.end()]
  for (const events of [whole, streamed]) {
    const start = events.find(event => event.type === 'tool-call-start')
    const id = start?.type === 'tool-call-start' ? start.id : ''
    t.match(v2([assistant(call(id, 'f', { a: 1 })), tool(result(id, '1')), say('user', 'go on')]), [
      { tools_state_id: stateId },
      { tools_state_id: stateId },
      { role: 'user' }
    ])
  }
})

t.test('the time for a long history grows linearly', async t => {
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index))
  const histories: Record<string, (count: number) => NormalizedMessage[]> = {
    'calls and results in turn': count =>
      numbers(count).flatMap(id => [assistant(call(id, 'f')), tool(result(id, 'r'))]),
    'all calls, then all results': count => [
      ...numbers(count).map(id => assistant(call(id, 'f'))),
      ...numbers(count).map(id => tool(result(id, 'r')))
    ],
    'one id for all': count => [
      ...numbers(count).map(() => assistant(call('same', 'f'))),
      ...numbers(count).map(() => tool(result('same', 'r')))
    ],
    'results without ids': count => [
      ...numbers(count).map(id => assistant(call(null, `f${id}`))),
      ...numbers(count)
        .toReversed()
        .map(id => tool(result(null, 'r', { name: `f${id}` })))
    ],
    'texts of one role': count => numbers(count).map(() => say('user', 'some words'))
  }
  for (const [name, write] of Object.entries(histories)) {
    const growth = measureGrowth(500, count => {
      const messages = write(count)
      return () => v1(messages)
    })
    t.ok(growth < LINEAR_GROWTH_MAX, `${name}: ${growth.toFixed(1)} times as long`)
  }
})
