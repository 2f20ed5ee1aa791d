// The v2 chat contract (upstream.md 4) as the upstream and the client see it through a started
// gateway.

import t from 'tap'
import { readToolCallId, writeToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat, post, readFrames } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { ask, imagePart, model, reasoningOf, received, stream, textOf, textPart } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
const url = `${gateway.url}/v2/chat/completions`
const stateId = '019e8373-aaaa-7883-af60-000000000001'
const callId = writeToolCallId({ stateId, name: undefined, callNumber: 0, nonce: 'n' })
/** Streams report usage when the client asks for it (decisions.md 107). */
const withUsage = { stream_options: { include_usage: true } }
const functionTool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })
const orderTools = [functionTool('order_status')]

function askScripted(response: object, more: object = {}) {
  emulator.respondNext(response)
  return ask(gateway, 'v2', 'hi', { more })
}

/** Asks, and the upstream answers exactly this whole body. */
async function answerWith(body: object, more: object = {}) {
  const response = await askScripted({ body }, more)
  if (response.status !== 200) throw new Error(response.text)
  return { json: response.json, choice: response.json.choices[0], message: response.json.choices[0].message }
}

async function streamScripted(chunks: unknown[], end = 'end', more: object = {}) {
  const response = await askScripted({ chunks, end }, { stream: true, ...more })
  return response.status === 200 ? readFrames(response.text) : [response.json]
}

