// How parameters, tools and formats of a chat request are sent upstream (completions.md 2, 5 and
// 7): the facts that no numbered case covers.

import t from 'tap'
import { lastUpstreamChat, post, readFrames, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'

const model = 'GigaChat-2'
const messages = [{ role: 'user', content: 'hi' }]
const { emulator, gateway } = await startSharedGateway()
const v1 = `${gateway.url}/v1/chat/completions`
const v2 = `${gateway.url}/v2/chat/completions`
const urls = [v1, v2]

const schema = { type: 'object', properties: {} }
const tool = (name: string) => ({ type: 'function', function: { name, parameters: schema } })

/** Sends a request and returns the body that the upstream received. */
async function sent(url: string, more: object) {
  const response = await post(url, { model, messages, ...more })
  if (response.status !== 200) throw new Error(response.text)
  return lastUpstreamChat(emulator).body
}

function namesIn(body: { functions?: Array<{ name: string }>; tools?: object[] }): string[] {
  const entry = body.tools?.find(one => 'functions' in one) as
    | { functions: { specifications: Array<{ name: string }> } }
    | undefined
  return (body.functions ?? entry?.functions.specifications ?? []).map(({ name }) => name)
}

t.test('a wrong type is refused with the path of the member, before the upstream is called', async t => {
  const before = upstreamChats(emulator).length
  const rows: Array<[more: object, param: string]> = [
    [{ model: 5 }, 'model'],
    [{ messages: ['hi'] }, 'messages[0]'],
    [{ messages: [{ role: 5, content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: [{ type: 'hologram' }] }] }, 'messages[0].content[0].type'],
    [{ stream: 'yes' }, 'stream'],
    [{ top_p: 'x' }, 'top_p'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ max_completion_tokens: -1 }, 'max_completion_tokens'],
    [{ stop: 5 }, 'stop'],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
    [{ tools: 'x' }, 'tools'],
    [{ tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] }, 'tools[0].function.parameters'],
    [{ tools: [{ type: 'function', name: 'f', parameters: 'x' }] }, 'tools[0].parameters'],
    [{ functions: [{ name: 'f', parameters: 5 }] }, 'functions[0].parameters'],
    [{ tools: [tool('f')], tool_choice: { type: 'function', function: { name: 'g' } } }, 'tool_choice'],
    [{ response_format: 'json' }, 'response_format'],
    [{ response_format: {} }, 'response_format.type'],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }, 'response_format.json_schema.schema'],
    [{ response_format: { type: 'json_schema', name: 'x' } }, 'response_format.schema']
  ]
  for (const url of urls) {
    for (const [more, param] of rows) {
      const response = await post(url, { model, messages, ...more })
      t.equal(response.status, 400, JSON.stringify(more))
      t.match(response.json.error, { type: 'invalid_request_error', param, message: String }, JSON.stringify(more))
    }
    for (const type of ['json_object', 'xml']) {
      const response = await post(url, { model, messages, response_format: { type } })
      t.equal(response.status, 400)
      t.match(response.json.error, { code: 'unsupported_response_format', param: 'response_format.type' })
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('known parameters without effect are not checked', async t => {
  const odd = { n: 'x', seed: {}, logit_bias: 5, metadata: 'x', user: 7, service_tier: [], top_logprobs: 'x' }
  t.strictSame(await sent(v1, odd), { model, messages })
})

t.test('of the token limits max_output_tokens has priority, then max_tokens', async t => {
  t.equal((await sent(v1, { max_output_tokens: 3, max_tokens: 7, max_completion_tokens: 9 })).max_tokens, 3)
  t.equal((await sent(v1, { max_output_tokens: null, max_tokens: null, max_completion_tokens: 9 })).max_tokens, 9)
})

t.test(
  'the effort inside reasoning has priority over reasoning_effort, and no other member of reasoning is sent',
  async t => {
    const more = { reasoning: { effort: 'high', summary: 'auto', mode: 'x' }, reasoning_effort: 'low' }
    t.strictSame(await sent(v1, more), { model, messages, reasoning_effort: 'high' })
    t.strictSame((await sent(v2, more)).model_options, { reasoning: { effort: 'high' } })
  }
)

t.test('additional fields have priority over extra_body, which has priority over unknown members', async t => {
  const more = { alpha: 1, beta: 1, gamma: 1, extra_body: { beta: 2, gamma: 2 }, additional_fields: { gamma: 3 } }
  for (const url of urls) {
    const body = await sent(url, more)
    t.match(body, { alpha: 1, beta: 2, gamma: 3 })
    for (const name of ['extra_body', 'additional_fields']) t.notOk(name in body, name)
  }
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    const response = await post(
      v1,
      `{"model":"${model}","messages":[{"role":"user","content":"x"}],"extra_body":{"${name}":{}}}`
    )
    t.equal(response.status, 400, name)
    t.match(response.json.error, { type: 'invalid_request_error', param: 'extra_body' })
  }
})

t.test('on v2 an assistant or a thread implies the model', async t => {
  const thread = (await post(v2, { model, messages, storage: true })).json.metadata.upstream_thread_id
  const response = await post(v2, { messages, storage: { thread_id: thread } })
  t.equal(response.status, 200)
  t.notOk('model' in lastUpstreamChat(emulator).body)
  emulator.respondNext({ body: { messages: [{ role: 'assistant', content: [{ text: 'x' }] }], finish_reason: 'stop' } })
  t.equal((await post(v2, { messages, extra_body: { assistant_id: 'a' } })).status, 200)
  const refused = await post(v1, { messages, extra_body: { assistant_id: 'a' } })
  t.equal(refused.status, 400)
  t.match(refused.json.error, { code: 'model_required', param: 'model' })
})

t.test('tools are read in each of their forms, once for each name, and other entries are dropped', async t => {
  const tools = [
    tool('whole'),
    { type: 'function', name: 'flat', parameters: schema },
    { name: 'bare', input_schema: schema },
    { type: 'function', function: { name: 'whole', description: 'second', parameters: schema } },
    { type: 'function', function: { name: '', parameters: schema } },
    { type: 'custom', custom: { name: 'c' } },
    { type: 'mcp', server_label: 'm' },
    'nonsense',
    { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'inner', parameters: schema }] }
  ]
  for (const url of urls) {
    t.strictSame(namesIn(await sent(url, { tools })), ['whole', 'flat', 'bare', 'c', 'ns__inner'])
    t.strictSame(namesIn(await sent(url, { tools, functions: [{ name: 'old', parameters: schema }] })).slice(0, 1), [
      'whole'
    ])
    t.strictSame(namesIn(await sent(url, { tools: [], functions: [{ name: 'old' }] })), ['old'])
    const response = await post(url, {
      model,
      messages: [{ role: 'user', content: '[[tool:ns__inner {"a":1}]]' }],
      tools
    })
    t.equal(response.json.choices[0].message.tool_calls[0].function.name, 'ns__inner')
  }
})

