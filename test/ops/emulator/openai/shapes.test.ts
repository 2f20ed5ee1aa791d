// Responses of the chat-completions wire in the form of single services, and what single services refuse.
import t, { type Test } from 'tap'
import { shapeNames } from '../../../../ops/emulator/directive-steps.ts'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { readFrames, readPayloads, send, weather } from '../support.ts'

async function start(t: Test) {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const post = (body: object) => send(`${emulator.chatBaseUrl}/chat/completions`, { body })
  const ask = async (prompt: string, more: object = {}) =>
    JSON.parse((await post({ model: 'm', messages: [{ role: 'user', content: prompt }], ...more })).text)
  const stream = async (prompt: string, more: object = {}) => {
    const messages = [{ role: 'user', content: prompt }]
    const { text } = await post({
      model: 'm',
      messages,
      stream: true,
      stream_options: { include_usage: true },
      ...more
    })
    t.equal(readFrames(text).at(-1)?.data, '[DONE]')
    return readPayloads(text)
  }
  return { emulator, post, ask, stream }
}

const tools = [{ type: 'function', function: weather }]
const call = '[[tool:get_weather {"city":"Oslo"}]]'
const counts = '[[usage:10,5,4]]'

t.test('every shape has a text, a thought, a call and an end, whole and streamed', async t => {
  const { ask, stream } = await start(t)
  for (const name of shapeNames) {
    const shape = `[[shape:${name}]]${counts}`
    const whole = await ask(`${shape}[[text:so]]`)
    t.equal(whole.choices[0].message.content, 'so', name)
    t.equal(whole.choices[0].finish_reason, 'stop', name)
    t.equal(whole.usage.prompt_tokens, 10, name)
    const thinking = await ask(`${shape}[[reason:why]][[text:so]]`)
    t.match(JSON.stringify(thinking.choices[0].message), /"why"/, name)
    const called = await ask(`${shape}${call}`, { tools })
    const [made] = called.choices[0].message.tool_calls
    t.strictSame(made.function, { name: 'get_weather', arguments: '{"city":"Oslo"}' }, name)
    t.equal(called.choices[0].finish_reason, 'tool_calls', name)

    const chunks = await stream(`${shape}[[chunks:s|o]]`)
    const choices = chunks.flatMap(chunk => chunk.choices)
    t.equal(choices.map(({ delta }) => delta.content ?? '').join(''), 'so', name)
    t.equal(choices.filter(choice => typeof choice.finish_reason === 'string').length, 1, name)
    t.match(JSON.stringify(chunks), /"prompt_tokens":10/, name)
    const deltas = (await stream(`${shape}${call}`, { tools })).flatMap(chunk => chunk.choices)
    const pieces = deltas.flatMap(({ delta }) => delta.tool_calls ?? [])
    t.equal(pieces.map(piece => piece.function.arguments ?? '').join(''), '{"city":"Oslo"}', name)
    t.equal(pieces[0].function.name, 'get_weather', name)
  }
})

