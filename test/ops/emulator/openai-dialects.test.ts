// The forms in which single providers of the chat-completions wire differ, the errors and redirects of a provider, and its strictness.
import t, { type Test } from 'tap'
import { malformedNames } from '../../../ops/emulator/openai/malformed.ts'
import { createEmulator, type EmulatorOptions } from '../../../ops/emulator/server.ts'
import { readFrames, readPayloads, send, weather } from './support.ts'

async function start(t: Test, options: EmulatorOptions = {}) {
  const emulator = await createEmulator(options)
  t.teardown(() => emulator.close())
  const post = (body: unknown, base = emulator.chatBaseUrl, headers: Record<string, string> = {}) =>
    send(`${base}/chat/completions`, { body, headers })
  const ask = async (prompt: string, more: object = {}) =>
    JSON.parse((await post({ model: 'm', messages: [{ role: 'user', content: prompt }], ...more })).text)
  const stream = async (prompt: string, more: object = {}) => {
    const body = { model: 'm', messages: [{ role: 'user', content: prompt }], stream: true, ...more }
    return readPayloads((await post(body)).text)
  }
  return { emulator, post, ask, stream }
}

const tools = [{ type: 'function', function: weather }]
const calls = '[[tool:get_weather {"city":"Oslo"}]][[tool:get_weather {"city":"Rome"}]]'

t.test('the reasoning stands where the directive says', async t => {
  const { ask, stream } = await start(t)
  const forms: Array<[string, object]> = [
    ['content', { reasoning_content: 'why' }],
    ['reasoning', { reasoning: 'why' }],
    ['both', { reasoning: 'why', reasoning_content: 'why' }],
    ['details', { reasoning: 'why', reasoning_details: [{ type: 'reasoning.text', text: 'why' }] }],
    ['encrypted', { reasoning: null, reasoning_details: [{ type: 'reasoning.encrypted', data: 'd2h5' }] }],
    ['think', { content: '<think>\nwhy\n</think>\n\nso' }]
  ]
  for (const [form, members] of forms) {
    const prompt = `[[reason:why]][[reasonform:${form}]][[text:so]]`
    const { message } = (await ask(prompt)).choices[0]
    t.match(message, members, form)
    const deltas = (await stream(prompt)).map(chunk => chunk.choices[0].delta)
    if (form === 'think')
      t.equal(deltas.map(delta => delta.content ?? '').join(''), message.content, 'cut inside of its tags')
    else t.match(deltas[1], members, form)
  }
})

t.test('the usage stands in the chunks that the directive says', async t => {
  const { stream } = await start(t)
  const counts = async (form: string, more: object = {}) => {
    const chunks = await stream(`[[chunks:a|b]][[usage:5,4]][[usageform:${form}]]`, more)
    return chunks.map(chunk => [chunk.choices.length, chunk.usage?.completion_tokens])
  }
  t.same(await counts('finish'), [
    [1, undefined],
    [1, undefined],
    [1, undefined],
    [1, 4]
  ])
  t.same(await counts('every'), [
    [1, 0],
    [1, 1],
    [1, 2],
    [1, 4]
  ])
  t.same(await counts('first'), [
    [0, 0],
    [1, undefined],
    [1, undefined],
    [1, undefined],
    [1, undefined],
    [0, 4]
  ])
  t.same((await counts('after')).at(-1), [1, undefined])
  t.same((await counts('after', { stream_options: { include_usage: true } })).at(-1), [0, 4])
})