t.test(
  'function names that the upstream does not accept are sent under an alias and returned as the client sent them',
  async t => {
    const long = 'x'.repeat(80)
    const names = ['get.weather', 'get/weather', 'погода', long, `${long}y`, 'web_search', 'code_interpreter']
    for (const url of urls) {
      const wireNames = namesIn(await sent(url, { tools: names.map(tool) }))
      t.equal(new Set(wireNames).size, names.length)
      for (const name of wireNames) t.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
      t.notOk(wireNames.includes('web_search'))
      for (const [index, name] of names.entries()) {
        const wireName = wireNames[index]
        const ask = (stream: boolean) =>
          post(url, {
            model,
            stream,
            messages: [{ role: 'user', content: `[[tool:${wireName} {"i":${index}}]]` }],
            tools: names.map(tool),
            tool_choice: { type: 'function', function: { name } }
          })
        const [call] = (await ask(false)).json.choices[0].message.tool_calls
        t.equal(call.function.name, name)
        const frames = readFrames((await ask(true)).text)
        const [streamed] = frames.flatMap(frame => frame.choices?.[0]?.delta.tool_calls ?? [])
        t.equal(streamed.function.name, name)
        await sent(url, {
          messages: [
            ...messages,
            { role: 'assistant', content: null, tool_calls: [call] },
            { role: 'tool', tool_call_id: call.id, content: '{}' }
          ],
          tools: names.map(tool)
        })
        t.match(JSON.stringify(lastUpstreamChat(emulator).body.messages), `"name":"${wireName}"`)
      }
    }
  }
)

