// How messages of a conversation are sent upstream, and the complete form of a response
// (completions.md 4, 6, 9 and 10): the facts that no numbered case covers.

import t from 'tap'
import { lastUpstreamChat, post, readFrames } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'

const model = 'GigaChat-2'
const { emulator, gateway } = await startSharedGateway()
const v1 = `${gateway.url}/v1/chat/completions`
const v2 = `${gateway.url}/v2/chat/completions`

/** Sends a request and returns the messages that the upstream received. */
async function sent(url: string, messages: object[], more: object = {}) {
  const response = await post(url, { model, messages, ...more })
  if (response.status !== 200) throw new Error(response.text)
  return lastUpstreamChat(emulator).body.messages
}

t.test('participant names, refusals and unknown roles are mapped to messages that the upstream supports', async t => {
  const messages = [
    { role: 'user', name: 'ann', content: 'a' },
    { role: 'assistant', content: null, refusal: 'I will not.', audio: { id: 'x' }, annotations: [] },
    { role: 'critic', content: 'b' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'c' },
        { type: 'text', text: 'd' }
      ]
    },
    { role: 'user', content: null }
  ]
  t.strictSame(await sent(v1, messages), [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'I will not.' },
    { role: 'user', content: 'b' },
    { role: 'assistant', content: 'c\nd' },
    { role: 'user', content: '' }
  ])
  t.strictSame(await sent(v2, messages), [
    { role: 'user', content: [{ text: 'a' }] },
    { role: 'assistant', content: [{ text: 'I will not.' }] },
    { role: 'user', content: [{ text: 'b' }] },
    { role: 'assistant', content: [{ text: 'c\nd' }] },
    { role: 'user', content: [{ text: '' }] }
  ])
})

t.test('the first system text is sent before all other messages, wherever the client placed it', async t => {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'developer', content: 'late' },
    { role: 'system', content: 'later' }
  ]
  t.strictSame(await sent(v1, messages), [
    { role: 'system', content: 'late' },
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'later' }
  ])
})

t.test('results are matched to calls by id with any prefix, by name, or by order, and are never joined', async t => {
  const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"a":1}' } })
  const ask = (results: object[]) => [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'looking', tool_calls: [call('call_1', 'f'), call('call_2', 'g')] },
    ...results
  ]
  for (const results of [
    [
      { role: 'tool', tool_call_id: 'call_2', content: '{"of":"g"}' },
      { role: 'tool', tool_call_id: 'call_1', content: '{"of":"f"}' }
    ],
    [
      { role: 'tool', tool_call_id: 'fc_1', content: '{"of":"f"}' },
      { role: 'tool', tool_call_id: '2', content: '{"of":"g"}' }
    ],
    [
      { role: 'tool', tool_call_id: 'unknown', name: 'g', content: '{"of":"g"}' },
      { role: 'tool', tool_call_id: 'other', name: 'f', content: '{"of":"f"}' }
    ],
    [
      { role: 'function', name: 'f', content: '{"of":"f"}' },
      { role: 'function', name: 'g', content: [{ type: 'text', text: '{"of":"g"}' }] }
    ]
  ]) {
    t.strictSame(await sent(v1, ask(results)), [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'looking', function_call: { name: 'f', arguments: { a: 1 } } },
      { role: 'function', name: 'f', content: '{"of":"f"}' },
      { role: 'assistant', content: '', function_call: { name: 'g', arguments: { a: 1 } } },
      { role: 'function', name: 'g', content: '{"of":"g"}' }
    ])
  }
})

t.test('the results of parallel calls with one id follow the order of the calls, or their own names', async t => {
  const call = (name: string, path: string) => ({
    id: 'same',
    type: 'function',
    function: { name, arguments: JSON.stringify({ path }) }
  })
  const result = (content: string, more: object = {}) => ({ role: 'tool', tool_call_id: 'same', content, ...more })
  const ask = { role: 'user', content: 'q' }
  const inOrder = [
    ask,
    { role: 'assistant', content: null, tool_calls: [call('read', 'A'), call('read', 'B')] },
    result('text of A'),
    result('text of B')
  ]
  t.match(await sent(v1, inOrder), [
    {},
    { function_call: { arguments: { path: 'A' } } },
    { content: '{"result":"text of A"}' },
    { function_call: { arguments: { path: 'B' } } },
    { content: '{"result":"text of B"}' }
  ])
  const named = [
    ask,
    { role: 'assistant', content: null, tool_calls: [call('read', 'A'), call('list', 'B')] },
    result('list of B', { name: 'list' }),
    result('text of A', { name: 'read' })
  ]
  const results = (await sent(v2, named)).filter(({ role }: { role: string }) => role === 'tool')
  t.match(
    results.flatMap(({ content }: { content: object[] }) => content),
    [
      { function_result: { name: 'read', result: { result: 'text of A' } } },
      { function_result: { name: 'list', result: { result: 'list of B' } } }
    ]
  )
})

