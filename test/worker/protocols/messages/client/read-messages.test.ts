import t from 'tap'
import type { JsonObject, JsonValue } from '../../../../../worker/normalized/index.ts'
import { writeMessagesError } from '../../../../../worker/protocols/messages/client/errors.ts'
import { catchError, failure, read, refusedAt, requestId } from './support.ts'

const readOne = (message: JsonObject) => read({ messages: [message] }).messages[0]
const readUser = (content: JsonValue) => readOne({ role: 'user', content })?.content
const readAssistant = (content: JsonValue) =>
  read({
    messages: [
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] }
    ]
  }).messages[0]?.content
const refusedBlock = (block: JsonValue, role = 'user') => refusedAt({ messages: [{ role, content: [block] }] })

t.test('messages 65: missing, empty or wrongly typed messages are refused, and the error names them', async t => {
  for (const messages of [undefined, null, 'hi', {}, []]) {
    t.strictSame(
      failure(() => read({ messages })),
      { code: 'invalid_request', param: 'messages', status: 400 }
    )
  }
  const errorOf = (body: JsonObject) =>
    writeMessagesError(
      catchError(() => read(body)),
      { requestId }
    ).body.error
  t.strictSame(errorOf({ messages: undefined }), { type: 'invalid_request_error', message: 'messages: Field required' })
  t.match(errorOf({ messages: [{ role: 'user' }] }), { message: 'messages.0.content: Field required' })
  t.match(errorOf({ messages: [{ role: 'user', content: 3 }] }), {
    message: /^messages\.0\.content: must be a string or/
  })
})

t.test('a message must be an object with a known role and a content', async t => {
  t.equal(refusedAt({ messages: [{ role: 'user', content: 'a' }, 'hi'] }), 'messages[1]')
  for (const role of [undefined, null, '', 3, 'tool', 'developer']) {
    t.equal(refusedAt({ messages: [{ role, content: 'x' }] }), 'messages[0].role')
  }
  for (const content of [null, 3, {}]) {
    t.equal(refusedAt({ messages: [{ role: 'user', content }] }), 'messages[0].content')
  }
})

t.test('content as a string and content as blocks are distinguished', async t => {
  t.strictSame(readOne({ role: 'user', content: '' }), {
    role: 'user',
    content: [{ type: 'text', text: '' }],
    form: 'text'
  })
  t.strictSame(readOne({ role: 'assistant', content: [{ type: 'text', text: 'a' }] }), {
    role: 'assistant',
    content: [{ type: 'text', text: 'a' }]
  })
  t.strictSame(readOne({ role: 'user', content: [] }), { role: 'user', content: [] })
})

t.test('the system instruction is the first message, in both forms', async t => {
  const systemOf = (system: JsonValue) => read({ system }).messages.slice(0, -1)
  t.strictSame(systemOf('s'), [{ role: 'system', content: [{ type: 'text', text: 's' }], form: 'text' }])
  const blocks = [
    { type: 'text', text: 's1', cache_control: { type: 'ephemeral' } },
    { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } },
    { type: 'text', text: 's2', citations: [] }
  ]
  t.strictSame(systemOf(blocks), [
    {
      role: 'system',
      content: [
        { type: 'text', text: 's1' },
        { type: 'text', text: 's2' }
      ]
    }
  ])
  for (const nothing of [null, '', []]) t.strictSame(systemOf(nothing), [])
  t.equal(refusedAt({ system: 3 }), 'system')
  t.equal(refusedAt({ system: ['s'] }), 'system[0]')
  t.equal(refusedAt({ system: [{ type: 'text' }] }), 'system[0].text')
})

t.test('a system message among the messages keeps its position and its texts', async t => {
  const { messages } = read({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'system', content: [{ type: 'text', text: 'a' }, { type: 'document' }, { type: 'text', text: 'b' }] }
    ]
  })
  t.strictSame(messages[1], {
    role: 'system',
    content: [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' }
    ]
  })
})