t.test('every form of a tool choice is sent upstream in the same way', async t => {
  const tools = [tool('f')]
  for (const tool_choice of [undefined, null, 'auto', { type: 'auto' }]) {
    const onV1 = await sent(v1, { tools, tool_choice })
    t.strictSame([namesIn(onV1), onV1.function_call], [['f'], undefined], JSON.stringify(tool_choice))
    const onV2 = await sent(v2, { tools, tool_choice })
    t.strictSame([namesIn(onV2), onV2.tool_config], [['f'], undefined], JSON.stringify(tool_choice))
  }
  for (const more of [
    { tools, tool_choice: 'none' },
    { tools, tool_choice: { type: 'none' } },
    { functions: [{ name: 'f' }], function_call: 'none' }
  ]) {
    for (const url of urls) t.strictSame(namesIn(await sent(url, more)), [], JSON.stringify(more))
  }
  for (const more of [
    { tools, tool_choice: { type: 'function', function: { name: 'f' } } },
    { tools, tool_choice: { type: 'function', name: 'f' } },
    { tools, tool_choice: 'required' },
    { tools: [{ type: 'custom', custom: { name: 'f' } }], tool_choice: { type: 'custom', custom: { name: 'f' } } },
    { functions: [{ name: 'f' }], function_call: { name: 'f' } }
  ]) {
    t.strictSame((await sent(v1, more)).function_call, { name: 'f' }, JSON.stringify(more))
    t.strictSame((await sent(v2, more)).tool_config, { mode: 'forced', function_name: 'f' }, JSON.stringify(more))
  }
  t.equal((await sent(v1, { functions: [{ name: 'f' }], function_call: 'auto' })).function_call, 'auto')
  t.notOk('tool_config' in (await sent(v2, { functions: [{ name: 'f' }], function_call: 'auto' })))
  const hosted = { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }
  const refused = await post(v1, { model, messages, ...hosted })
  t.equal(refused.status, 400)
  t.equal(refused.json.error.code, 'unsupported_semantic')
  for (const url of urls) {
    const nothing = await post(url, { model, messages, tools: [], tool_choice: 'required' })
    t.equal(nothing.status, 400)
    t.match(nothing.json.error, { code: 'unsupported_semantic', param: 'tool_choice' })
  }
})

t.test('the output format text sends no response format, and a flat schema is read like a nested one', async t => {
  const output = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  t.notOk('response_format' in (await sent(v1, { response_format: { type: 'text' } })))
  const flat = { type: 'json_schema', name: 'n', schema: output, strict: false }
  t.strictSame((await sent(v1, { response_format: flat })).response_format, {
    type: 'json_schema',
    schema: output,
    strict: false
  })
  t.strictSame((await sent(v2, { response_format: flat })).model_options.response_format, {
    type: 'json_schema',
    schema: output,
    strict: false
  })
})

t.test('stop strings are searched only in the visible text, and the first one ends it', async t => {
  const streamed = { stream: true, stream_options: { include_usage: true } }
  for (const url of urls) {
    const ask = (content: string, stop: unknown, more: object = {}) =>
      post(url, { model, stop, ...more, messages: [{ role: 'user', content }] })
    const reasoned = await ask('[[reason:no END here]][[text:seen END not seen]]', ['END', ''])
    t.equal(reasoned.json.choices[0].message.content, 'seen ')
    t.equal(reasoned.json.choices[0].message.reasoning_content, 'no END here')
    t.equal((await ask('[[text:a|b#c]]', ['#', '|'])).json.choices[0].message.content, 'a')
    const frames = readFrames((await ask('[[chunks:x|E|N|x|E|ND|y]]', 'END', streamed)).text)
    t.equal(frames.map(frame => frame.choices?.[0]?.delta.content ?? '').join(''), 'xENx')
    t.equal(frames.findLast(frame => frame.choices?.[0]?.finish_reason)?.choices[0].finish_reason, 'stop')
    // The usage is still reported, because the upstream's stream is read to its end when little of it is left.
    t.type(frames.findLast(frame => frame.usage)?.usage.total_tokens, 'number')
  }
})