t.test('the legacy single call and its result are read and written', async t => {
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":1}' } },
    { role: 'function', name: 'f', content: 'plain' }
  ]
  t.strictSame((await sent(v1, messages)).slice(1), [
    { role: 'assistant', content: '', function_call: { name: 'f', arguments: { a: 1 } } },
    { role: 'function', name: 'f', content: '{"result":"plain"}' }
  ])
  t.strictSame((await sent(v2, messages)).slice(1), [
    { role: 'assistant', content: [{ function_call: { name: 'f', arguments: { a: 1 } } }] },
    { role: 'tool', content: [{ function_result: { name: 'f', result: { result: 'plain' } } }] }
  ])
})

t.test('a call without a state id of the upstream gets an id, and no state id is sent for it', async t => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  for (const url of [v1, v2]) {
    const first = await post(url, {
      model,
      tools,
      messages: [{ role: 'user', content: '[[nostate]][[tool:f {"a":1}]]' }]
    })
    const { message } = first.json.choices[0]
    t.match(message.tool_calls[0].id, /^[a-zA-Z0-9_-]{1,128}$/)
    const history = [
      { role: 'user', content: 'go' },
      message,
      { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '{}' }
    ]
    for (const one of await sent(url, history, { tools })) {
      for (const name of ['tools_state_id', 'functions_state_id']) t.notOk(name in one, name)
    }
  }
})

t.test('a response has exactly the members that the SDK defines and the documented additions', async t => {
  for (const url of [v1, v2]) {
    const { json, headers } = await post(url, { model, messages: [{ role: 'user', content: '[[text:x]]' }] })
    const id = headers.get('x-request-id')
    t.strictSame(Object.keys(json).sort(), [
      'choices',
      'created',
      'id',
      'metadata',
      'model',
      'object',
      'system_fingerprint',
      'usage'
    ])
    t.match(json, { id: `chatcmpl-${id}`, system_fingerprint: `fp_${id}`, object: 'chat.completion', model })
    t.strictSame(json.choices, [
      {
        index: 0,
        message: { role: 'assistant', content: 'x', refusal: null },
        logprobs: null,
        finish_reason: 'stop'
      }
    ])
    t.ok(Object.values(json.metadata).every(value => typeof value === 'string' && value.length <= 512))
    t.match(headers.get('content-type'), /^application\/json/)
    for (const name of ['openai-version', 'openai-organization']) t.notOk(headers.has(name))
  }
})

t.test('every frame of a stream has exactly the members that the SDK defines', async t => {
  for (const url of [v1, v2]) {
    const response = await post(url, { model, stream: true, messages: [{ role: 'user', content: '[[chunks:a|b]]' }] })
    const frames = readFrames(response.text).slice(0, -1)
    const [first] = frames
    for (const frame of frames) {
      t.match(frame, {
        id: `chatcmpl-${response.headers.get('x-request-id')}`,
        object: 'chat.completion.chunk',
        created: first.created,
        model,
        system_fingerprint: first.system_fingerprint
      })
      t.strictSame(Object.keys(frame.choices[0]).sort(), ['delta', 'finish_reason', 'index', 'logprobs'])
      for (const value of Object.values(frame.choices[0].delta)) t.not(value, null)
    }
    t.notMatch(response.text, /^event:/m)
  }
})

t.test('without usage from the upstream no usage is returned, streamed and whole, requested or not', async t => {
  for (const url of [v1, v2]) {
    const ask = (more: object) => post(url, { model, messages: [{ role: 'user', content: '[[nousage]]' }], ...more })
    t.notOk('usage' in (await ask({})).json)
    const frames = readFrames((await ask({ stream: true, stream_options: { include_usage: true } })).text)
    t.ok(frames.slice(0, -1).every(frame => frame.usage === null))
    const plain = readFrames((await ask({ stream: true })).text)
    t.notOk(plain.slice(0, -1).some(frame => 'usage' in frame))
  }
})
