import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat, post, readFrames } from '../../support/client.ts'
import { listNullMembers } from '../../support/null-members.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'

const model = 'GigaChat-2'
const { emulator, gateway } = await startSharedGateway()
const v1 = `${gateway.url}/v1/chat/completions`
const v2 = `${gateway.url}/v2/chat/completions`

function ask(url: string, content: string, more: object = {}) {
  return post(url, { model, messages: [{ role: 'user', content }], ...more })
}

async function stream(url: string, content: string, more: object = {}) {
  return readFrames((await ask(url, content, { stream: true, ...more })).text)
}

/** What the SDK's helper accumulates from the stream of the same request. */
function accumulate(version: 'v1' | 'v2', content: string, more: object = {}) {
  const client = new OpenAI({ baseURL: `${gateway.url}/${version}`, apiKey: 'unused', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content }]
  return client.chat.completions.stream({ model, messages, ...more }).finalChatCompletion()
}

function contentOf(frames: Array<{ choices?: Array<{ delta: { content?: string } }> }>): string {
  return frames.map(frame => frame.choices?.[0]?.delta.content ?? '').join('')
}

t.test('completions 28: a stop string ends the text of the response', async t => {
  for (const url of [v1, v2]) {
    const response = await ask(url, '[[text:abENDcd]]', { stop: ['END'] })
    t.equal(response.json.choices[0].message.content, 'ab')
    t.equal(response.json.choices[0].finish_reason, 'stop')
    t.notOk('stop' in lastUpstreamChat(emulator).body)
    const frames = await stream(url, '[[chunks:a|bE|N|Dcd|ef]]', { stop: 'END' })
    t.equal(contentOf(frames), 'ab')
    t.equal(frames.at(-1), '[DONE]')
  }
  t.equal((await ask(v1, 'x', { stop: ['a', 'b', 'c', 'd', 'e'] })).status, 400)
})

t.test('completions 59: the upstream’s finish reasons are mapped to those of the SDK', async t => {
  for (const url of [v1, v2]) {
    for (const [word, expected] of [
      ['blacklist', 'content_filter'],
      ['length', 'length'],
      ['stop', 'stop'],
      ['request_filter', 'content_filter'],
      ['something_new', 'stop']
    ] as const) {
      const response = await ask(url, `[[finish:${word}]]`)
      t.equal(response.json.choices[0].finish_reason, expected, word)
      const frames = await stream(url, `[[finish:${word}]]`)
      t.equal(frames.findLast(frame => frame.choices?.[0]?.finish_reason)?.choices[0].finish_reason, expected, word)
    }
    const failed = await ask(url, '[[finish:error]]')
    t.equal(failed.status, 500)
    t.match(failed.json.error, { code: 'upstream_generation_error', type: 'server_error' })
    t.equal(failed.headers.get('x-should-retry'), 'false')
  }
})

t.test('completions 60: reasoning inside the text is removed from it', async t => {
  for (const url of [v1, v2]) {
    const { message } = (await ask(url, '[[text:<think>hm</think>yes]]')).json.choices[0]
    t.equal(message.content, 'yes')
    t.equal(message.reasoning_content, 'hm')
  }
})

t.test('completions 61: cached tokens are never null (D3)', async t => {
  for (const [url, directive, expected] of [
    [v1, '[[usage:10,5,2]]', 2],
    [v2, '[[usage:10,5,4]]', 4],
    [v1, '[[usage:10,5]]', 0],
    [v2, '[[usage:10,5]]', 0]
  ] as const) {
    const { usage } = (await ask(url, directive)).json
    t.equal(usage.prompt_tokens_details.cached_tokens, expected)
    t.equal(usage.total_tokens, 15)
  }
})

t.test('completions 62: a v1 stream has one role, one finish and an end mark (A8, A9)', async t => {
  const frames = await stream(v1, '[[chunks:Hel|lo|]]')
  t.equal(lastUpstreamChat(emulator).body.stream, true)
  t.equal(frames.at(-1), '[DONE]')
  t.equal(frames[0].choices[0].delta.role, 'assistant')
  t.equal(frames.filter(frame => frame.choices?.[0]?.delta.role !== undefined).length, 1)
  t.equal(contentOf(frames), 'Hello')
  const last = frames.at(-2)
  t.equal(last.choices[0].finish_reason, 'stop')
  t.notOk('usage' in last)
  for (const frame of frames.slice(0, -2)) {
    t.equal(frame.choices[0].finish_reason, null)
    t.equal(frame.choices[0].index, 0)
    t.notOk('usage' in frame)
    t.equal(frame.id, last.id)
    t.equal(frame.created, last.created)
  }
  const final = await accumulate('v1', '[[chunks:Hel|lo|]]')
  t.match(final.choices, [{ message: { content: 'Hello' }, finish_reason: 'stop' }])
})