t.test('the calls of a stream have the form that the directive says', async t => {
  const { ask, stream } = await start(t)
  const deltas = async (directive: string) => {
    const chunks = await stream(calls + directive, { tools })
    return chunks.flatMap(chunk => chunk.choices[0].delta.tool_calls ?? [])
  }
  const order = (await deltas('[[interleave]]')).map(call => call.index)
  t.same(order.slice(0, 4), [0, 1, 0, 1])
  t.ok((await deltas('[[noindex]]')).every(call => !('index' in call)))
  t.match(await deltas('[[wholecall]]'), [
    { index: 0, function: { arguments: '{"city":"Oslo"}' } },
    { index: 1, function: { arguments: '{"city":"Rome"}' } }
  ])
  t.ok((await deltas('[[repeathead]]')).every(call => call.function.name === 'get_weather' && 'id' in call))
  const legacy = await ask(`${calls}[[legacycall]]`, { tools })
  t.match(legacy.choices[0], {
    finish_reason: 'function_call',
    message: { content: null, function_call: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
  })
  const streamed = (await stream(`${calls}[[legacycall]]`, { tools })).map(chunk => chunk.choices[0])
  const pieces = streamed.map(({ delta }) => delta.function_call?.arguments ?? '')
  t.equal(pieces.join(''), '{"city":"Oslo"}')
  t.equal(streamed.at(-1).finish_reason, 'function_call')
})

t.test('refusals and finish reasons have their forms', async t => {
  const { ask, stream } = await start(t)
  t.match((await ask('[[refusal:No.]]')).choices[0].message, { content: null, refusal: 'No.' })
  const refused = (await stream('[[refusal]]')).map(chunk => chunk.choices[0].delta.refusal ?? '')
  t.equal(refused.join(''), 'I cannot help with that.')
  const reasons = (await stream('[[emptyfinish]]')).map(chunk => chunk.choices[0].finish_reason)
  t.ok(reasons.slice(0, -1).every(reason => reason === ''))
  t.equal(reasons.at(-1), 'stop')
  t.ok((await stream('[[nofinish]]')).every(chunk => chunk.choices[0].finish_reason === null))
})

t.test('an error can have status 200, and a redirect a location', async t => {
  const { ask, stream, post } = await start(t)
  t.match(await ask('[[okerror:429 message=slow down]]'), { error: { code: 429, message: 'slow down' } })
  t.match(await stream('[[okerror:500]]'), [{ error: { code: 500, type: 'server_error' } }])
  const messages = [{ role: 'user', content: '[[redirect:307 http://127.0.0.1:1/x]]' }]
  const redirected = await post({ model: 'm', messages })
  t.equal(redirected.status, 307)
  t.equal(redirected.headers.location, 'http://127.0.0.1:1/x')
})

t.test('every malformed form changes a whole response or a stream', async t => {
  const { post } = await start(t)
  const read = async (directive: string, isStream: boolean) => {
    const content = `${directive}[[chunks:one |two]]`
    const body = { model: 'm', messages: [{ role: 'user', content }], ...(isStream ? { stream: true } : {}) }
    const { text } = await post(body)
    return text.replaceAll(/chatcmpl-\w+|"created":\d+/g, '')
  }
  const [whole, stream] = [await read('', false), await read('', true)]
  for (const name of malformedNames) {
    const directive = `[[malformed:${name}]]`
    const isChanged = (await read(directive, false)) !== whole || (await read(directive, true)) !== stream
    t.ok(isChanged, name)
  }
  t.equal(readFrames(await read('[[malformed:stream_data_after_done]]', true)).at(-2)?.data, '[DONE]')
  t.equal(readFrames(await read('[[malformed:duplicate_stream_done]]', true)).at(-2)?.data, '[DONE]')
})

t.test('a provider with a name has a key of its own, and a keyless one refuses every key', async t => {
  const { emulator, post } = await start(t, { chatApiKeys: { keyed: 'one', keyless: null } })
  const { origin } = new URL(emulator.chatBaseUrl)
  const status = async (name: string, key?: string) => {
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
    return (await post(body, `${origin}/openai/${name}/v1`, headers)).status
  }
  t.equal(await status('keyed', 'one'), 200)
  t.equal(await status('keyed', 'two'), 401)
  t.equal(await status('keyed'), 401)
  t.equal(await status('keyless'), 200)
  t.equal(await status('keyless', 'one'), 401)
  t.equal(await status('other', 'any'), 200)
})

t.test('the wire is as strict as its first server', async t => {
  const { post } = await start(t)
  const user = { role: 'user', content: 'Hi' }
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
  const calling = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] }
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })
  const cases: Array<Record<string, unknown>> = [
    { repetition_penalty: 1 },
    { stream_options: { include_usage: true } },
    { parallel_tool_calls: true },
    { tools: [] },
    { tools: [{ type: 'function', function: { ...weather, name: 'a.b' } }] },
    { temperature: 3 },
    { max_tokens: 0 },
    { stop: ['a', 'b', 'c', 'd', 'e'] },
    { messages: [user, calling] },
    { messages: [user, calling, result('a')] },
    { messages: [user, calling, result('a'), user, result('b')] },
    { messages: [user, calling, result('a'), result('a')] },
    { messages: [user, { ...calling, tool_calls: [] }] },
    { messages: [user, { ...calling, tool_calls: [call('a'.repeat(41))] }, result('a'.repeat(41))] },
    { messages: [user, { ...calling, tool_calls: [{ ...call('a'), type: undefined }] }, result('a')] },
    { messages: [{ ...user, tool_calls: [call('a')] }, result('a')] }
  ]
  for (const change of cases) {
    t.equal((await post({ model: 'm', messages: [user], ...change })).status, 400, JSON.stringify(change))
  }
  t.equal((await post({ model: 'm', messages: [user, calling, result('b'), result('a')] })).status, 200)
})