t.test('images are read from all three sources', async t => {
  t.strictSame(
    readUser([
      { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'AAEC' } },
      { type: 'image', source: { type: 'base64', data: 'AAEC' } },
      { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' }, cache_control: null },
      { type: 'image', source: { type: 'url', url: 'data:image/png;base64,AAEC' } },
      { type: 'image', source: { type: 'file', file_id: 'f1' } }
    ]),
    [
      { source: { kind: 'bytes', mediaType: 'image/webp', base64: 'AAEC' } },
      { source: { kind: 'bytes', mediaType: 'image/png', base64: 'AAEC' } },
      { source: { kind: 'url', url: 'https://example.test/a.png' } },
      { source: { kind: 'bytes', mediaType: 'image/png', base64: 'AAEC' } },
      { source: { kind: 'file-id', fileId: 'f1' } }
    ].map(({ source }, index) => ({ type: 'image', source, path: `messages[0].content[${index}]` }))
  )
})

t.test('a malformed image is refused with the path of the wrong member', async t => {
  const at = (source: JsonValue) => refusedBlock({ type: 'image', source })
  t.equal(at(null), 'messages[0].content[0].source')
  t.equal(at({ type: 'base64' }), 'messages[0].content[0].source.data')
  t.equal(at({ type: 'base64', data: 'x', media_type: 1 }), 'messages[0].content[0].source.media_type')
  t.equal(at({ type: 'url' }), 'messages[0].content[0].source.url')
  t.equal(at({ type: 'file', file_id: '' }), 'messages[0].content[0].source.file_id')
  t.equal(at({ type: 'ftp' }), 'messages[0].content[0].source.type')
})

t.test('blocks without effect are dropped, and their types are reported as ignored', async t => {
  const dropped = [
    ...['document', 'search_result', 'container_upload', 'server_tool_use', 'web_search_tool_result'],
    ...['browser_state', 'tool_reference', 'compaction', 'thinking', 'redacted_thinking', 'no_such_block']
  ]
  const request = read({
    messages: [
      { role: 'user', content: [...dropped.map(type => ({ type, data: 'secret' })), { type: 'text', text: 'see' }] },
      {
        role: 'assistant',
        content: [
          { type: 'image', source: {} },
          { type: 'server_tool_use', id: 'x' }
        ]
      }
    ]
  })
  t.strictSame(request.messages, [
    { role: 'user', content: [{ type: 'text', text: 'see' }] },
    { role: 'assistant', content: [] }
  ])
  const expected = Object.fromEntries(dropped.map((type, index) => [`messages[0].content[${index}].type`, type]))
  t.strictSame(request.ignored, {
    ...expected,
    'messages[1].content[0].type': 'image',
    'messages[1].content[1].type': 'server_tool_use'
  })
})

t.test('a block is refused when it is not an object, or lacks its type or text', async t => {
  t.equal(refusedBlock('x'), 'messages[0].content[0]')
  t.equal(refusedBlock({}), 'messages[0].content[0].type')
  t.equal(refusedBlock({ type: 'text', text: null }), 'messages[0].content[0].text')
  t.strictSame(readUser([{ type: 'text', text: '' }]), [{ type: 'text', text: '' }])
})

t.test('calls are read in order, with arguments as an object', async t => {
  t.strictSame(
    readAssistant([
      { type: 'text', text: 'let me' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { b: 1, a: [2] }, caller: { type: 'direct' } }
    ]),
    [
      { type: 'text', text: 'let me' },
      { type: 'tool-call', id: 'toolu_1', name: 'f', arguments: { b: 1, a: [2] } }
    ]
  )
  t.strictSame(readAssistant([{ type: 'tool_use', id: 'toolu_1', name: 'f' }]), [
    { type: 'tool-call', id: 'toolu_1', name: 'f', arguments: {} }
  ])
})

