// Items, blocks and parts of earlier turns that no other wire has: they never fail a request (decisions.md 75, 82 and 109).

import t from 'tap'
import type { JsonObject } from '../../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../../worker/protocols/completions/provider/face.ts'
import { contentCompatibleFace } from '../../../worker/protocols/content/provider/face.ts'
import { messagesCompatibleFace } from '../../../worker/protocols/messages/provider/face.ts'
import { nativeV1Face } from '../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../worker/protocols/native/v2/face.ts'
import type { ProviderFace } from '../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { plainOptions } from '../../support/native-route.ts'

type Protocol = keyof typeof clientFaces

function read(protocol: Protocol, body: JsonObject) {
  const path = protocol === 'content' ? { path: { model: 'a', isStream: false } } : {}
  return clientFaces[protocol].readRequest(body, { requestId: 'r', ...path })
}

/** What a chat provider gets. */
function write(protocol: Protocol, body: JsonObject): JsonObject {
  const request = read(protocol, body)
  t.equal(request.refusal, undefined)
  return chatCompatibleFace.writeChat(request, { upstreamModel: 'm' }, { chatPath: '/' } as never).body
}

/** The messages of a body as lines. */
function textsOf({ messages }: JsonObject): string[] {
  return (messages as Array<{ role: string; content: string | Array<{ text: string }> }>).map(({ role, content }) => {
    return `${role}: ${typeof content === 'string' ? content : content.map(({ text }) => text).join('|')}`
  })
}

const tool = (name: string, more: JsonObject = {}) => ({
  name,
  description: 'd',
  input_schema: { type: 'object' },
  ...more
})

/** The names of the offered tools, after blocks of the conversation. */
function offer(tools: JsonObject[], ...blocks: JsonObject[]): unknown {
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'system', content: [{ type: 'text', text: 'Tools changed.' }, ...blocks] },
    { role: 'assistant', content: 'ok' },
    { role: 'user', content: 'go' }
  ]
  const body = { max_tokens: 9, tools, messages }
  const request = read('messages', body)
  t.strictSame(request.ignored, {})
  t.match(request.messages[1]?.content, [{ type: 'text', text: 'Tools changed.' }])
  const written = write('messages', body)
  return ((written.tools ?? []) as Array<{ function: { name: string } }>).map(({ function: { name } }) => name)
}

const reference = (name: string) => ({ type: 'tool_reference', name })

t.test('a block adds a deferred tool, takes a tool away, and defines one (decisions.md 82)', async t => {
  const deferred = [tool('Read'), tool('mcp__s__find', { defer_loading: true })]
  const addition = { type: 'tool_addition', tool: reference('mcp__s__find') }
  const removal = { type: 'tool_removal', tool: reference('Bash') }
  const definition = { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('New') } }
  t.strictSame(offer(deferred), ['Read'])
  t.strictSame(offer(deferred, addition), ['Read', 'mcp__s__find'])
  t.strictSame(offer([tool('Read'), tool('Bash')], removal), ['Read'])
  t.strictSame(offer([tool('Bash')], removal, { ...removal, type: 'tool_addition' }), ['Bash'])
  t.strictSame(offer([tool('Read')], definition), ['Read', 'New'])
  t.strictSame(offer([tool('Read')], definition, { type: 'tool_removal', tool: reference('New') }), ['Read'])
  const server = { type: 'mcp_toolset_reference', server_name: 's' }
  t.strictSame(offer([tool('Read')], { type: 'tool_addition', tool: server }), ['Read'])
})

t.test('an empty part is skipped wherever it stands (decisions.md 109)', async t => {
  const contents = [
    { role: 'user', parts: [{ text: 'a' }, {}] },
    { role: 'model', parts: [{}] },
    { role: 'user', parts: [{}, { text: 'b' }] }
  ]
  t.strictSame(textsOf(write('content', { contents })), ['user: a', 'user: b'])
  const streamed = [{ parts: [{ text: 'a' }] }, { role: 'model', parts: [{ text: 'b' }, {}] }]
  t.strictSame(textsOf(write('content', { contents: streamed })), ['user: a', 'assistant: b'])
})

