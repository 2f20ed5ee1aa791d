// What real services of the chat wire send to a client of that wire: official SDKs must be able to read it (decisions.md 81 and 107), and
// everything else stays (decisions.md 72). Each case bears the name under which it was recorded.

import OpenAI from 'openai'
import t from 'tap'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { aliasOf, edgeProfile } from '../../support/profile-sets.ts'
import { startStub } from '../../worker/providers/support/stub-upstream.ts'
import { startBridge } from './executor-support.ts'

let received = ''
let reply: { body: object } | { frames: readonly object[] } = { body: {} }
const provider = await startStub((request, response) => {
  received = request.body.toString()
  if ('body' in reply) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(reply.body))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`${reply.frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`)
})
t.teardown(() => provider.close())
const declared = { features: FEATURE_NAMES, limits: { contextWindow: 32_768, maxOutputTokens: 4096 } }
const profile = edgeProfile([aliasOf('r/chat', 'up-chat', declared)], {
  profileId: 'p1',
  baseUrl: `${provider.origin}/v1`
})
const { url } = await startBridge(t, { profiles: [profile] })
const client = new OpenAI({ apiKey: 'unused', baseURL: `${url}/v1`, maxRetries: 0 })

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const question: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'> = {
  model: 'r/chat',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
}

/** What the SDK makes of a message, whole and streamed by its helper. */
async function readBoth(message: object, reason: unknown, counts: object = usage): Promise<OpenAI.ChatCompletion[]> {
  const head = { id: 'c1', created: 1, model: 'up' }
  reply = {
    body: {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
      usage: counts
    }
  }
  const whole = await client.chat.completions.create(question)
  const calls = 'tool_calls' in message ? (message.tool_calls as object[]) : undefined
  const delta = {
    role: 'assistant',
    ...message,
    ...(calls && { tool_calls: calls.map((call, index) => ({ index, ...call })) })
  }
  const object = 'chat.completion.chunk'
  reply = {
    frames: [
      { ...head, object, choices: [{ index: 0, delta, finish_reason: null }] },
      // Usage beside choices, as several services send it.
      { ...head, object, choices: [{ index: 0, delta: {}, finish_reason: reason }], usage: counts }
    ]
  }
  const stream = client.chat.completions.stream({ ...question, stream_options: { include_usage: true } })
  return [whole, await stream.finalChatCompletion()]
}

const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":"x"}' } }

for (const [name, sent] of [
  ['chat-call-notype', { ...call, type: undefined }],
  ['chat-call-nulltype', { ...call, type: null }],
  ['chat-call-noid', { ...call, id: undefined }],
  ['chat-call-object', { ...call, function: { name: 'f', arguments: { a: 'x' } } }]
] as const) {
  t.test(`${name}: one call of f with its arguments and an id`, async t => {
    for (const { choices } of await readBoth({ content: null, tool_calls: [sent] }, 'tool_calls')) {
      const [choice] = choices
      t.equal(choice?.finish_reason, 'tool_calls')
      const [read] = choice?.message.tool_calls ?? []
      t.match(read, { type: 'function', function: call.function })
      t.match(read?.id, /^call_/)
    }
  })
}

for (const [name, word, expected] of [
  ['chat-finish-modellength', 'model_length', 'length'],
  ['chat-finish-eos', 'eos', 'stop'],
  ['chat-finish-resource', 'insufficient_system_resource', 'length'],
  ['chat-finish-null', null, 'stop']
] as const) {
  t.test(`${name}: the text stays, the finish is ${expected}`, async t => {
    for (const { choices } of await readBoth({ content: 'hi' }, word)) {
      t.match(choices, [{ message: { content: 'hi' }, finish_reason: expected }])
    }
  })
}

t.test('chat-usage-flat: cached tokens stand in their details', async t => {
  for (const { usage: read } of await readBoth({ content: 'a' }, 'stop', { ...usage, cached_tokens: 2 })) {
    t.match(read, { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 2 } })
  }
})

t.test('chat-citations and chat-parts: annotations stay, and a content in parts is a text', async t => {
  const annotations = [
    { type: 'url_citation', url_citation: { url: 'https://example.org/x', title: 'X', start_index: 0, end_index: 2 } }
  ]
  const [whole] = await readBoth({ content: 'hi', annotations }, 'stop')
  t.strictSame(whole?.choices[0]?.message.annotations, annotations)
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'think' }] },
    { type: 'text', text: 'hi' }
  ]
  reply = {
    body: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'up',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
    }
  }
  const listed = await client.chat.completions.create(question)
  t.match(listed.choices[0]?.message, { content: 'hi', reasoning_content: 'think' })
})

t.test(
  'languages-usage-asked and languages-usage-unasked: usage has a chunk of its own, or none (decisions.md 107)',
  async t => {
    const object = 'chat.completion.chunk'
    const head = { id: 'c1', created: 1, model: 'up', object }
    for (const frames of [
      [
        {
          ...head,
          choices: [{ index: 0, delta: { role: 'assistant', content: 'a' }, finish_reason: null }],
          usage: null
        },
        { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage }
      ],
      [
        {
          ...head,
          choices: [{ index: 0, delta: { role: 'assistant', content: 'a' }, finish_reason: null }],
          usage: null
        },
        { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null },
        { ...head, choices: [], usage }
      ]
    ]) {
      const read = async (more: object) => {
        reply = { frames }
        const response = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          body: JSON.stringify({ ...question, stream: true, ...more })
        })
        return await response.text()
      }
      t.notMatch(await read({}), 'usage')
      t.match(JSON.parse(received), { stream_options: { include_usage: true } })
      const asked = (await read({ stream_options: { include_usage: true } })).trim().split('\n\n')
      const chunks = asked.slice(0, -1).map(line => JSON.parse(line.slice(6)))
      t.strictSame(
        chunks.map(({ choices, usage: shown }) => [choices.length, shown]),
        [
          [1, null],
          [1, null],
          [0, usage]
        ]
      )
      t.equal(asked.at(-1), 'data: [DONE]')
    }
  }
)

t.test(
  'chat-reasoning-echo, chat-limit-echo, chat-legacy-functions, languages-broken-arguments: sent as the client wrote it',
  async t => {
    reply = {
      body: {
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'up',
        choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }]
      }
    }
    const hello = '"messages":[{"role":"user","content":"hello"}]'
    for (const members of [
      '"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","reasoning_content":"because","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"r"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]',
      `${hello},"max_completion_tokens":9`,
      `${hello},"functions":[{"name":"f","description":"d","parameters":{"type":"object"}}],"function_call":"auto"`,
      '"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"city\\": oops}"}}]},{"role":"tool","tool_call_id":"c1","content":"Error: bad arguments"}]'
    ]) {
      for (const isStream of [false, true]) {
        const body = `{"model":"r/chat",${members}${isStream ? ',"stream":true,"stream_options":{"include_usage":true}' : ''}}`
        const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
        await response.text()
        t.equal(received, body.replace('r/chat', 'up-chat'))
        if (!isStream) t.equal(response.status, 200)
      }
    }
  }
)
