import t from 'tap'
import type { JsonObject, JsonValue } from '../../../../../worker/normalized/index.ts'
import { failure, read, refusedAt } from './support.ts'

const readOne = (message: JsonObject) => read({ messages: [message] }).messages[0]
const refusedPart = (part: JsonValue) => refusedAt({ messages: [{ role: 'user', content: [part] }] })

t.test('completions 13: missing, empty or wrongly typed messages are refused', async t => {
  for (const messages of [undefined, null, 'hi', {}, []]) {
    t.strictSame(
      failure(() => read({ messages })),
      { code: 'invalid_request', param: 'messages', status: 400 }
    )
  }
  t.equal(refusedAt({ messages: [{ role: 'user' }, 'hi'] }), 'messages[1]')
})

t.test('a message needs a role', async t => {
  for (const role of [undefined, null, '', 3])
    t.equal(refusedAt({ messages: [{ role, content: 'x' }] }), 'messages[0].role')
})

t.test('every role is read, and a role without a normalized counterpart is also kept as sent', async t => {
  const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function', 'critic']
  const { messages } = read({ messages: roles.map(role => ({ role, content: 'x', name: 'n' })) })
  t.strictSame(
    messages.map(message => [message.role, message.sentRole]),
    [
      ['system', undefined],
      ['developer', undefined],
      ['user', undefined],
      ['assistant', undefined],
      ['tool', undefined],
      ['tool', 'function'],
      ['user', 'critic']
    ]
  )
})

t.test('the form of the content is kept: a string, null or absent', async t => {
  t.strictSame(readOne({ role: 'user', content: '', name: 'n' }), {
    role: 'user',
    content: [{ type: 'text', text: '' }],
    form: 'text',
    name: 'n'
  })
  t.strictSame(readOne({ role: 'assistant', content: null }), { role: 'assistant', content: [], form: 'null' })
  t.strictSame(readOne({ role: 'assistant' }), { role: 'assistant', content: [], form: 'absent' })
  t.equal(refusedAt({ messages: [{ role: 'user', content: 3 }] }), 'messages[0].content')
})

t.test('parts are read in order, each in its own form', async t => {
  const message = readOne({
    role: 'user',
    content: [
      { type: 'text', text: 'see' },
      { type: 'image_url', image_url: { url: 'https://example.test/a.png', detail: 'low' } },
      { type: 'image_url', image_url: 'data:image/png;base64,AAEC' },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAEC' } },
      { type: 'file', file: { file_id: 'f1' } },
      { type: 'input_audio', input_audio: { data: 'AAEC', format: 'WAV' } },
      { type: 'refusal', refusal: 'no' }
    ]
  })
  t.strictSame(message, {
    role: 'user',
    content: [
      { type: 'text', text: 'see' },
      {
        type: 'image',
        source: { kind: 'url', url: 'https://example.test/a.png' },
        path: 'messages[0].content[1]',
        detail: 'low'
      },
      {
        type: 'image',
        source: { kind: 'bytes', mediaType: 'image/png', base64: 'AAEC' },
        path: 'messages[0].content[2]'
      },
      {
        type: 'file',
        source: { kind: 'bytes', mediaType: 'application/pdf', base64: 'AAEC' },
        path: 'messages[0].content[3]',
        filename: 'a.pdf'
      },
      { type: 'file', source: { kind: 'file-id', fileId: 'f1' }, path: 'messages[0].content[4]' },
      {
        type: 'file',
        source: { kind: 'bytes', mediaType: 'audio/wav', base64: 'AAEC' },
        path: 'messages[0].content[5]'
      },
      { type: 'refusal', text: 'no' }
    ]
  })
})

t.test('the data of a file may be bare base64, whose type follows from the file name', async t => {
  const file = { filename: 'a.pdf', file_data: 'AAEC' }
  t.match(readOne({ role: 'user', content: [{ type: 'file', file }] })?.content, [
    { type: 'file', source: { kind: 'bytes', mediaType: '', base64: 'AAEC' }, filename: 'a.pdf' }
  ])
})

