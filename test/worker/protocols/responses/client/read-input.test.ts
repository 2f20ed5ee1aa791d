import t from 'tap'
import type { JsonObject, JsonValue, NormalizedMessage } from '../../../../../worker/normalized/index.ts'
import { writeToolCallId } from '../../../../../worker/normalized/index.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../../support/growth.ts'
import { failure, read, refusedAt } from './support.ts'

const messages = (input: JsonValue, body: JsonObject = {}): NormalizedMessage[] => read({ ...body, input }).messages
const part = (content: JsonValue) => messages([{ role: 'user', content: [content] }])[0]?.content[0]

t.test('a string input is a user message, even an empty string', async t => {
  t.strictSame(messages('x'), [{ role: 'user', content: [{ type: 'text', text: 'x' }], form: 'text' }])
  t.strictSame(messages(''), [{ role: 'user', content: [{ type: 'text', text: '' }], form: 'text' }])
})

t.test('instructions are the first message, and null or absent instructions give none', async t => {
  const input = [
    { role: 'developer', content: 'also' },
    { role: 'user', content: 'x' }
  ]
  t.strictSame(
    messages(input, { instructions: 'be' }).map(({ role }) => role),
    ['system', 'developer', 'user']
  )
  for (const instructions of [null, '']) t.equal(messages('x', { instructions }).length, 1)
  t.equal(refusedAt({ instructions: ['be'] }), 'instructions')
})

t.test('responses 7: a missing input is refused', async t => {
  for (const input of [undefined, null, 3, {}]) {
    t.strictSame(
      failure(() => read({ input: input as JsonValue, previous_response_id: 'resp_th' })),
      { code: 'invalid_request', param: 'input', status: 400 }
    )
  }
})

t.test('responses 8: an empty input is refused, unless there are instructions or a stored conversation', async t => {
  t.equal(refusedAt({ input: [] }), 'input')
  t.equal(refusedAt({ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }), 'input')
  t.equal(messages([], { instructions: 'be' }).length, 1)
  t.equal(messages([], { previous_response_id: 'resp_th' }).length, 0)
})

t.test('roles are kept, and an unknown role is read as user with its sent role', async t => {
  const sent = ['system', 'developer', 'user', 'assistant', 'critic']
  t.strictSame(
    messages(sent.map(role => ({ role, content: 'x' }))).map(({ role, sentRole }) => sentRole ?? role),
    sent
  )
  t.equal(messages([{ role: 'critic', content: 'x' }])[0]?.role, 'user')
})

t.test('a message needs a role, and items without one are skipped', async t => {
  t.equal(refusedAt({ input: [{ type: 'message', content: 'x' }] }), 'input[0].role')
  t.equal(refusedAt({ input: [{ content: 'x' }] }), 'input[0].role')
  t.equal(refusedAt({ input: [{ role: '', content: 'x' }] }), 'input[0].role')
  t.equal(refusedAt({ input: ['x'] }), 'input[0]')
  t.equal(refusedAt({ input: [{ type: 3 }] }), 'input[0].type')
})

t.test('responses 43: items without a use for the upstream are skipped, and their types are reported (C1)', async t => {
  const request = read({
    input: [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'secret' }], encrypted_content: 'e' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: null },
      { type: 'additional_tools', role: 'developer', tools: [] },
      { type: 'message', role: 'user', content: 'x' }
    ]
  })
  t.strictSame(request.messages, [{ role: 'user', content: [{ type: 'text', text: 'x' }], form: 'text' }])
  t.strictSame(request.ignored.input, ['reasoning', 'web_search_call', 'image_generation_call'])
})

t.test('responses 43: a reference to an item is refused, with or without its type', async t => {
  for (const type of [undefined, null, 'item_reference']) {
    const reference = type === undefined ? { id: 'msg_1' } : { type, id: 'msg_1' }
    t.strictSame(
      failure(() => read({ input: ['x', reference].slice(1) })),
      { code: 'invalid_request', param: 'input[0].id', status: 400 }
    )
  }
  t.equal(refusedAt({ input: [{ role: 'user', content: 'x' }, {}] }), 'input[1].id')
})

