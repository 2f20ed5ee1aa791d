// The v1 chat contract (upstream.md 3) as the upstream and the client see it through a started
// gateway.

import t from 'tap'
import { readToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat, post, readFrames } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { ask, imagePart, model, reasoningOf, textOf, textPart } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
const url = `${gateway.url}/v1/chat/completions`

/** Asks, and the upstream answers exactly this. */
function askScripted(response: object, more: object = {}) {
  emulator.respondNext(response)
  return ask(gateway, 'v1', 'hi', { more })
}

async function streamScripted(chunks: unknown[], end = 'end', more: object = {}) {
  const response = await askScripted({ chunks, end }, { stream: true, ...more })
  return response.status === 200 ? readFrames(response.text) : [response.json]
}

const frame = (payload: object): string => `data: ${JSON.stringify(payload)}\n\n`
const delta = (content: object, more: object = {}): string =>
  frame({ choices: [{ delta: content, index: 0, ...more }], created: 1767225600, model: 'GigaChat-2:2.0.28.2' })
const DONE = 'data: [DONE]\n\n'
const ASKS_FOR_USAGE = { stream_options: { include_usage: true } }
const stateId = '77d3fb14-457a-46ba-937e-8d856156d003'
const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }]

t.test('a whole conversation is written as the contract’s example', async t => {
  const response = await post(url, {
    model: 'GigaChat-2-Max',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [textPart('Weather in Oslo? See the photo.'), imagePart()] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
        ]
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"temp":4}' }
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'Current weather',
          strict: true,
          parameters: { type: 'object', properties: { city: { type: ['string', 'null'] } }, required: ['city'] },
          few_shot_examples: [{ request: 'weather in Rome', params: { city: 'Rome' } }],
          return_parameters: { type: 'object', properties: { temp: { type: 'integer' } } }
        }
      }
    ],
    temperature: 0.7,
    max_tokens: 256,
    repetition_penalty: 1.05,
    profanity_check: false,
    reasoning_effort: 'high'
  })
  t.equal(response.status, 200)
  const { body } = lastUpstreamChat(emulator)
  t.match(body.messages[1].attachments, [/^[0-9a-f-]{36}$/])
  t.strictSame(body, {
    model: 'GigaChat-2-Max',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather in Oslo? See the photo.', attachments: body.messages[1].attachments },
      { role: 'assistant', content: '', function_call: { name: 'get_weather', arguments: { city: 'Oslo' } } },
      { role: 'function', name: 'get_weather', content: '{"temp":4}' }
    ],
    functions: [
      {
        name: 'get_weather',
        description: 'Current weather',
        parameters: { type: 'object', properties: { city: { type: ['string', 'null'] } }, required: ['city'] },
        few_shot_examples: [{ request: 'weather in Rome', params: { city: 'Rome' } }],
        return_parameters: { type: 'object', properties: { temp: { type: 'integer' } } }
      }
    ],
    temperature: 0.7,
    max_tokens: 256,
    repetition_penalty: 1.05,
    profanity_check: false,
    reasoning_effort: 'high'
  })
})

t.test('vendor fields stand at the top of the body, and a typed field of the same name wins', async t => {
  const vendor = {
    top_p: 0.5,
    update_interval: 0.5,
    function_ranker: { enabled: true, top_n: 3 },
    flags: ['preprocess'],
    storage: { is_stateful: false },
    unheard_of: { deep: [1, { a: 'b' }] }
  }
  t.equal((await ask(gateway, 'v1', 'hi', { more: vendor })).status, 200)
  t.match(lastUpstreamChat(emulator).body, vendor)
  const extra_body = { flags: ['from-extra'], temperature: 2, model: 'other', stream: true, messages: [] }
  t.equal((await ask(gateway, 'v1', 'hi', { more: { ...vendor, temperature: 0.5, extra_body } })).status, 200)
  const { body } = lastUpstreamChat(emulator)
  t.strictSame(body.flags, ['from-extra'])
  t.equal(body.temperature, 0.5)
  t.equal(body.model, model)
  t.strictSame(body.messages, [{ role: 'user', content: 'hi' }])
  t.notOk('stream' in body)
})