t.test('a malformed call is refused, not dropped (B12)', async t => {
  const at = (call: JsonObject) => refusedBlock({ type: 'tool_use', id: 'i', name: 'f', ...call }, 'assistant')
  t.equal(at({ id: undefined }), 'messages[0].content[0].id')
  t.equal(at({ name: '' }), 'messages[0].content[0].name')
  t.equal(at({ input: [1] }), 'messages[0].content[0].input')
  t.equal(refusedBlock({ type: 'tool_use', id: 'i', name: 'f', input: {} }), 'messages[0].content[0].type')
  t.equal(refusedBlock({ type: 'tool_result', tool_use_id: 'i' }, 'assistant'), 'messages[0].content[0].type')
})

t.test('results keep their text, error mark and images (B13)', async t => {
  const results = readUser([
    { type: 'tool_result', tool_use_id: 'a', content: 'ok', toolset_name: 't' },
    {
      type: 'tool_result',
      tool_use_id: 'b',
      is_error: true,
      content: [
        { type: 'text', text: 'x' },
        { type: 'document', source: {} },
        { type: 'image', source: { type: 'file', file_id: 'f1' } },
        { type: 'tool_result', tool_use_id: 'c' }
      ]
    },
    { type: 'tool_result', tool_use_id: 'c', content: null },
    { type: 'text', text: 'go on' }
  ])
  t.strictSame(results, [
    {
      type: 'tool-result',
      callId: 'a',
      content: [{ type: 'text', text: 'ok' }],
      isError: false,
      hasErrorFlag: true,
      path: 'messages[0].content[0].tool_use_id'
    },
    {
      type: 'tool-result',
      callId: 'b',
      content: [
        { type: 'text', text: 'x' },
        { type: 'image', source: { kind: 'file-id', fileId: 'f1' }, path: 'messages[0].content[1].content[2]' }
      ],
      isError: true,
      hasErrorFlag: true,
      path: 'messages[0].content[1].tool_use_id'
    },
    {
      type: 'tool-result',
      callId: 'c',
      content: [],
      isError: false,
      hasErrorFlag: true,
      path: 'messages[0].content[2].tool_use_id'
    },
    { type: 'text', text: 'go on' }
  ])
})

t.test('a malformed result is refused with the path of the wrong member', async t => {
  const at = (result: JsonObject) => refusedBlock({ type: 'tool_result', tool_use_id: 'a', ...result })
  t.equal(at({ tool_use_id: null }), 'messages[0].content[0].tool_use_id')
  t.equal(at({ is_error: 'yes' }), 'messages[0].content[0].is_error')
  t.equal(at({ content: 3 }), 'messages[0].content[0].content')
  t.equal(at({ content: ['x'] }), 'messages[0].content[0].content[0]')
  t.equal(at({ content: [{ type: 'text' }] }), 'messages[0].content[0].content[0].text')
})

t.test(
  'reasoning of earlier turns is kept apart from text, with the state of the provider that signed it (C1, C3)',
  async t => {
    t.strictSame(
      readAssistant([
        { type: 'thinking', thinking: 'hm', signature: 'sig' },
        { type: 'thinking', thinking: 'hm', signature: '' },
        { type: 'thinking', thinking: 'hm', signature: 'Z2F0ZXdheQ==' },
        { type: 'thinking' },
        { type: 'redacted_thinking', data: 'enc' },
        { type: 'text', text: 'a' }
      ]),
      [
        { type: 'reasoning', text: 'hm', state: { messages_compatible: { signature: 'sig' } } },
        { type: 'reasoning', text: 'hm' },
        { type: 'reasoning', text: 'hm' },
        { type: 'reasoning', text: '' },
        { type: 'reasoning', text: '', state: { messages_compatible: { redacted: 'enc' } } },
        { type: 'text', text: 'a' }
      ]
    )
  }
)