t.test('input texts, output texts and refusals are read (F6)', async t => {
  t.strictSame(part({ type: 'input_text', text: 'x' }), { type: 'text', text: 'x' })
  t.strictSame(part({ type: 'output_text', text: '', annotations: [] }), { type: 'text', text: '' })
  t.strictSame(part({ type: 'text', text: 'x' }), { type: 'text', text: 'x' })
  t.strictSame(part({ type: 'refusal', refusal: 'no' }), { type: 'refusal', text: 'no' })
  const at = (content: JsonValue) => refusedAt({ input: [{ role: 'user', content }] })
  t.equal(at(3), 'input[0].content')
  t.equal(at(['x']), 'input[0].content[0]')
  t.equal(at([{ type: 'input_text' }]), 'input[0].content[0].text')
  t.equal(at([{ type: 'tool_use' }]), 'input[0].content[0].type')
})

t.test('images are read as a URL, as data or as a file id', async t => {
  const path = 'input[0].content[0]'
  t.strictSame(part({ type: 'input_image', image_url: 'https://example.test/a.png', detail: 'auto' }), {
    type: 'image',
    source: { kind: 'url', url: 'https://example.test/a.png' },
    path,
    member: 'image_url',
    detail: 'auto'
  })
  t.match(part({ type: 'input_image', image_url: 'data:image/png;base64,AAEC' }), {
    source: { kind: 'bytes', mediaType: 'image/png', base64: 'AAEC' }
  })
  t.match(part({ type: 'input_image', file_id: 'f1', image_url: null }), { source: { kind: 'file-id', fileId: 'f1' } })
  t.equal(refusedAt({ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }), `${path}.image_url`)
})

t.test('files are read as data, as a URL or as an id, and bare base64 has the type of its file name', async t => {
  const source = (file: JsonObject) => {
    const read = part({ type: 'input_file', filename: 'a.pdf', ...file })
    return read?.type === 'file' ? read.source : undefined
  }
  t.strictSame(source({ file_data: 'data:application/pdf;base64,AAEC' }), {
    kind: 'bytes',
    mediaType: 'application/pdf',
    base64: 'AAEC'
  })
  t.strictSame(source({ file_data: 'AAEC' }), { kind: 'bytes', mediaType: '', base64: 'AAEC' })
  t.strictSame(source({ file_url: 'https://example.test/a.pdf' }), { kind: 'url', url: 'https://example.test/a.pdf' })
  t.strictSame(source({ file_id: 'f1', file_data: 'AAEC' }), { kind: 'file-id', fileId: 'f1' })
  t.equal(refusedAt({ input: [{ role: 'user', content: [{ type: 'input_file' }] }] }), 'input[0].content[0].file_data')
  t.match(part({ type: 'input_audio', input_audio: { data: 'AAEC', format: 'MP3' } }), {
    type: 'file',
    source: { kind: 'bytes', mediaType: 'audio/mp3', base64: 'AAEC' },
    member: 'input_audio'
  })
})

const call = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'weather',
  arguments: '{"city":"Omsk"}',
  ...more
})
const output = (id: string | null, more: JsonObject = {}): JsonObject => ({
  type: 'function_call_output',
  call_id: id,
  output: 'cold',
  ...more
})

t.test('a call and its output are read with their ids, arguments and path', async t => {
  t.strictSame(messages([call('st1'), output('st1')]), [
    {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          id: 'st1',
          name: 'weather',
          arguments: { city: 'Omsk' },
          argumentsText: '{"city":"Omsk"}'
        }
      ]
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          callId: 'st1',
          content: [{ type: 'text', text: 'cold' }],
          isError: false,
          path: 'input[1].call_id'
        }
      ]
    }
  ])
})