t.test('a forced function is an object, an unforced one is nothing', async t => {
  const forced = { type: 'function', function: { name: 'get_weather' } }
  await ask(gateway, 'v1', 'hi', { more: { tools, tool_choice: forced } })
  t.strictSame(lastUpstreamChat(emulator).body.function_call, { name: 'get_weather' })
  for (const tool_choice of ['auto', null]) {
    await ask(gateway, 'v1', 'hi', { more: { tools, tool_choice } })
    t.notOk('function_call' in lastUpstreamChat(emulator).body)
  }
})

t.test('a whole response needs only choices, and unknown members do no harm', async t => {
  const choices = [{ message: { content: 'Four degrees.', role: 'assistant' }, index: 0, finish_reason: 'stop' }]
  const bare = await askScripted({ body: { choices } })
  t.equal(bare.status, 200)
  t.match(bare.json, { object: 'chat.completion', model, created: Number })
  t.equal(bare.json.choices[0].message.content, 'Four degrees.')
  t.notOk('usage' in bare.json)
  const rich = await askScripted({
    body: {
      choices,
      created: '1767225600',
      model: 'GigaChat-2:2.0.28.2',
      object: 'chat.completions',
      usage: {
        prompt_tokens: 17,
        completion_tokens: 5,
        total_tokens: 22,
        precached_prompt_tokens: 2,
        system_tokens: 1
      },
      thread_id: 'thread-7',
      message_id: 'message-7',
      unknown: { a: 1 }
    }
  })
  t.equal(rich.status, 200)
  t.equal(rich.json.model, model, 'the build of the upstream is not shown')
  t.strictSame(rich.json.usage, {
    prompt_tokens: 17,
    completion_tokens: 5,
    total_tokens: 22,
    prompt_tokens_details: { cached_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 0 }
  })
  t.match(rich.json.metadata, { upstream_thread_id: 'thread-7', upstream_message_id: 'message-7' })
  t.notOk('unknown' in rich.json)
})

t.test('a call in a whole response carries its state id, whether its arguments are an object or text', async t => {
  for (const [args, text] of [
    [{ city: 'Oslo' }, '{"city":"Oslo"}'],
    ['{"city": "Oslo"}', '{"city": "Oslo"}']
  ] as const) {
    const message = {
      content: '',
      role: 'assistant',
      function_call: { name: 'get_weather', arguments: args },
      functions_state_id: stateId
    }
    const response = await askScripted(
      { body: { choices: [{ message, index: 0, finish_reason: 'function_call' }], object: 'chat.completion' } },
      { tools }
    )
    const [choice] = response.json.choices
    t.equal(choice.finish_reason, 'tool_calls')
    t.equal(choice.message.content, null)
    const [call] = choice.message.tool_calls
    t.match(call, { type: 'function', function: { name: 'get_weather', arguments: text } })
    t.match(readToolCallId(call.id), { isOwn: true, stateId })
    for (const name of ['functions_state_id', 'function_call']) t.notOk(name in choice.message, name)
  }
})

t.test('reasoning beside the text and inside the text comes out in one place', async t => {
  const message = { role: 'assistant', reasoning_content: 'first', content: '<THINK>second</Think>Answer<think>open' }
  const response = await askScripted({ body: { choices: [{ message, index: 0, finish_reason: 'stop' }] } })
  t.equal(response.json.choices[0].message.content, 'Answer')
  t.equal(response.json.choices[0].message.reasoning_content, 'first\nsecond\nopen')
})

t.test('every finish word has its response', async t => {
  for (const [word, expected] of [
    ['stop', 'stop'],
    ['length', 'length'],
    ['blacklist', 'content_filter'],
    ['request_blacklist', 'content_filter'],
    ['response_blacklist', 'content_filter'],
    ['request_whitelist', 'content_filter'],
    ['request_filter', 'content_filter'],
    ['content_filter', 'content_filter']
  ] as const) {
    const response = await ask(gateway, 'v1', `[[finish:${word}]]`)
    t.equal(response.json.choices[0].finish_reason, expected, word)
  }
  const odd = await ask(gateway, 'v1', '[[finish:never_heard]]')
  t.equal(odd.json.choices[0].finish_reason, 'stop')
  t.equal(odd.json.metadata.upstream_finish_reason, 'never_heard')
  for (const word of ['error', 'function_call_error']) {
    const response = await ask(gateway, 'v1', `[[finish:${word}]]`)
    t.equal(response.status, 500)
    t.match(response.json.error, { type: 'server_error', code: 'upstream_generation_error' })
  }
})