t.test('what is special of each shape', async t => {
  const { ask, stream } = await start(t)
  const prompt = (name: string, more = '') => `[[shape:${name}]]${counts}[[text:so]]${more}`
  const message = async (name: string, more = '') => (await ask(prompt(name, more), { tools })).choices[0].message
  const last = async (name: string, more = '') => (await stream(prompt(name, more), { tools })).at(-1)

  t.match(await message('mistral', '[[reason:why]]'), {
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'why' }] },
      { type: 'text', text: 'so' }
    ]
  })
  const [mistralCall] = (await message('mistral', call)).tool_calls
  t.strictSame(Object.keys(mistralCall), ['id', 'function'])
  t.equal(mistralCall.id.length, 9)
  t.match(await last('mistral', call), {
    choices: [{ delta: { tool_calls: [{}] }, finish_reason: 'tool_calls' }],
    usage: { prompt_tokens: 10 }
  })
  t.match((await ask(prompt('deepseek'))).usage, { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 })
  t.match((await ask(prompt('kimi'))).usage, { cached_tokens: 4, prompt_tokens_details: undefined })
  t.match(await stream(prompt('kimi')).then(chunks => chunks.at(-2)), { choices: [{ usage: { cached_tokens: 4 } }] })
  t.match(await last('groq'), { x_groq: { usage: { prompt_tokens: 10 } }, usage: { prompt_tokens: 10 } })
  t.match(await message('groq', '[[reason:why]]'), { reasoning: 'why' })
  const zhipu = await ask(prompt('zhipu', '[[cite:https://a.example/x A page]]'))
  t.match(zhipu, { object: undefined, web_search: [{ title: 'A page', link: 'https://a.example/x' }] })
  const [report] = await stream(prompt('azure'))
  t.match(report, { id: '', choices: [], prompt_filter_results: [{}] })
  t.equal((await message('azure', call)).tool_calls[0].type, undefined)
  t.match(await last('openrouter'), { choices: [{ delta: { content: '' } }], usage: { cost: Number } })
  t.match(await ask(prompt('llama.cpp')), { timings: { predicted_n: Number }, system_fingerprint: /^b\d/ })
  t.match(await ask(prompt('vllm')), { choices: [{ stop_reason: null }], prompt_logprobs: null })
  t.match((await message('vllm', call)).tool_calls[0].id, /^chatcmpl-tool-[0-9a-f]{32}$/)
  t.match(await ask(prompt('ollama')), { id: 'chatcmpl-730', system_fingerprint: 'fp_ollama' })
  t.match(await ask(prompt('perplexity', '[[cite:https://a.example/x A page]]')), {
    citations: ['https://a.example/x'],
    search_results: [{ url: 'https://a.example/x', title: 'A page' }]
  })
  t.match(await stream(prompt('xai', '[[cite:https://a.example/x]]')).then(chunks => chunks.at(-2)), {
    citations: ['https://a.example/x']
  })
  t.match((await ask(prompt('xai', '[[reason:why]]'))).usage, { completion_tokens: Number, total_tokens: 15 })
})

t.test('the shape of a model is that of its service, in every round', async t => {
  const { post } = await start(t)
  const prompt = { role: 'user', content: `${call}[[step]][[text:done]]` }
  const body = { model: 'mistral-large-latest', messages: [prompt], tools }
  const { message } = JSON.parse((await post(body)).text).choices[0]
  t.equal(message.tool_calls[0].type, undefined)
  const turn = { role: 'assistant', tool_calls: [{ type: 'function', ...message.tool_calls[0] }] }
  const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '4' }
  const next = JSON.parse((await post({ ...body, messages: [prompt, turn, result] })).text)
  t.notOk('system_fingerprint' in next)
})

t.test('a citation without a shape is an annotation', async t => {
  const { ask, stream } = await start(t)
  const prompt = '[[text:so]][[cite:https://a.example/x A page]]'
  const annotations = [
    {
      type: 'url_citation',
      url_citation: { url: 'https://a.example/x', title: 'A page', start_index: 0, end_index: 2 }
    }
  ]
  t.strictSame((await ask(prompt)).choices[0].message.annotations, annotations)
  const deltas = (await stream(prompt)).flatMap(chunk => chunk.choices).map(choice => choice.delta)
  t.strictSame(
    deltas.flatMap(delta => delta.annotations ?? []),
    annotations
  )
})