t.test(
  'calls of one turn are one message with the text before them, also when items between them are skipped',
  async t => {
    const read = messages([
      { role: 'user', content: 'weather?' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One moment.' }] },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      call('a'),
      call('b'),
      output('a'),
      output('b'),
      call('c')
    ])
    t.strictSame(
      read.map(({ role, content }) => [role, ...content.map(({ type }) => type)].join(' ')),
      ['user text', 'assistant text tool-call tool-call', 'tool tool-result', 'tool tool-result', 'assistant tool-call']
    )
  }
)

t.test('the state id of a call is read from the first member that holds one', async t => {
  const own = writeToolCallId({ stateId: 'ts-1', name: 'weather', callNumber: 0, nonce: 'n' })
  const stateless = writeToolCallId({ stateId: undefined, name: 'weather', callNumber: 0, nonce: 'n' })
  const state = (item: JsonObject) => {
    const read = messages([{ type: 'function_call', name: 'f', ...item }])[0]?.content[0]
    return read?.type === 'tool-call' ? [read.id, read.state?.native?.toolStateId] : undefined
  }
  t.strictSame(state({ id: 'fc_x', call_id: 'call_y' }), ['call_y', undefined])
  t.strictSame(state({ id: 'fc_x', call_id: 'y', tool_state_id: 'z' }), ['y', 'z'])
  t.strictSame(state({ call_id: 'call_y#2' }), ['call_y#2', undefined])
  t.strictSame(state({ id: `fc_${own}`, call_id: own }), [own, 'ts-1'])
  t.strictSame(state({ id: `fc_${stateless}`, call_id: stateless }), [stateless, undefined])
  t.strictSame(state({ call_id: 'call_gw_broken' }), ['call_gw_broken', undefined])
  t.strictSame(state({ id: 'fc_call_gw_broken', call_id: 'call_gw_broken' }), ['call_gw_broken', undefined])
  const issued = 'call_gw_4f0c2a7e-1111-4222-8333-444455556666'
  t.strictSame(state({ id: 'fc_1', call_id: issued }), [issued, undefined], 'an id of the client is no state id')
  t.strictSame(state({ id: 'fc_1', call_id: issued, tools_state_id: 's' }), [issued, 's'])
  t.strictSame(state({ id: `fc_${own}`, call_id: 'call_gw_broken' }), ['call_gw_broken', 'ts-1'])
  t.strictSame(state({ id: 'fc_1', call_id: own }), [own, 'ts-1'])
  t.strictSame(state({ tools_state_id: 'z' }), ['z', 'z'])
  t.strictSame(state({}), [null, undefined])
})

t.test('arguments may be empty or an object, and a call without a name is refused (B12)', async t => {
  const args = (value: JsonValue) => messages([call('a', { arguments: value })])[0]?.content[0]
  t.match(args(''), { arguments: {} })
  t.match(args({ a: 1 }), { arguments: { a: 1 } })
  t.equal(refusedAt({ input: [call('a', { arguments: 3 })] }), 'input[0].arguments')
  t.equal(refusedAt({ input: [call('a', { name: '' })] }), 'input[0].name')
})

/** The messages as their roles and parts; a call as its id and arguments. */
const outline = (input: JsonValue) =>
  messages(input).map(({ role, content }) => [
    role,
    ...content.map(part => (part.type === 'tool-call' ? `${part.id} ${JSON.stringify(part.arguments)}` : part.type))
  ])

const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One moment.' }] }
const question = { role: 'user', content: 'weather?' }

t.test('responses 41: a cut call keeps its text with a result, and is left out without one', async t => {
  for (const [cut, kept] of [
    [{ arguments: '{"ci' }, '{"arguments":"{\\"ci"}'],
    [{ arguments: '[1]' }, '{"arguments":"[1]"}'],
    [{ status: 'incomplete' }, '{"city":"Omsk"}']
  ] as const) {
    t.strictSame(outline([question, said, call('a', cut), output('a')]), [
      ['user', 'text'],
      ['assistant', 'text', `a ${kept}`],
      ['tool', 'tool-result']
    ])
    t.strictSame(outline([question, said, call('a', cut)]), [
      ['user', 'text'],
      ['assistant', 'text']
    ])
    t.strictSame(outline([question, call('a', cut), call('b'), output('b'), question]), [
      ['user', 'text'],
      ['assistant', 'b {"city":"Omsk"}'],
      ['tool', 'tool-result'],
      ['user', 'text']
    ])
    t.strictSame(outline([question, call('a', cut), question]), [
      ['user', 'text'],
      ['user', 'text']
    ])
  }
  t.strictSame(read({ input: [question, call('a', { arguments: '{' })] }).ignored, { input: ['function_call'] })
  t.equal(refusedAt({ input: [call('a', { arguments: '{' })] }), 'input', 'nothing is left')
})

t.test('a result without an id belongs to the oldest call without a result, also when that one is cut', async t => {
  const cut = call('a', { arguments: '{' })
  t.strictSame(outline([cut, call('b'), output(null), output('b')]), [
    ['assistant', 'a {"arguments":"{"}', 'b {"city":"Omsk"}'],
    ['tool', 'tool-result'],
    ['tool', 'tool-result']
  ])
  t.strictSame(outline([cut, call('b', { name: 'time' }), output(null, { name: 'time' })]), [
    ['assistant', 'b {"city":"Omsk"}'],
    ['tool', 'tool-result']
  ])
})

t.test('the time for calls without results grows with their number only', async t => {
  const growth = measureGrowth(2_000, size => {
    const calls = Array.from({ length: size }, () => call('a', { call_id: null, arguments: '{' }))
    const input = [...calls, ...calls.map(() => output(null))]
    return () => read({ input })
  })
  t.ok(growth < LINEAR_GROWTH_MAX, `${growth}`)
})

t.test('of calls with one id, a result belongs to the latest', async t => {
  t.strictSame(outline([call('a', { arguments: '{' }), call('a'), output('a')]), [
    ['assistant', 'a {"city":"Omsk"}'],
    ['tool', 'tool-result']
  ])
})

t.test(
  'an output is a string, an array of parts or an object, which is read as its JSON (decisions.md 64)',
  async t => {
    const content = (value: JsonValue | undefined) => {
      const read = messages([call('a'), output('a', { output: value })])[1]?.content[0]
      return read?.type === 'tool-result' ? read.content : undefined
    }
    t.strictSame(content([{ type: 'input_text', text: 'T' }]), [{ type: 'text', text: 'T' }])
    t.strictSame(content(null), [])
    t.match(content([{ type: 'input_image', file_id: 'f1' }]), [{ type: 'image', path: 'input[1].output[0]' }])
    t.strictSame(content({ a: 1 }), [{ type: 'text', text: '{"a":1}' }])
    t.equal(refusedAt({ input: [output('a', { output: 1 })] }), 'input[0].output')
  }
)

t.test(
  'a result without a call gets the name of the only declared function, and no name when several are declared',
  async t => {
    const name = (body: JsonObject, item = output('th-1')) => {
      const read = messages([item], { previous_response_id: 'resp_th', ...body })[0]?.content[0]
      return read?.type === 'tool-result' ? read.name : undefined
    }
    const f = { type: 'function', name: 'f' }
    t.equal(name({ tools: [f] }), 'f')
    t.equal(name({ tools: [f, { type: 'web_search' }] }), 'f')
    t.equal(name({ tools: [{ type: 'namespace', name: 'ns', tools: [f] }] }), 'ns__f')
    t.equal(name({ tools: [f, { type: 'function', name: 'g' }] }), undefined)
    t.equal(name({}), undefined)
    t.equal(name({ tools: [f] }, output('th-1', { name: 'g', namespace: 'ns' })), 'ns__g')
  }
)

t.test('a result with a known call, or after a call without a result, gets no name', async t => {
  const tools = [{ type: 'function', name: 'f' }]
  const names = (input: JsonValue) =>
    messages(input, { tools }).flatMap(({ content }) =>
      content.flatMap(part => (part.type === 'tool-result' ? [part.name] : []))
    )
  t.strictSame(names([call('a'), output('a')]), [undefined])
  t.strictSame(names([call('a'), output('other')]), [undefined])
  t.strictSame(names([call('a'), output('a'), output('other')]), [undefined, 'f'])
})

t.test('the call of a custom tool is that of the function of its input (decisions.md 77)', async t => {
  const input = '*** Begin Patch\n"x"'
  const call = { type: 'custom_tool_call', id: 'ctc_c', call_id: 'c', name: 'patch', input, status: 'completed' }
  const output = { type: 'custom_tool_call_output', call_id: 'c', output: 'done' }
  const chatCall = { id: 'c', type: 'custom', custom: { name: 'patch', input } }
  for (const items of [
    [call, output],
    [
      { role: 'assistant', content: null, tool_calls: [chatCall] },
      { role: 'tool', tool_call_id: 'c', content: 'done' }
    ]
  ]) {
    const turn = messages([{ role: 'user', content: 'go' }, ...items]).slice(1)
    t.match(turn, [
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', id: 'c', name: 'patch', arguments: { input }, argumentsText: JSON.stringify({ input }) }
        ]
      },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c', content: [{ type: 'text', text: 'done' }] }] }
    ])
    t.equal(turn.length, 2)
  }
  t.match(messages([{ ...call, namespace: 'ns' }, output]), [{ content: [{ name: 'patch', namespace: 'ns' }] }, {}])
  const parts = [
    { type: 'input_text', text: 'a' },
    { type: 'input_text', text: 'b' }
  ]
  t.match(messages([call, { ...output, output: parts }])[1], { content: [{ content: [{ text: 'a' }, { text: 'b' }] }] })
  t.equal(refusedAt({ input: [{ ...call, input: 5 }] }), 'input[0].input')
  t.equal(refusedAt({ input: [{ ...call, name: undefined }] }), 'input[0].name')
  t.strictSame(
    messages([
      { role: 'user', content: 'go' },
      { ...call, status: 'incomplete' }
    ]).length,
    1,
    'a cut call'
  )
})