t.test('decisions.md 40: the only null members are those that the SDK’s types require', async t => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  for (const url of [v1, v2]) {
    for (const [prompt, content] of [
      ['[[text:Hi]]', []],
      ['[[reason:why]][[text:Hi]]', []],
      ['[[tool:f {}]]', ['content']],
      ['[[nousage]]', []]
    ] as const) {
      const whole = await ask(url, prompt, { tools })
      t.equal(whole.status, 200)
      t.strictSame(listNullMembers(whole.json), [...content, 'logprobs', 'refusal'], prompt)
      const frames = await stream(url, prompt, { tools })
      t.strictSame(listNullMembers(...frames), ['finish_reason', 'logprobs'], prompt)
    }
  }
})

t.test(
  'decisions.md 107: usage is on a chunk of its own behind the finish chunk, and only where it was asked',
  async t => {
    for (const url of [v1, v2]) {
      for (const more of [{}, { stream_options: {} }, { stream_options: { include_usage: false } }]) {
        const frames = await stream(url, '[[chunks:Hel|lo]][[usage:19,8,5]]', more)
        t.equal(frames.at(-2).choices[0].finish_reason, 'stop')
        t.notOk(
          frames.some(frame => frame !== '[DONE]' && 'usage' in frame),
          JSON.stringify(more)
        )
      }
      const frames = await stream(url, '[[chunks:Hel|lo]][[usage:19,8,5]]', { stream_options: { include_usage: true } })
      const [finish, usage] = frames.slice(-3)
      t.equal(finish.choices[0].finish_reason, 'stop')
      t.strictSame(usage.choices, [])
      t.match(usage.usage, { prompt_tokens: 19, completion_tokens: 8, total_tokens: 27 })
      for (const frame of frames.slice(0, -2)) t.equal(frame.usage, null)
    }
  }
)

t.test('completions 63: usage is sent in a separate chunk when requested (D1)', async t => {
  for (const url of [v1, v2]) {
    const frames = await stream(url, 'hi', { stream_options: { include_usage: true } })
    t.notOk('stream_options' in lastUpstreamChat(emulator).body)
    t.strictSame(frames.at(-2).choices, [])
    t.type(frames.at(-2).usage.total_tokens, 'number')
    for (const frame of frames.slice(0, -2)) t.equal(frame.usage, null)
  }
})

t.test('completions 64: a v2 stream delivers a call as tool_calls (B5)', async t => {
  for (const directive of [
    '[[tool:f {"a":1}]]',
    '[[callsplit]][[tool:f {"a":1}]]',
    '[[text:let me]][[tool:f {"a":1}]]'
  ]) {
    for (const url of [v1, v2]) {
      const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
      const frames = await stream(url, directive, { tools })
      const calls = frames.flatMap(frame => frame.choices?.[0]?.delta.tool_calls ?? [])
      t.equal(calls[0]?.function.name, 'f')
      t.match(calls[0]?.id, /^[a-zA-Z0-9_-]{1,128}$/)
      t.strictSame(JSON.parse(calls.map(call => call.function.arguments ?? '').join('')), { a: 1 })
      t.notOk(frames.some(frame => frame.choices?.[0]?.delta.function_call !== undefined))
      t.equal(frames.findLast(frame => frame.choices?.[0]?.finish_reason)?.choices[0].finish_reason, 'tool_calls')
      const final = await accumulate(url === v1 ? 'v1' : 'v2', directive, { tools })
      t.match(final.choices, [
        { message: { tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }] }, finish_reason: 'tool_calls' }
      ])
    }
  }
})