t.test(
  'the contract’s stream arrives as one role, its deltas, one finish, its usage and the end mark (decisions.md 107)',
  async t => {
    const usage = { prompt_tokens: 17, completion_tokens: 5, total_tokens: 22, precached_prompt_tokens: 2 }
    const chunks = [
      delta({ content: 'Four', role: 'assistant' }),
      delta({ content: ' degrees.' }),
      frame({ choices: [{ delta: { content: '' }, index: 0, finish_reason: 'stop' }], object: 'x', usage }),
      DONE
    ]
    const frames = await streamScripted(chunks, 'end', ASKS_FOR_USAGE)
    t.equal(textOf(frames), 'Four degrees.')
    t.strictSame(
      frames.map(one => one.choices?.[0]?.finish_reason ?? null),
      [null, null, 'stop', null, null]
    )
    t.equal(frames[0].choices[0].delta.role, 'assistant')
    t.equal(frames.filter(one => one.choices?.[0]?.delta.role !== undefined).length, 1)
    t.equal(frames.at(-2).usage.prompt_tokens_details.cached_tokens, 2)
    t.equal(frames.at(-1), '[DONE]')
  }
)

t.test('a stream without role, usage or end mark is still a response (A8, A9, A10, A11)', async t => {
  const frames = await streamScripted([
    delta({ content: 'a' }, { finish_reason: '' }),
    delta({ content: 'b', role: 'assistant' }, { finish_reason: '' }),
    delta({ content: '' }, { finish_reason: 'length' })
  ])
  t.equal(textOf(frames), 'ab')
  t.equal(frames[0].choices[0].delta.role, 'assistant')
  t.equal(frames.filter(one => one.choices?.[0]?.delta.role !== undefined).length, 1)
  t.equal(frames.at(-2).choices[0].finish_reason, 'length')
  t.notOk('usage' in frames.at(-2))
  const unfinished = await streamScripted([delta({ content: 'a' }), DONE])
  t.equal(unfinished.at(-2).choices[0].finish_reason, 'stop', 'the end mark is an end')
  t.equal(unfinished.at(-1), '[DONE]')
})

t.test('chunks without choices bring usage and no delta, wherever they stand (A1, A21)', async t => {
  const usage = frame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } })
  const text = delta({ content: 'text' })
  const finish = delta({ content: '' }, { finish_reason: 'stop' })
  for (const chunks of [
    [usage, text, finish],
    [text, usage, finish],
    [text, finish, usage]
  ]) {
    const frames = await streamScripted([...chunks, DONE], 'end', ASKS_FOR_USAGE)
    t.equal(textOf(frames), 'text')
    t.equal(frames.findLast(one => one.usage)?.usage.total_tokens, 7)
    t.ok(frames.slice(0, -1).every(one => one.choices.every((choice: { index: number }) => choice.index === 0)))
  }
})

t.test('a call is delivered from any chunk, whole or in pieces, and once (B1, B3, B5)', async t => {
  const call = { name: 'get_weather', arguments: { city: 'Oslo' } }
  const ending = delta({ content: '' }, { finish_reason: 'function_call' })
  const streams: Record<string, string[]> = {
    'in the finish chunk': [
      delta(
        { role: 'assistant', content: '', function_call: call, functions_state_id: stateId },
        {
          finish_reason: 'function_call'
        }
      )
    ],
    'in a chunk of its own': [
      delta({ role: 'assistant', content: '', function_call: call, functions_state_id: stateId }),
      ending
    ],
    'with its state id later': [
      delta({ role: 'assistant', content: '', function_call: call }),
      delta({ content: '', functions_state_id: stateId }, { finish_reason: 'function_call' })
    ],
    'as text': [
      delta({ function_call: { name: 'get_weather', arguments: '{"city":"Oslo"}' }, functions_state_id: stateId }),
      ending
    ],
    'in pieces of text': [
      delta({ function_call: { name: 'get_weather', arguments: '{"ci' }, functions_state_id: stateId }),
      delta({ function_call: { arguments: 'ty":"Os' } }),
      delta({ function_call: { name: '', arguments: 'lo"}' } }),
      ending
    ]
  }
  for (const [where, chunks] of Object.entries(streams)) {
    const frames = await streamScripted([...chunks, DONE], 'end', { tools })
    const calls = frames.flatMap(one => one.choices?.[0]?.delta.tool_calls ?? [])
    t.equal(calls.filter(({ id }) => id !== undefined).length, 1, where)
    t.equal(calls.filter(one => one.function?.name !== undefined).length, 1, where)
    t.equal(calls[0].function.name, 'get_weather')
    t.ok(calls.every(({ index }) => index === 0))
    t.equal(calls.map(one => one.function.arguments ?? '').join(''), '{"city":"Oslo"}', where)
    t.equal(frames.findLast(one => one.choices?.[0]?.finish_reason)?.choices[0].finish_reason, 'tool_calls', where)
    t.notOk(frames.some(one => one.choices?.[0]?.delta.function_call !== undefined))
  }
})