t.test('calls of an assistant message in the form of chat completions are read', async t => {
  const chatCall = (id: string, args: JsonValue) => ({ id, type: 'function', function: { name: 'f', arguments: args } })
  const read = messages([
    { role: 'assistant', content: null, tool_calls: [chatCall('a', '{"a":1}'), chatCall('b', '{')] },
    { role: 'tool', tool_call_id: 'a', content: 'one' },
    { role: 'assistant', content: 'old', function_call: { name: 'g', arguments: '{}' }, functions_state_id: 's' },
    { role: 'function', name: 'g', content: 'two' }
  ])
  t.strictSame(
    read.map(({ role, content }) => [role, ...content.map(({ type }) => type)].join(' ')),
    ['assistant tool-call', 'tool tool-result', 'assistant text tool-call', 'tool tool-result']
  )
  t.match(read[0]?.content[0], { id: 'a', name: 'f', arguments: { a: 1 }, argumentsText: '{"a":1}' })
  t.match(read[2]?.content[1], { id: 's', name: 'g', arguments: {}, state: { native: { toolStateId: 's' } } })
  const at = (member: JsonObject) => refusedAt({ input: [{ role: 'assistant', content: 'x', ...member }] })
  t.equal(at({ tool_calls: {} }), 'input[0].tool_calls')
  t.equal(at({ tool_calls: ['x'] }), 'input[0].tool_calls[0]')
  t.equal(at({ tool_calls: [{ id: 'a' }] }), 'input[0].tool_calls[0].function')
  t.equal(at({ tool_calls: [chatCall('a', 3)] }), 'input[0].tool_calls[0].function.arguments')
  t.equal(at({ function_call: { arguments: '{}' } }), 'input[0].function_call.name')
})

t.test('tool messages in the form of chat completions are read as results', async t => {
  t.match(messages([call('a'), { role: 'tool', tool_call_id: 'a', content: 'cold' }])[1], {
    role: 'tool',
    content: [{ type: 'tool-result', callId: 'a', path: 'input[1].tool_call_id', content: [{ text: 'cold' }] }]
  })
  t.match(messages([call('a'), { role: 'function', name: 'weather', content: 'cold' }])[1], {
    role: 'tool',
    content: [{ type: 'tool-result', callId: null, name: 'weather' }]
  })
})

t.test('the output of a call that is skipped is skipped with it, and a later function may have its id', async t => {
  const skipped = { type: 'computer_call', id: 'cu', call_id: 'c2', status: 'completed', action: { type: 'wait' } }
  const output = { type: 'function_call_output', call_id: 'c2', output: 'a.txt' }
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }]
  const ask = { role: 'user', content: 'list' }
  t.strictSame(
    messages([ask, skipped, output, ask], { tools }).map(({ role }) => role),
    ['user', 'user']
  )
  const call = { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '{}' }
  const later = messages([ask, skipped, output, call, output], { tools })
  t.strictSame(
    later.map(({ role }) => role),
    ['user', 'assistant', 'tool']
  )
})