t.test('a service refuses what its strictness says, by the directive or the model', async t => {
  const { post } = await start(t)
  const ask = async (strict: string, more: object, model = 'm') => {
    const content = strict === '' ? 'Hi' : `[[strict:${strict}]]Hi`
    const { status, text } = await post({ model, messages: [{ role: 'user', content }], ...more })
    return { status, error: JSON.parse(text).error }
  }
  const refusals: Array<[strict: string, more: object, model: string, error: object]> = [
    ['metadata', { metadata: { a: 'b' } }, 'gpt-5', { param: 'metadata', message: /only allowed when 'store'/ }],
    ['limit', { max_tokens: 9 }, 'gpt-5', { param: 'max_tokens', code: 'unsupported_parameter' }],
    ['effort', { reasoning_effort: 'max' }, 'o3', { param: 'reasoning_effort', code: 'unsupported_value' }],
    ['temperature', { temperature: 0 }, 'gpt-5-mini', { param: 'temperature', code: 'unsupported_value' }],
    ['parallel', { parallel_tool_calls: true, tools }, 'o3-mini', { param: 'parallel_tool_calls' }]
  ]
  for (const [strict, more, model, error] of refusals) {
    t.match(await ask(strict, more), { status: 400, error }, strict)
    t.match(await ask('', more, model), { status: 400, error }, model)
    t.equal((await ask('', more)).status, 200, `${strict} is off`)
    t.equal((await ask(strict, {})).status, 200, `${strict} without the member`)
  }
  t.equal((await ask('metadata', { metadata: { a: 'b' }, store: true })).status, 200)
  t.equal((await ask('limit', { max_completion_tokens: 9 })).status, 200)
  t.match(await ask('noeffort', { reasoning_effort: 'low' }), {
    status: 400,
    error: { message: /Unrecognized request/ }
  })
  t.match(await ask('limit, parallel', { parallel_tool_calls: false, tools }), { status: 400 })
})

t.test('a thinking model wants the reasoning of its calls back, where it gave it', async t => {
  const { post } = await start(t)
  const ask = async (directives: string, turn: object, model = 'm') => {
    const messages = [
      { role: 'user', content: `${directives}[[tool:get_weather {}]]` },
      {
        role: 'assistant',
        content: null,
        ...turn,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{}' } }]
      },
      { role: 'tool', tool_call_id: 'a', content: '4' }
    ]
    const { status, text } = await post({ model, messages, tools })
    return { status, message: JSON.parse(text).error?.message }
  }
  const missing = { status: 400, message: /must be passed back/ }
  t.match(await ask('[[strict:reasoning]]', {}), missing)
  t.match(await ask('[[strict:reasoning]]', { reasoning_content: '' }), missing)
  t.equal((await ask('[[strict:reasoning]]', { reasoning_content: 'why' })).status, 200)
  t.match(await ask('[[strict:reasoning]][[reasonform:reasoning]]', { reasoning_content: 'why' }), missing)
  t.equal((await ask('[[strict:reasoning]][[shape:ollama]]', { reasoning: 'why' })).status, 200)
  t.match(await ask('', {}, 'deepseek-reasoner'), missing)
  t.match(await ask('', {}, 'kimi-k2-thinking'), { status: 400, message: /at index 1$/ })
  t.equal((await ask('', { reasoning_content: 'why' }, 'kimi-k2-thinking')).status, 200)
  const thinks = await post({ model: 'deepseek-reasoner', messages: [{ role: 'user', content: 'Hi' }] })
  t.match(JSON.parse(thinks.text).choices[0].message, { reasoning_content: String })
  const hushed = { model: 'deepseek-reasoner', messages: [{ role: 'user', content: 'Hi' }], reasoning_effort: 'none' }
  t.equal(JSON.parse((await post(hushed)).text).choices[0].message.reasoning_content, undefined)
})

t.test('a call for embeddings has as many texts as the service of its model allows', async t => {
  const { emulator } = await start(t)
  const embed = (model: string, count: number) =>
    send(`${emulator.chatBaseUrl}/embeddings`, {
      body: { model, input: Array.from({ length: count }, () => 'a'), dimensions: 4 }
    })
  for (const [model, max] of [
    ['m', 2048],
    ['embedding-3', 64],
    ['text-embedding-v4', 10]
  ] as const) {
    t.equal((await embed(model, max)).status, 200)
    const refused = await embed(model, max + 1)
    t.equal(refused.status, 400)
    t.match(JSON.parse(refused.text).error, { param: 'input', message: new RegExp(`at most ${max} texts`) })
  }
})