t.test('a part that cannot be read is refused with its path', async t => {
  const part = 'messages[0].content[0]'
  t.equal(refusedPart('text'), part)
  t.equal(refusedPart({ type: 'video', video: {} }), `${part}.type`)
  t.equal(refusedPart({ text: 'no type' }), `${part}.type`)
  t.equal(refusedPart({ type: 'text' }), `${part}.text`)
  t.equal(refusedPart({ type: 'refusal', refusal: null }), `${part}.refusal`)
  t.equal(refusedPart({ type: 'image_url' }), `${part}.image_url`)
  t.equal(refusedPart({ type: 'image_url', image_url: {} }), `${part}.image_url.url`)
  t.equal(refusedPart({ type: 'image_url', image_url: { url: '' } }), `${part}.image_url.url`)
  t.equal(refusedPart({ type: 'file', file: {} }), `${part}.file.file_data`)
  t.equal(refusedPart({ type: 'input_audio', input_audio: { data: 'AAEC' } }), `${part}.input_audio.format`)
  t.equal(refusedPart({ type: 'input_audio', input_audio: { format: 'wav' } }), `${part}.input_audio.data`)
})

t.test('several calls of one message keep their order, ids and argument text', async t => {
  const message = readOne({
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x": 1}' } },
      { id: 'b', type: 'function', function: { name: 'f', arguments: '' } },
      { id: 'c', type: 'function', function: { name: 'g', arguments: { y: 2 } } }
    ]
  })
  t.strictSame(message, {
    role: 'assistant',
    content: [
      { type: 'tool-call', id: 'a', name: 'f', arguments: { x: 1 }, argumentsText: '{"x": 1}' },
      { type: 'tool-call', id: 'b', name: 'f', arguments: {} },
      { type: 'tool-call', id: 'c', name: 'g', arguments: { y: 2 } }
    ],
    form: 'null'
  })
})

t.test('completions 37: call arguments that are not a JSON object are kept as their text (B12)', async t => {
  for (const text of ['not json', '[1]', 'null']) {
    const message = readOne({ role: 'assistant', tool_calls: [{ id: 'b', function: { name: 'f', arguments: text } }] })
    t.match(message?.content, [{ arguments: { arguments: text }, argumentsText: text }])
  }
})

t.test('a call without a function name is refused', async t => {
  const refusedCall = (call: JsonValue) => refusedAt({ messages: [{ role: 'assistant', tool_calls: [call] }] })
  t.equal(refusedCall('f'), 'messages[0].tool_calls[0]')
  t.equal(refusedCall({ id: 'a', type: 'other', other: { name: 'f' } }), 'messages[0].tool_calls[0].function')
  t.equal(refusedCall({ function: { arguments: '{}' } }), 'messages[0].tool_calls[0].function.name')
  t.equal(refusedAt({ messages: [{ role: 'assistant', tool_calls: {} }] }), 'messages[0].tool_calls')
})

t.test('the call of a custom tool is that of the function of its input (decisions.md 77)', async t => {
  const input = '*** Begin Patch\n"x"'
  const custom = { id: 'c', type: 'custom', custom: { name: 'patch', input } }
  const assistant = (call: JsonObject) => ({ role: 'assistant', content: null, tool_calls: [call] })
  const { messages } = read({ messages: [assistant(custom), { role: 'tool', tool_call_id: 'c', content: 'done' }] })
  t.match(messages, [
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', id: 'c', name: 'patch', arguments: { input }, argumentsText: JSON.stringify({ input }) }
      ]
    },
    { role: 'tool', content: [{ type: 'tool-result', callId: 'c', content: [{ type: 'text', text: 'done' }] }] }
  ])
  const flat = read({ messages: [assistant({ id: 'c', type: 'custom', name: 'patch' })] })
  t.match(flat.messages, [{ content: [{ name: 'patch', argumentsText: '{"input":""}' }] }])
  const path = 'messages[0].tool_calls[0].custom'
  t.equal(refusedAt({ messages: [assistant({ ...custom, custom: { input } })] }), `${path}.name`)
  t.equal(refusedAt({ messages: [assistant({ ...custom, custom: { name: 'p', input: 5 } })] }), `${path}.input`)
})