t.test('the words for a skipped signature are no signature, plain and in base64 (decisions.md 109)', async t => {
  for (const word of ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']) {
    for (const thoughtSignature of [word, Buffer.from(word).toString('base64')]) {
      const contents = [
        { role: 'user', parts: [{ text: 'x' }] },
        { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: { a: 1 } } }] }
      ]
      const { messages } = read('content', { contents })
      t.notMatch(JSON.stringify(messages), 'state')
      t.notMatch(JSON.stringify(write('content', { contents })), thoughtSignature)
    }
  }
})

t.test('items of hosted tools, foreign reasoning and marks of earlier turns are left out, the words stay', async t => {
  const message = (more: JsonObject) => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Four.' }],
    ...more
  })
  const items: JsonObject[] = [
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'foo' }],
      encrypted_content: 'gAAAAAforeign'
    },
    { type: 'reasoning', summary: [] },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' },
    { type: 'mcp_list_tools', id: 'm', server_label: 's', tools: [] },
    { type: 'some_future_item', id: 'x', status: 'completed' }
  ]
  const marks = [
    message({ phase: 'commentary' }),
    message({ status: 'incomplete', id: 'msg_1' }),
    message({
      content: [{ type: 'output_text', text: 'Four.', annotations: [{ type: 'url_citation' }], logprobs: [{}] }]
    }),
    message({
      content: [
        { type: 'output_text', text: 'Four.' },
        { type: 'some_future_part', data: 1 }
      ]
    })
  ]
  for (const item of [...items, ...marks]) {
    const input = [
      { role: 'user', content: 'hi' },
      item,
      ...(items.includes(item) ? [message({})] : []),
      { role: 'user', content: 'and?' }
    ]
    const { messages } = write('responses', { input })
    t.match(
      messages,
      [{ content: 'hi' }, { role: 'assistant', content: [{ type: 'text', text: 'Four.' }] }, { content: 'and?' }],
      JSON.stringify(item)
    )
    t.equal((messages as unknown[]).length, 3)
    t.notMatch(JSON.stringify(messages), 'gAAAAAforeign')
  }
})

t.test('items of the shell and of patches are calls of functions and their results (decisions.md 75)', async t => {
  const action = { commands: ['ls'], timeout_ms: 9 }
  const operation = { type: 'update_file', path: 'a.ts', diff: '@@' }
  const streams = [{ stdout: 'a.ts', stderr: '', outcome: { type: 'exit', exit_code: 0 } }]
  const rows: Array<[type: string, request: JsonObject, result: JsonObject, text: string]> = [
    ['local_shell', { action }, { id: 'c1', output: 'a.ts' }, 'a.ts'],
    ['shell', { action }, { call_id: 'c1', output: streams }, JSON.stringify(streams)],
    ['apply_patch', { operation }, { call_id: 'c1', status: 'completed' }, 'completed'],
    ['apply_patch', { operation }, { call_id: 'c1', status: 'failed', output: 'no such file' }, 'Error: no such file']
  ]
  for (const [name, request, result, text] of rows) {
    const input = [
      { role: 'user', content: 'go' },
      { type: `${name}_call`, id: 'x_1', call_id: 'c1', status: 'completed', ...request },
      { type: `${name}_call_output`, ...result },
      { role: 'user', content: 'and?' }
    ]
    const sent = JSON.stringify(request.action ?? request.operation)
    t.match(write('responses', { input }).messages, [
      {},
      { role: 'assistant', tool_calls: [{ id: 'c1', function: { name, arguments: sent } }] },
      { role: 'tool', tool_call_id: 'c1', content: text },
      {}
    ])
    t.strictSame(note('responses', { input }), [])
    const wires = { messagesCompatibleFace, contentCompatibleFace, nativeV1Face, nativeV2Face }
    for (const [wire, face] of Object.entries(wires) as Array<[string, ProviderFace]>) {
      const options = { ...plainOptions, chatPath: '/', messagesPath: '/messages', modelsPath: '/models' }
      const written = face.writeChat(read('responses', { input }), { upstreamModel: 'm' }, options)
      const body = JSON.stringify(written.body)
      t.equal(body.split(sent).length, 2, `${wire}: the call`)
      t.ok(body.includes(JSON.stringify(text.replace('Error: ', '')).slice(1, -1).slice(-6)), `${wire}: the result`)
    }
    const cut = [input[0], { ...input[1], status: 'incomplete' }, input[3]] as JsonObject[]
    t.strictSame(textsOf(write('responses', { input: cut })), ['user: go', 'user: and?'])
  }
})