const event = (name: string, payload: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ model: 'GigaChat-3-Ultra:32', created_at: 1767225600, ...payload })}\n\n`
const message = (content: object[], more: object = {}) => ({ messages: [{ role: 'assistant', content, ...more }] })
const delta = (...content: object[]): string => event('response.message.delta', message(content))
const done = (more: object = {}): string =>
  event('response.message.done', {
    finish_reason: 'stop',
    usage: {
      input_tokens: 19,
      input_tokens_details: { prompt_tokens: 19, cached_tokens: 4 },
      output_tokens: 8,
      total_tokens: 27
    },
    ...more
  })

const callsOf = (frames: Array<{ choices?: Array<{ delta: { tool_calls?: unknown[] } }> }>) =>
  // biome-ignore lint/suspicious/noExplicitAny: the test asserts on the members it expects.
  frames.flatMap(frame => (frame.choices?.[0]?.delta.tool_calls ?? []) as any[])

t.test('a whole conversation is written as the contract’s example', async t => {
  const response = await post(url, {
    model: 'GigaChat-3-Ultra',
    stream: true,
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: [textPart('Where is order B-7?'), imagePart()] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: callId,
            type: 'function',
            function: { name: 'order_status', arguments: '{"order_id":"B-7"}' }
          }
        ]
      },
      { role: 'tool', tool_call_id: callId, content: '{"status":"packed"}' }
    ],
    temperature: 0.2,
    top_p: 0.9,
    max_completion_tokens: 400,
    reasoning_effort: 'medium',
    tools: [
      {
        type: 'function',
        function: {
          name: 'order_status',
          description: 'Order state',
          parameters: { type: 'object', properties: { order_id: { type: 'string' } }, required: ['order_id'] },
          return_parameters: { type: 'object', properties: { status: { type: 'string' } } },
          few_shot_examples: [{ request: 'check A-1', params: { order_id: 'A-1' } }]
        }
      },
      { type: 'web_search', web_search: { type: 'actual_info_web_search' } }
    ],
    tool_choice: { type: 'function', function: { name: 'order_status' } },
    extra_body: { storage: true, user_info: { timezone: 'Europe/Oslo' } },
    profanity_check: false
  })
  t.equal(response.status, 200)
  const { path, body, headers } = lastUpstreamChat(emulator)
  t.equal(path, '/api/v2/chat/completions')
  t.equal(headers.accept, 'text/event-stream')
  const [, user] = body.messages
  t.match(user.content[1].files, [{ id: /^[0-9a-f-]{36}$/ }])
  t.strictSame(body, {
    model: 'GigaChat-3-Ultra',
    messages: [
      { role: 'system', content: [{ text: 'Be brief.' }] },
      { role: 'user', content: [{ text: 'Where is order B-7?' }, { files: user.content[1].files }] },
      {
        role: 'assistant',
        tools_state_id: stateId,
        content: [{ function_call: { name: 'order_status', arguments: { order_id: 'B-7' } } }]
      },
      {
        role: 'tool',
        tools_state_id: stateId,
        content: [{ function_result: { name: 'order_status', result: { status: 'packed' } } }]
      }
    ],
    model_options: { temperature: 0.2, top_p: 0.9, max_tokens: 400, reasoning: { effort: 'medium' } },
    tools: [
      { web_search: { type: 'actual_info_web_search' } },
      {
        functions: {
          specifications: [
            {
              name: 'order_status',
              description: 'Order state',
              parameters: { type: 'object', properties: { order_id: { type: 'string' } }, required: ['order_id'] },
              few_shot_examples: [{ request: 'check A-1', params: { order_id: 'A-1' } }],
              return_parameters: { type: 'object', properties: { status: { type: 'string' } } }
            }
          ]
        }
      }
    ],
    tool_config: { mode: 'forced', function_name: 'order_status' },
    storage: {},
    user_info: { timezone: 'Europe/Oslo' },
    disable_filter: true,
    stream: true
  })
})

t.test('options of the model move under model_options, the rest stands at the top', async t => {
  const options = {
    preset: 'p',
    repetition_penalty: 1.1,
    update_interval: 0.5,
    unnormalized_history: true,
    top_logprobs: 2
  }
  const top = {
    filter_config: { request_content: { neuro: true } },
    ranker_options: { enabled: true, top_n: 3 },
    flags: ['preprocess'],
    tools_state_id: stateId,
    unheard_of: { a: [1] }
  }
  // `top_logprobs` is a parameter of the SDK at the top level and has no effect there.
  const { top_logprobs, ...loose } = options
  t.equal((await ask(gateway, 'v2', 'hi', { more: { ...loose, ...top, extra_body: { top_logprobs } } })).status, 200)
  const { body } = lastUpstreamChat(emulator)
  t.strictSame(body, {
    model,
    messages: [{ role: 'user', content: [{ text: 'hi' }] }],
    model_options: options,
    ...top
  })
  await ask(gateway, 'v2', 'hi', { more: { function_ranker: { enabled: false }, profanity_check: 'odd' } })
  t.strictSame(lastUpstreamChat(emulator).body.ranker_options, { enabled: false })
  for (const name of ['function_ranker', 'profanity_check', 'disable_filter']) {
    t.notOk(name in lastUpstreamChat(emulator).body, name)
  }
  await ask(gateway, 'v2', 'hi', { more: { profanity_check: true, disable_filter: true } })
  t.equal(lastUpstreamChat(emulator).body.disable_filter, true, 'what is given wins')
})

t.test('a stored thread is started, continued without a model, and switched off', async t => {
  const first = await ask(gateway, 'v2', 'remember me', { more: { storage: true } })
  t.strictSame(lastUpstreamChat(emulator).body.storage, {})
  const thread_id = first.json.metadata.upstream_thread_id
  t.match(thread_id, String)
  const second = await ask(gateway, 'v2', '[[recall]]', { more: { storage: { thread_id, limit: null } } })
  t.equal(second.status, 200)
  t.match(second.json.choices[0].message.content, 'remember me')
  t.strictSame(lastUpstreamChat(emulator).body.storage, { thread_id })
  t.notOk('model' in lastUpstreamChat(emulator).body)
  const { frames } = await stream(gateway, 'v2', '[[recall]]', { more: { storage: { thread_id } } })
  t.match(textOf(frames), 'remember me')
  await ask(gateway, 'v2', 'hi', { more: { storage: false } })
  t.notOk('storage' in lastUpstreamChat(emulator).body)
})

t.test('formats go into model_options as they are', async t => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } } }
  await ask(gateway, 'v2', 'hi', {
    more: { response_format: { type: 'json_schema', json_schema: { name: 'n', description: 'd', schema } } }
  })
  t.strictSame(lastUpstreamChat(emulator).body.model_options, { response_format: { type: 'json_schema', schema } })
  await ask(gateway, 'v2', 'hi', { more: { response_format: { type: 'text' } } })
  t.notOk('model_options' in lastUpstreamChat(emulator).body)
  const regex = { type: 'regex', regex: '[A-Z]{3}-\\d{4}' }
  const response = await ask(gateway, 'v2', 'hi', {
    more: { extra_body: { model_options: { response_format: regex } } }
  })
  t.strictSame(lastUpstreamChat(emulator).body.model_options, { response_format: regex })
  t.match(response.json.choices[0].message.content, /^[A-Z]{3}-\d{4}$/)
})

t.test('hosted tools come under the upstream’s own names, each once, before the functions', async t => {
  const aliases = {
    web_search: ['web_search', 'web_search_preview', 'web_search_preview_2025_03_11', 'google_search', 'googleSearch'],
    code_interpreter: ['code_interpreter', 'code_execution', 'code_execution_20250522', 'codeExecution'],
    image_generate: ['image_generate', 'image_generation'],
    url_content_extraction: ['url_content_extraction', 'web_fetch', 'web_fetch_20250910', 'url_context', 'urlContext'],
    model_3d_generate: ['model_3d_generate']
  }
  for (const [kind, types] of Object.entries(aliases)) {
    for (const type of types) {
      const tools = [functionTool('f'), { type }, { type: types[0], ignored: true }, functionTool('f')]
      t.equal((await ask(gateway, 'v2', 'hi', { more: { tools } })).status, 200, type)
      const sent = lastUpstreamChat(emulator).body.tools
      t.strictSame(
        sent.map((entry: object) => Object.keys(entry)),
        [[kind], ['functions']],
        type
      )
      t.strictSame(sent[0][kind], {}, type)
      t.equal(sent[1].functions.specifications.length, 1)
    }
  }
  const configured = {
    type: 'web_search_preview',
    indexes: ['w'],
    name: 'x',
    description: 'x',
    web_search: { flags: ['a'], indexes: ['nested'] },
    web_search_preview: { flags: ['b'] }
  }
  await ask(gateway, 'v2', 'hi', { more: { tools: [configured] } })
  t.strictSame(lastUpstreamChat(emulator).body.tools, [{ web_search: { flags: ['b'], indexes: ['nested'] } }])
  // SDKs send null for unset members; the upstream refuses null at any depth.
  const approximate = { type: 'approximate', city: null, region: { code: null }, names: ['a', null] }
  const filled = { type: 'web_search', search_context_size: null, user_location: approximate }
  t.equal((await ask(gateway, 'v2', 'hi', { more: { tools: [filled] } })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body.tools, [
    { web_search: { user_location: { type: 'approximate', region: {}, names: ['a'] } } }
  ])
})

t.test('a tool choice forces a function by name, or any function without a name', async t => {
  const hosted = { type: 'code_interpreter' }
  for (const [tools, tool_choice, expected] of [
    [[hosted], { type: 'code_interpreter' }, { mode: 'forced', tool_name: 'code_interpreter' }],
    [[hosted], 'required', { mode: 'forced', tool_name: 'code_interpreter' }],
    [[hosted, { type: 'web_search' }], 'required', { mode: 'forced' }],
    [[functionTool('a')], 'required', { mode: 'forced', function_name: 'a' }],
    [[functionTool('a'), functionTool('b')], 'required', { mode: 'forced' }],
    [[functionTool('a')], 'auto', undefined]
  ] as const) {
    t.equal((await ask(gateway, 'v2', 'hi', { more: { tools, tool_choice } })).status, 200)
    t.strictSame(lastUpstreamChat(emulator).body.tool_config, expected)
  }
  await ask(gateway, 'v2', 'hi', { more: { tools: [hosted, functionTool('a')], tool_choice: 'none' } })
  t.notOk('tools' in lastUpstreamChat(emulator).body)
  const allowed_tools = { mode: 'required', tools: [{ type: 'function', function: { name: 'b' } }] }
  await ask(gateway, 'v2', 'hi', {
    more: { tools: [functionTool('a'), functionTool('b')], tool_choice: { type: 'allowed_tools', allowed_tools } }
  })
  const { body } = lastUpstreamChat(emulator)
  t.strictSame(body.tool_config, { mode: 'forced', function_name: 'b' })
  t.equal(body.tools[0].functions.specifications.length, 1)
})

t.test('a whole response is read with its time in any form, its thread, and its usage', async t => {
  for (const time of [{ created_at: 1767225600 }, { created_at: '1767225600' }, { created: 1767225600 }, {}]) {
    const { json, choice } = await answerWith({
      model: 'GigaChat-3-Ultra:32.3.18.5',
      ...time,
      messages: [{ role: 'assistant', content: [{ text: 'Packed.' }], message_id: 'message-7' }],
      thread_id: 'thread-7',
      finish_reason: 'stop',
      usage: {
        input_tokens: 150,
        input_tokens_details: { prompt_tokens: 150, cached_tokens: 4 },
        output_tokens: 3
      },
      additional_data: { execution_steps: [] },
      logprobs: null,
      unknown: 1
    })
    t.equal(choice.message.content, 'Packed.')
    t.equal(choice.finish_reason, 'stop')
    t.equal(json.model, model)
    t.strictSame(json.usage, {
      prompt_tokens: 150,
      completion_tokens: 3,
      total_tokens: 153,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 0 }
    })
    t.match(json.metadata, { upstream_thread_id: 'thread-7', upstream_message_id: 'message-7' })
  }
  const { choice, json } = await answerWith({ messages: [{ content: [{ text: 'bare' }] }] })
  t.equal(choice.message.content, 'bare')
  t.equal(choice.finish_reason, 'stop')
  t.notOk('usage' in json)
})

t.test('all messages of a response count, reasoning apart', async t => {
  const { message: whole } = await answerWith({
    messages: [
      { role: 'reasoning', content: [{ text: 'one ' }, { text: 'two' }] },
      { role: 'assistant', content: [{ text: 'Hello' }] },
      { role: 'assistant', content: [{ text: ', ' }, { text: 'world' }], reasoning_content: 'three' }
    ],
    finish_reason: 'stop'
  })
  t.equal(whole.content, 'Hello, world')
  t.match(whole.reasoning_content, /one two\s*three/)
})

t.test('calls are read in every shape, with ids that carry their state', async t => {
  const call = (name: string, args: unknown = { order_id: 'B-7' }) => ({ function_call: { name, arguments: args } })
  const shapes: Record<string, object[]> = {
    'a part': [{ role: 'assistant', tool_state_id: stateId, content: [call('order_status')] }],
    'text as arguments': [
      { role: 'assistant', tools_state_id: stateId, content: [call('order_status', '{"order_id":"B-7"}')] }
    ],
    'on the message': [{ role: 'assistant', functions_state_id: stateId, content: [], ...call('order_status') }],
    'state on the part': [{ role: 'assistant', content: [{ ...call('order_status'), function_state_id: stateId }] }]
  }
  for (const [shape, messages] of Object.entries(shapes)) {
    const { choice } = await answerWith({ messages, finish_reason: 'function_call' }, { tools: orderTools })
    t.equal(choice.finish_reason, 'tool_calls', shape)
    t.equal(choice.message.content, null)
    t.equal(choice.message.tool_calls.length, 1, shape)
    const [only] = choice.message.tool_calls
    t.strictSame(JSON.parse(only.function.arguments), { order_id: 'B-7' }, shape)
    t.match(readToolCallId(only.id), { isOwn: true, stateId }, shape)
  }
})

t.test('several calls keep their order and get distinct ids, in one message or in several', async t => {
  const part = (name: string, id?: string) => ({
    function_call: { name, arguments: {} },
    ...(id === undefined ? {} : { id })
  })
  for (const messages of [
    [{ role: 'assistant', tool_state_id: stateId, content: [part('a'), part('a'), part('b')] }],
    [{ role: 'assistant', tool_state_id: stateId, content: [part('a', 'p1'), part('a', 'p2'), part('b', 'p3')] }],
    [
      { role: 'assistant', tool_state_id: stateId, content: [part('a')] },
      { role: 'assistant', tool_state_id: `${stateId.slice(0, -1)}2`, content: [part('a'), part('b')] }
    ]
  ]) {
    const tools = [functionTool('a'), functionTool('b')]
    const body = { messages, finish_reason: 'function_call' }
    const { message: whole } = await answerWith(body, { tools })
    t.strictSame(
      whole.tool_calls.map((call: { function: { name: string } }) => call.function.name),
      ['a', 'a', 'b']
    )
    const ids = whole.tool_calls.map((call: { id: string }) => call.id)
    t.equal(new Set(ids).size, 3)
    const frames = await streamScripted(
      [event('response.message.delta', body), done({ finish_reason: 'function_call' })],
      'end',
      {
        tools
      }
    )
    t.strictSame(
      callsOf(frames)
        .filter(call => call.id !== undefined)
        .map(call => [call.index, call.function.name]),
      [
        [0, 'a'],
        [1, 'a'],
        [2, 'b']
      ]
    )
    // Back with their results they stand under the state ids that they came with.
    await post(url, {
      model,
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: null, tool_calls: whole.tool_calls },
        ...ids
          .map((id: string, index: number) => ({ role: 'tool', tool_call_id: id, content: `{"n":${index}}` }))
          .reverse()
      ]
    })
    const sent = lastUpstreamChat(emulator).body.messages.slice(1)
    const results = sent.filter((one: { role: string }) => one.role === 'tool')
    t.strictSame(
      results.map(
        (one: { content: Array<{ function_result: { result: object } }> }) => one.content[0]?.function_result.result
      ),
      [{ n: 0 }, { n: 1 }, { n: 2 }],
      'the results stand in the order of the calls'
    )
    const given = messages.map(one => one.tool_state_id)
    t.strictSame([...new Set(sent.map((one: { tools_state_id: string }) => one.tools_state_id))], given)
  }
})

t.test('sources of a search become a list and annotations, and their markers go', async t => {
  const sources = {
    '1': { url: 'https://example.test/a', title: 'A' },
    '2': { url: 'https://example.test/b', title: 'B [sic]' }
  }
  const { message: whole } = await answerWith({
    messages: [
      {
        role: 'assistant',
        tool_state_id: stateId,
        content: [{ text: 'News[sources=[2]] and more[sources=[1, 2]].', inline_data: { images: [], sources } }]
      }
    ],
    finish_reason: 'stop'
  })
  t.equal(
    whole.content,
    'News and more.\n\nSources:\n- [B \\[sic\\]](https://example.test/b)\n- [A](https://example.test/a)'
  )
  t.match(whole.annotations[0], { type: 'url_citation', url_citation: { url: 'https://example.test/b' } })
  t.strictSame(whole.inline_data.sources, sources)

  const frames = await streamScripted([
    event('response.tool.in_progress', message([{ tool_execution: { name: 'web_search' } }])),
    event('response.tool.in_progress', message([{ tool_execution: { name: 'web_search', seconds_left: 3 } }])),
    event('response.tool.completed', message([{ tool_execution: { name: 'web_search', status: 'success' } }])),
    delta({ inline_data: { images: [], sources } }),
    delta({ text: 'News[sour' }),
    delta({ text: 'ces=[2' }),
    delta({ text: ']] and more[sources=[1, 2]].' }),
    done({ messages: [{ role: 'assistant', tool_state_id: stateId }] })
  ])
  t.equal(textOf(frames), whole.content)
  t.notOk(frames.some(frame => frame.choices?.[0]?.delta.content?.includes('[sour')))
  const runs = frames.flatMap(frame => frame.choices?.[0]?.delta.tool_executions ?? [])
  t.strictSame([...new Set(runs.map((run: { name: string }) => run.name))], ['web_search'])
  t.equal(runs.at(-1)?.status, 'completed')
  const { metadata } = frames.findLast(frame => frame.metadata?.upstream_called_tools !== undefined)
  t.match(JSON.parse(metadata.upstream_called_tools), [{ index: 0, name: 'web_search' }])
  t.equal(metadata.upstream_tool_state_id, stateId)
})

t.test('the words for the state of a run are understood', async t => {
  for (const [word, expected] of [
    ['success', 'completed'],
    ['completed', 'completed'],
    ['complete', 'completed'],
    ['done', 'completed'],
    ['fail', 'failed'],
    ['failed', 'failed'],
    ['failure', 'failed'],
    ['error', 'failed']
  ] as const) {
    const { message: whole } = await answerWith({
      messages: [
        {
          role: 'assistant',
          content: [{ tool_execution: { name: 'code_interpreter', status: word, censored: true } }, { text: 'x' }]
        }
      ],
      finish_reason: 'stop'
    })
    t.strictSame(whole.tool_executions, [{ name: 'code_interpreter', status: expected, censored: true }], word)
  }
})

t.test('a generated picture comes with its bytes, and missing bytes do no harm', async t => {
  const more = { tools: [{ type: 'image_generation' }] }
  const picture = { id: /^[0-9a-f-]{36}$/, mime: 'image/jpeg', target: 'image', content: /^[A-Za-z0-9+/]+=*$/ }
  const whole = await ask(gateway, 'v2', '[[builtin:image_generate]]', { more })
  t.match(whole.json.choices[0].message.files, [picture])
  t.equal(Buffer.from(whole.json.choices[0].message.files[0].content, 'base64').readUInt16BE(), 0xffd8, 'a JPEG')
  const { frames } = await stream(gateway, 'v2', '[[builtin:image_generate]]', { more })
  t.match(
    frames.flatMap(frame => frame.choices?.[0]?.delta.files ?? []),
    [picture]
  )
  for (const { method, headers } of received(emulator, '/content')) {
    t.equal(method, 'GET')
    t.equal(headers.accept, 'application/jpg')
  }
  t.equal(received(emulator, '/content').length, 2)
  emulator.failNext({ path: '/files/*/content', status: 500 })
  const without = await ask(gateway, 'v2', '[[builtin:image_generate]]', { more })
  t.equal(without.status, 200)
  t.notOk('content' in without.json.choices[0].message.files[0])
})

t.test('the contract’s stream arrives as one role, its deltas, one finish, the usage and the end mark', async t => {
  const frames = await streamScripted([delta({ text: 'Pack' }), delta({ text: 'ed.' }), done()], 'end', withUsage)
  t.equal(textOf(frames), 'Packed.')
  t.equal(frames.filter(frame => frame.choices?.[0]?.delta.role !== undefined).length, 1)
  t.equal(frames[0].choices[0].delta.role, 'assistant')
  t.equal(frames.at(-3).choices[0].finish_reason, 'stop')
  t.match(frames.at(-2).usage, { total_tokens: 27, prompt_tokens_details: { cached_tokens: 4 } })
  t.equal(frames.at(-1), '[DONE]')
})

t.test('payloads are recognized by their members, not by their event names', async t => {
  const unnamed = (text: string) => text.replace(/^event: .*\n/, '')
  for (const chunks of [
    [unnamed(delta({ text: 'same' })), unnamed(done())],
    [delta({ text: 'same' }).replace('response.message.delta', 'response.never.heard'), done()],
    [event('response.never.heard', { a: 1 }), 'event: empty\n\n', delta({ text: 'same' }), done(), 'data: [DONE]\n\n'],
    [delta({ text: 'same' }), done({ messages: [{ role: 'assistant', content: [{ text: 'same' }] }] })],
    [done({ messages: [{ role: 'assistant', content: [{ text: 'same' }] }] })],
    [event('response.message.delta', { messages: [{ content: [{ text: 'sa' }] }] }), delta({ text: 'me' }), done()]
  ]) {
    const frames = await streamScripted(chunks)
    t.equal(textOf(frames), 'same')
    t.equal(frames.at(-2).choices[0].finish_reason, 'stop')
  }
})

t.test('a call is delivered from any event, with its state id wherever that comes (B1, B3)', async t => {
  const call = { function_call: { name: 'order_status', arguments: { order_id: 'B-7' } } }
  const ends = done({ finish_reason: 'function_call' })
  const withState = (content: object[]) => ({ messages: [{ role: 'assistant', tool_state_id: stateId, content }] })
  const streams: Record<string, string[]> = {
    'in a delta with its state': [event('response.message.delta', withState([call])), ends],
    'only in the last event': [done({ finish_reason: 'function_call', ...withState([call]) })],
    'in a delta, the state in the last event': [
      delta(call),
      done({ finish_reason: 'function_call', tools_state_id: stateId })
    ],
    'in both': [
      event('response.message.delta', withState([call])),
      done({ finish_reason: 'function_call', ...withState([call]) })
    ]
  }
  for (const [where, chunks] of Object.entries(streams)) {
    const frames = await streamScripted(chunks, 'end', { tools: orderTools })
    const calls = callsOf(frames)
    t.equal(calls.filter(one => one.id !== undefined).length, 1, where)
    t.match(readToolCallId(calls[0].id), { stateId, isOwn: true }, where)
    t.strictSame(JSON.parse(calls.map(one => one.function.arguments ?? '').join('')), { order_id: 'B-7' }, where)
    t.equal(frames.findLast(frame => frame.choices?.[0]?.finish_reason)?.choices[0].finish_reason, 'tool_calls')
  }
})

t.test('reasoning comes in messages of its own role or beside the text', async t => {
  const frames = await streamScripted([
    event('response.message.delta', { messages: [{ role: 'reasoning', content: [{ text: 'be' }] }] }),
    event('response.message.delta', { messages: [{ role: 'assistant', content: [], reasoning_content: 'cause' }] }),
    delta({ text: '<thi' }),
    delta({ text: 'nk>!</think>so' }),
    done()
  ])
  t.equal(reasoningOf(frames), 'because\n!', 'reasoning of another kind stands on a line of its own')
  t.equal(textOf(frames), 'so')
})

t.test('frames are read with any line end, comment and chunk boundary (A12, A13)', async t => {
  const text = 'Привет, мир 🌍'
  const plain = `${delta({ text })}${done()}`
  const forms: Record<string, unknown[]> = {
    'no space after the colon': [plain.replaceAll(': ', ':')],
    'carriage returns': [plain.replaceAll('\n', '\r\n')],
    comments: [plain.replaceAll('\n\n', '\n\n: ping\n\n')],
    'data on several lines': [plain.replaceAll(',"created_at"', '\ndata: ,"created_at"')],
    'no last blank line': [plain.slice(0, -2)],
    'one byte at a time': [...Buffer.from(plain)].map(byte => ({ base64: Buffer.of(byte).toString('base64') }))
  }
  for (const [form, chunks] of Object.entries(forms)) {
    const frames = await streamScripted(chunks)
    t.equal(textOf(frames), text, form)
    t.equal(frames.at(-1), '[DONE]', form)
    t.notOk(frames.at(-2).error, form)
  }
})

t.test('an error event ends the stream as an error, before anything was said as an HTTP one (A14, A16)', async t => {
  for (const [payload, status] of [
    [{ status: 429, message: 'Too Many Requests' }, 429],
    [{ error: { status: 422, message: 'Invalid params' } }, 422],
    [{}, 500]
  ] as const) {
    for (const name of ['response.error', 'response.message.delta']) {
      if (name !== 'response.error' && Object.keys(payload).length === 0) continue
      const chunk = `event: ${name}\ndata: ${JSON.stringify(payload)}\n\n`
      t.equal((await askScripted({ chunks: [chunk] }, { stream: true })).status, status, name)
      const frames = await streamScripted([delta({ text: 'a' }), chunk])
      t.equal(textOf(frames), 'a')
      t.match(frames.at(-1).error, { message: String, type: String })
      t.notOk(frames.some(frame => frame.choices?.[0]?.finish_reason))
    }
    if (status === 500) continue
    t.equal((await askScripted({ body: payload })).status, status, 'as a whole answer')
  }
})

t.test('an end without an end is an error, a last event without a reason is an end (A11)', async t => {
  for (const end of ['end', 'destroy']) {
    const cut = await streamScripted([delta({ text: 'half' })], end)
    t.equal(textOf(cut), 'half')
    t.match(cut.at(-1).error, { type: 'server_error', code: /^(provider_protocol_error|stream_error)$/ })
  }
  const bare = event('response.message.done', { usage: { input_tokens: 1, output_tokens: 1 } })
  const unfinished = await streamScripted([delta({ text: 'whole' }), bare], 'end', withUsage)
  t.equal(unfinished.at(-3).choices[0].finish_reason, 'stop')
  t.equal(unfinished.at(-2).usage.total_tokens, 2)
})