t.test('text and a call in one turn end with the word that makes agents run it (A6, A7)', async t => {
  const frames = await streamScripted(
    [
      delta({ role: 'assistant', content: 'Let me look.' }),
      delta({ content: '', function_call: { name: 'get_weather', arguments: {} } }, { finish_reason: 'stop' }),
      DONE
    ],
    'end',
    { tools }
  )
  t.equal(textOf(frames), 'Let me look.')
  t.equal(frames.findLast(one => one.choices?.[0]?.finish_reason)?.choices[0].finish_reason, 'tool_calls')
})

t.test('reasoning deltas come as reasoning, empty and null ones as nothing (C2)', async t => {
  const frames = await streamScripted([
    delta({ role: 'assistant', content: '', reasoning_content: 'be' }),
    delta({ content: '', reasoning_content: 'cause' }),
    delta({ content: 'so', reasoning_content: null }),
    delta({ content: ' it is', reasoning_content: '' }),
    delta({ content: '' }, { finish_reason: 'stop' }),
    DONE
  ])
  t.equal(reasoningOf(frames), 'because')
  t.equal(textOf(frames), 'so it is')
})

t.test('frames are read with any line end, comment, name and chunk boundary (A12, A13)', async t => {
  const text = 'Привет, мир 🌍'
  const plain = `${delta({ content: text })}${delta({ content: '' }, { finish_reason: 'stop' })}${DONE}`
  const forms: Record<string, unknown[]> = {
    'no space after the colon': [plain.replaceAll('data: ', 'data:')],
    'carriage returns': [plain.replaceAll('\n', '\r\n')],
    'comments and names': [`: hello\n\nevent: message\nid: 7\nretry: 5\n${plain.replaceAll('\n\n', '\n\n: ping\n\n')}`],
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

t.test('an end without an end is an error, before anything was said an HTTP one (A11, A14)', async t => {
  for (const end of ['end', 'destroy']) {
    const cut = await streamScripted([delta({ content: 'half' })], end)
    t.equal(textOf(cut), 'half')
    t.match(cut.at(-1).error, { type: 'server_error', code: /^(provider_protocol_error|stream_error)$/ })
    const [nothing] = await streamScripted([': nothing to say\n\n'], end)
    t.match(nothing?.error, { type: 'server_error', code: /^provider_/ })
  }
})

t.test('an error inside a 200 is an error, with its own status (A16)', async t => {
  for (const [body, status] of [
    [{ status: 429, message: 'Too Many Requests' }, 429],
    [{ error: { message: 'quota', code: 429 } }, 429],
    [{ error: 'broken' }, 500],
    [{ status: 404, message: 'No such model' }, 404]
  ] as const) {
    t.equal((await askScripted({ body })).status, status)
    const whole = await askScripted({ body }, { stream: true })
    t.equal(whole.status, status, 'instead of a stream')
    emulator.respondNext({ chunks: [frame(body), DONE] })
    t.equal((await ask(gateway, 'v1', 'hi', { more: { stream: true } })).status, status, 'as the first frame')
    const late = await streamScripted([delta({ content: 'a' }), frame(body)])
    t.equal(textOf(late), 'a')
    t.match(late.at(-1).error, { message: String, type: status === 429 ? 'rate_limit_error' : String })
  }
})

t.test('a 200 that cannot be used is a failure of the provider', async t => {
  for (const kind of ['', ':empty', ':array', ':null', ':object', ':html']) {
    for (const stream of [false, true]) {
      const response = await ask(gateway, 'v1', `[[badjson${kind}]]`, { more: { stream } })
      t.equal(response.status, 502, `${kind} ${stream}`)
      t.match(response.json.error, { type: 'server_error', code: 'provider_protocol_error' })
    }
  }
})
