// Messages of a conversation as they reach the upstream, and the whole form of an answer (completions contract, sections 4, 6, 9
// and 10): what the numbered cases leave open.

import t from 'tap'
import { lastUpstreamChat, post, readFrames } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'

const model = 'GigaChat-2'
const { emulator, gateway } = await startSharedGateway()
const v1 = `${gateway.url}/v1/chat/completions`
const v2 = `${gateway.url}/v2/chat/completions`

/** The messages that the upstream received for these. */
async function sent(url: string, messages: object[], more: object = {}) {
  const answer = await post(url, { model, messages, ...more })
  if (answer.status !== 200) throw new Error(answer.text)
  return lastUpstreamChat(emulator).body.messages
}

t.test('participants, refusals and unknown roles become what the upstream knows', async t => {
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

t.test('the system text stands first wherever it came first', async t => {
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

t.test('results are placed by id, whatever prefix it has, by name, or by order, and never joined', async t => {
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

t.test('a call without a state id of the upstream gets an id, and no state id is invented for it', async t => {
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

t.test('an answer has exactly the members that the SDK knows, and those that are documented', async t => {
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

t.test('a frame has exactly the members that the SDK knows, and the same ones throughout', async t => {
  for (const url of [v1, v2]) {
    const answer = await post(url, { model, stream: true, messages: [{ role: 'user', content: '[[chunks:a|b]]' }] })
    const frames = readFrames(answer.text).slice(0, -1)
    const [first] = frames
    for (const frame of frames) {
      t.match(frame, {
        id: `chatcmpl-${answer.headers.get('x-request-id')}`,
        object: 'chat.completion.chunk',
        created: first.created,
        model,
        system_fingerprint: first.system_fingerprint
      })
      t.strictSame(Object.keys(frame.choices[0]).sort(), ['delta', 'finish_reason', 'index', 'logprobs'])
      for (const value of Object.values(frame.choices[0].delta)) t.not(value, null)
    }
    t.notMatch(answer.text, /^event:/m)
  }
})

t.test('an upstream without usage gives none, streamed and whole, asked for or not', async t => {
  for (const url of [v1, v2]) {
    const ask = (more: object) => post(url, { model, messages: [{ role: 'user', content: '[[nousage]]' }], ...more })
    t.equal((await ask({})).json.usage, null)
    const frames = readFrames((await ask({ stream: true, stream_options: { include_usage: true } })).text)
    t.ok(frames.slice(0, -1).every(frame => frame.usage === null))
  }
})