t.test('the id of a call is read from the first member that has one', async t => {
  const members = [
    'tool_call_id',
    'tools_state_id',
    'tool_state_id',
    'functions_state_id',
    'function_state_id',
    'call_id',
    'id'
  ]
  for (const [index, member] of members.entries()) {
    const ids = Object.fromEntries(members.slice(index).map(name => [name, name]))
    const call = readOne({ role: 'assistant', tool_calls: [{ ...ids, function: { name: 'f' } }] })?.content[0]
    t.match(call, { type: 'tool-call', id: member })
    t.match(readOne({ role: 'tool', ...ids, content: '' })?.content[0], { type: 'tool-result', callId: member })
  }
  t.match(readOne({ role: 'assistant', tool_calls: [{ function: { name: 'f' } }] })?.content[0], { id: null })
})

t.test('the id of a legacy call is the state id next to it, or null', async t => {
  const legacy = { name: 'f', arguments: '{"x":1}' }
  const call = { type: 'tool-call', name: 'f', arguments: { x: 1 }, argumentsText: '{"x":1}' }
  const plain = readOne({ role: 'assistant', id: 'msg_1', content: null, function_call: legacy })
  t.strictSame(plain?.content, [{ ...call, id: null }])
  const withState = readOne({ role: 'assistant', functions_state_id: 's', content: null, function_call: legacy })
  t.strictSame(withState?.content, [{ ...call, id: 's', state: { native: { toolStateId: 's' } } }])
  const part = readOne({ role: 'assistant', content: [{ type: 'text', text: 'a' }, { function_call: legacy }] })
  t.strictSame(part?.content, [
    { type: 'text', text: 'a' },
    { ...call, id: null }
  ])
  const broken = readOne({ role: 'assistant', function_call: { name: 'f', arguments: '[' } })
  t.match(broken?.content, [{ arguments: { arguments: '[' }, argumentsText: '[' }])
})

t.test('a call that a message has in both forms is read once', async t => {
  const message = readOne({
    role: 'assistant',
    tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }],
    function_call: { name: 'f', arguments: '{}' }
  })
  t.equal(message?.content.length, 1)
})

t.test('calls in a message of any role except assistant are refused', async t => {
  const call = { id: 'a', function: { name: 'f', arguments: '{}' } }
  t.equal(refusedAt({ messages: [{ role: 'user', tool_calls: [call] }] }), 'messages[0].tool_calls')
  t.equal(refusedAt({ messages: [{ role: 'user', function_call: { name: 'f' } }] }), 'messages[0].function_call')
  t.equal(
    refusedAt({ messages: [{ role: 'user', content: [{ function_call: { name: 'f' } }] }] }),
    'messages[0].content[0]'
  )
  t.ok(readOne({ role: 'user', content: 'x', tool_calls: [], function_call: null }), 'empty members have no effect')
})

t.test('a tool result keeps its call id, name and content, and the path of its call id', async t => {
  const result = { type: 'tool-result', isError: false, path: 'messages[0].tool_call_id' }
  t.strictSame(readOne({ role: 'tool', tool_call_id: 'a', content: '{"k":1}' }), {
    role: 'tool',
    content: [{ ...result, callId: 'a', content: [{ type: 'text', text: '{"k":1}' }] }],
    form: 'text'
  })
  t.strictSame(readOne({ role: 'function', name: 'f', content: null }), {
    role: 'tool',
    content: [{ ...result, callId: null, content: [], name: 'f' }],
    sentRole: 'function',
    form: 'null'
  })
  const parts = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' }
  ]
  t.strictSame(readOne({ role: 'tool', tool_call_id: 'a', content: parts }), {
    role: 'tool',
    content: [{ ...result, callId: 'a', content: parts }]
  })
})

t.test('a refusal and the repeated reasoning of the assistant become separate parts (C1)', async t => {
  const message = readOne({
    role: 'assistant',
    content: 'a',
    refusal: 'no',
    reasoning_content: 'hm',
    audio: { id: 'x' }
  })
  t.strictSame(message?.content, [
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'a' },
    { type: 'refusal', text: 'no' }
  ])
  t.strictSame(readOne({ role: 'assistant', content: 'a', refusal: null, reasoning_content: null })?.content, [
    { type: 'text', text: 'a' }
  ])
})