t.test('completions 65: a structured stream is the JSON text', async t => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  const response_format = { type: 'json_schema', json_schema: { name: 'out', schema, strict: true } }
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const Answer = z.object({ name: z.string(), tags: z.array(z.string()) })
  for (const version of ['v1', 'v2'] as const) {
    const url = version === 'v1' ? v1 : v2
    for (const more of version === 'v1' ? [{}] : [{}, { tools }]) {
      const frames = await stream(url, '[[text:{"ok":true}]][[len:5]]', { response_format, ...more })
      const { body } = lastUpstreamChat(emulator)
      t.equal(body.stream, true)
      t.strictSame(body.response_format ?? body.model_options.response_format, {
        type: 'json_schema',
        schema,
        strict: true
      })
      for (const name of ['functions', 'function_call', 'tool_config']) t.notOk(name in body, name)
      t.equal('tools' in body, 'tools' in more)
      t.ok(frames.filter(frame => frame.choices?.[0]?.delta.content).length > 1, 'the text comes in several deltas')
      t.strictSame(JSON.parse(contentOf(frames)), { ok: true })
      t.equal(frames.findLast(frame => frame.choices?.[0]?.finish_reason)?.choices[0].finish_reason, 'stop')
      for (const frame of frames.slice(0, -1)) {
        t.notOk('tool_calls' in (frame.choices[0]?.delta ?? {}))
        t.notOk('function_call' in (frame.choices[0]?.delta ?? {}))
      }
    }
    const plain = await accumulate(version, 'hi', { response_format })
    t.type(JSON.parse(plain.choices[0]?.message.content ?? '').ok, 'boolean')
    const own = await accumulate(version, 'hi', { response_format: zodResponseFormat(Answer, 'answer') })
    t.ok(Answer.safeParse(own.choices[0]?.message.parsed).success)
  }
})

t.test('completions 66: a reasoning tag that is split over chunks is removed from the text', async t => {
  for (const url of [v1, v2]) {
    const frames = await stream(url, '[[chunks:<thi|nk>r</th|ink>ok]]')
    t.equal(contentOf(frames), 'ok')
    t.equal(frames.map(frame => frame.choices?.[0]?.delta.reasoning_content ?? '').join(''), 'r')
  }
})

t.test('native reasoning is returned next to the content', async t => {
  for (const url of [v1, v2]) {
    const { message } = (await ask(url, '[[reason:because]][[text:done]]')).json.choices[0]
    t.match(message, { content: 'done', reasoning_content: 'because' })
    const frames = await stream(url, '[[reason:because]][[text:done]]')
    t.equal(contentOf(frames), 'done')
    t.equal(frames.map(frame => frame.choices?.[0]?.delta.reasoning_content ?? '').join(''), 'because')
  }
})

t.test('web search sources become annotations and a list, and their markers are removed', async t => {
  const tools = [{ type: 'web_search' }]
  const whole = (await ask(v2, '[[builtin:web_search]]', { tools })).json.choices[0].message
  t.notMatch(whole.content, /\[sources=/)
  t.match(whole.content, /\n\nSources:\n- \[/)
  t.equal(whole.annotations[0].type, 'url_citation')
  t.match(whole.annotations[0].url_citation, { url: /^https?:/, title: String })
  const frames = await stream(v2, '[[builtin:web_search]]', { tools })
  t.equal(contentOf(frames), whole.content)
  t.ok(frames.some(frame => frame.choices?.[0]?.delta.tool_executions?.[0]?.name === 'web_search'))
})

t.test('a generated image is named by its file id', async t => {
  const { message } = (await ask(v2, '[[builtin:image_generate]]', { tools: [{ type: 'image_generation' }] })).json
    .choices[0]
  t.match(message.files[0], { id: String })
})

t.test(
  'characters split between writes are read correctly, with any line ending and with comments (A12, A13)',
  async t => {
    for (const url of [v1, v2]) {
      for (const directive of ['[[split:1]]', '[[crlf]]', '[[ping]]']) {
        const frames = await stream(url, `${directive}[[text:Привет, мир 🌍]]`)
        t.equal(contentOf(frames), 'Привет, мир 🌍', directive)
      }
    }
  }
)

t.test('the accumulated stream equals the whole response (B3)', async t => {
  for (const url of [v1, v2]) {
    for (const prompt of [
      '[[text:plain]]',
      '[[reason:r]][[text:t]]',
      '[[text:x]][[tool:f {"a":[1,2]}]]',
      '[[finish:length]]'
    ]) {
      const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
      const whole = (await ask(url, prompt, { tools })).json
      // Streams report usage when the client asks for it (decisions.md 107).
      const frames = await stream(url, prompt, { tools, stream_options: { include_usage: true } })
      const { message, finish_reason } = whole.choices[0]
      t.equal(contentOf(frames), message.content ?? '')
      t.equal(frames.findLast(frame => frame.choices?.[0]?.finish_reason)?.choices[0].finish_reason, finish_reason)
      const streamed = frames.flatMap(frame => frame.choices?.[0]?.delta.tool_calls ?? [])
      t.equal(
        streamed.map(call => call.function.arguments ?? '').join(''),
        (message.tool_calls ?? []).map((call: { function: { arguments: string } }) => call.function.arguments).join('')
      )
      t.strictSame(frames.findLast(frame => frame.usage)?.usage, whole.usage)
    }
  }
})