t.test('what holds the conversation itself is refused (decisions.md 69)', async t => {
  for (const type of ['compaction', 'compaction_summary']) {
    t.throws(
      () =>
        read('responses', {
          input: [
            { type, encrypted_content: 'gAAAA' },
            { role: 'user', content: 'hi' }
          ]
        }),
      {
        code: 'unsupported_semantic',
        param: 'input[0].type'
      }
    )
  }
})

t.test('parts of an unknown type are left out of earlier turns, and refused in the newest', async t => {
  const messages = [
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'a' },
        { type: 'future', x: 1 }
      ]
    },
    { role: 'user', content: 'go' }
  ]
  t.match(write('completions', { messages }).messages, [{}, { content: [{ type: 'text', text: 'a' }] }, {}])
  t.throws(() => read('completions', { messages: [{ role: 'user', content: [{ type: 'future', x: 1 }] }] }), {
    code: 'invalid_request',
    param: 'messages[0].content[0].type'
  })
  const contents = [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts: [{ text: 'a' }, { future: { x: 1 } }] },
    { role: 'user', parts: [{ text: 'go' }] }
  ]
  t.strictSame(textsOf(write('content', { contents })), ['user: hi', 'assistant: a', 'user: go'])
  t.ok(read('content', { contents: [{ role: 'user', parts: [{ text: 'a' }, { future: { x: 1 } }] }] }).refusal)
})

t.test('parts of an unknown type in earlier messages of the user are left out and named (decisions.md 75)', async t => {
  const said = (type: string) => ({
    role: 'user',
    content: [
      { type, text: 'look' },
      { type: 'future', x: 1 }
    ]
  })
  const answer = { role: 'assistant', content: 'ok' }
  const go = { role: 'user', content: 'go' }
  const bodies = {
    completions: { messages: [said('text'), answer, go] },
    responses: { input: [said('input_text'), answer, go] }
  }
  for (const [protocol, body] of Object.entries(bodies) as Array<[Protocol, JsonObject]>) {
    const list = protocol === 'responses' ? 'input' : 'messages'
    t.strictSame(textsOf(write(protocol, body)), ['user: look', 'assistant: ok', 'user: go'])
    t.strictSame(note(protocol, body), [`${list}[0].content[1].type`])
    const newest = { [list]: [go, answer, said(protocol === 'responses' ? 'input_text' : 'text')] }
    t.throws(() => read(protocol, newest), { code: 'invalid_request', param: `${list}[2].content[1].type` })
  }
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'c', output: [{ type: 'future' }] }
  t.strictSame(note('responses', { input: [said('input_text'), call, output] }), [
    'input[0].content[1].type',
    'input[2].output[0].type'
  ])
  const chatCall = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  const chat = [said('text'), { role: 'assistant', content: [{ type: 'future' }], tool_calls: [chatCall] }]
  t.strictSame(note('completions', { messages: [...chat, { role: 'tool', tool_call_id: 'c', content: 'done' }] }), [
    'messages[0].content[1].type',
    'messages[1].content[0].type'
  ])
})

/** The fields of messages that the notice names. */
function note(protocol: Protocol, body: JsonObject): string[] {
  const noted: string[] = []
  const leaveOut = (path: string) => noted.push(path)
  clientFaces[protocol].noteParts(body, read(protocol, body), {
    isExact: false,
    leaveOut,
    refuse: leaveOut,
    drop: () => undefined
  })
  return noted
}
