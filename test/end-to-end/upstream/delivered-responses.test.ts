// Everything that the native upstream sends reaches the client (decisions.md 61, 62, 63, 64 and 65,
// upstream.md 12), through a started gateway.

import t from 'tap'
import { post, readFrames } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { ask, model, reasoningOf, textOf, type Version, versions } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
const stateId = '019e8373-aaaa-7883-af60-000000000001'
const functionTool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })

const event = (name: string, payload: object): string => `event: ${name}\ndata: ${JSON.stringify(payload)}\n\n`
const message = (content: object[], more: object = {}) => ({ role: 'assistant', content, ...more })
const delta = (...content: object[]): string => event('response.message.delta', { messages: [message(content)] })
const done = (more: object = {}): string => event('response.message.done', { finish_reason: 'stop', ...more })

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
type Loose = any

async function answerWith(version: Version, body: object, more: object = {}): Promise<Loose> {
  emulator.respondNext({ body })
  const response = await ask(gateway, version, 'hi', { more })
  if (response.status !== 200) throw new Error(response.text)
  return response.json
}

async function streamScripted(version: Version, chunks: string[], more: object = {}): Promise<Loose[]> {
  emulator.respondNext({ chunks })
  const response = await ask(gateway, version, 'hi', { more: { stream: true, ...more } })
  return response.status === 200 ? readFrames(response.text) : [response.json]
}

const callsOf = (frames: Loose[]) => frames.flatMap(frame => frame.choices?.[0]?.delta.tool_calls ?? [])
const finishOf = (frames: Loose[]) => frames.findLast(frame => frame.choices?.[0]?.finish_reason)

t.test('decisions.md 61: text of the last event is more text unless it equals the text of the stream', async t => {
  const end = (text: string) => done({ messages: [message([{ text }])] })
  t.equal(textOf(await streamScripted('v2', [delta({ text: 'one ' }), end('two.')])), 'one two.')
  t.equal(textOf(await streamScripted('v2', [delta({ text: 'one ' }), end('more')])), 'one more')
  t.equal(textOf(await streamScripted('v2', [delta({ text: 'on' }), delta({ text: 'e ' }), end('one ')])), 'one ')
  const thought = event('response.message.delta', { messages: [{ role: 'reasoning', content: [{ text: 'why' }] }] })
  const frames = await streamScripted('v2', [thought, delta({ text: 'so' }), end('so')])
  t.equal(textOf(frames), 'so')
  t.equal(reasoningOf(frames), 'why')
})

t.test('decisions.md 61: v2 frames in the form of chat completions are read', async t => {
  const chunk = (change: object, more: object = {}) => ({
    choices: [{ delta: change, index: 0, ...more }],
    object: 'chat.completions'
  })
  const usage = { prompt_tokens: 17, completion_tokens: 5, total_tokens: 22, precached_prompt_tokens: 2 }
  const unnamed = (payload: object) => `data: ${JSON.stringify(payload)}\n\n`
  const chunks = [
    unnamed(chunk({ role: 'assistant', content: 'Pa' })),
    event('response.message.delta', chunk({ content: 'ck' })),
    event('response.message.delta', chunk({ content: 'ed.' })),
    unnamed({ ...chunk({ content: '' }, { finish_reason: 'stop' }), usage }),
    'data: [DONE]\n\n'
  ]
  const frames = await streamScripted('v2', chunks, { stream_options: { include_usage: true } })
  t.equal(textOf(frames), 'Packed.')
  t.match(frames.at(-2), { choices: [], usage: { prompt_tokens: 17, completion_tokens: 5, total_tokens: 22 } })
  const call = { function_call: { name: 'f', arguments: { a: 1 } }, functions_state_id: stateId }
  const called = await streamScripted(
    'v2',
    [unnamed(chunk({ content: '', ...call }, { finish_reason: 'function_call' })), 'data: [DONE]\n\n'],
    { tools: [functionTool('f')] }
  )
  t.equal(finishOf(called).choices[0].finish_reason, 'tool_calls')
  t.match(callsOf(called)[0], { function: { name: 'f' } })
})

t.test('decisions.md 61: a stream without any readable payload is a protocol error on both contracts', async t => {
  const streams: Array<[Version, string[]]> = [
    ['v1', ['data: {"a":1}\n\n', 'data: [DONE]\n\n']],
    ['v1', ['data: {"choices":[]}\n\n', 'data: [DONE]\n\n']],
    ['v1', ['data: [DONE]\n\n']],
    ['v2', [event('response.message.delta', { a: 1 }), event('response.message.done', {})]],
    ['v2', [event('response.message.delta', { messages: [] }), 'data: [DONE]\n\n']]
  ]
  for (const [version, chunks] of streams) {
    emulator.respondNext({ chunks })
    const response = await ask(gateway, version, 'hi', { more: { stream: true } })
    t.equal(response.status, 502, chunks.join(''))
    t.match(response.json, { error: { code: 'provider_protocol_error' } })
  }
  const empty = await streamScripted('v2', [done()])
  t.equal(finishOf(empty).choices[0].finish_reason, 'stop', 'a finish reason alone is a response')
})

t.test('decisions.md 62: sources of a search are shown when there is no other text', async t => {
  const sources = { 1: { url: 'https://example.test/a', title: 'A' } }
  const content = [{ inline_data: { images: [], sources } }]
  const whole = await answerWith('v2', { messages: [message(content)], finish_reason: 'stop' })
  t.equal(whole.choices[0].message.content, 'Sources:\n- [A](https://example.test/a)')
  const [annotation] = whole.choices[0].message.annotations
  t.match(annotation.url_citation, { start_index: 9, end_index: 38, url: 'https://example.test/a' })
  t.equal(textOf(await streamScripted('v2', [delta(...content), done()])), whole.choices[0].message.content)
})

t.test(
  'decisions.md 62: a reserved name is mapped back although the request does not declare the function',
  async t => {
    const call = { name: '__gateway_user_search_web', arguments: { q: 'x' } }
    const v2 = await answerWith('v2', { messages: [message([{ function_call: call }], { tool_state_id: stateId })] })
    const choice = { index: 0, message: { role: 'assistant', content: '', function_call: call }, finish_reason: 'stop' }
    const v1 = await answerWith('v1', { choices: [choice] })
    for (const { choices, metadata } of [v1, v2]) {
      t.equal(choices[0].message.tool_calls[0].function.name, 'web_search')
      t.match(JSON.parse(metadata.upstream_called_tools), [{ name: 'web_search' }])
    }
  }
)

t.test('decisions.md 62: the message id of the response wins over one inside it', async t => {
  const messages = [message([{ text: 'x' }], { message_id: 'inner' })]
  const body = { message_id: 'outer', messages, finish_reason: 'stop' }
  t.equal((await answerWith('v2', body)).metadata.upstream_message_id, 'outer')
  t.equal((await answerWith('v2', { messages })).metadata.upstream_message_id, 'inner')
  const choices = [{ index: 0, message: { role: 'assistant', content: 'x', id: 'inner' }, finish_reason: 'stop' }]
  t.equal((await answerWith('v1', { message_id: 'outer', choices })).metadata.upstream_message_id, 'outer')
  const frames = await streamScripted('v2', [
    event('response.message.delta', { message_id: 'outer', messages: [message([{ text: 'a' }])] }),
    event('response.message.delta', { messages: [message([{ text: 'b' }], { message_id: 'inner' })] }),
    done()
  ])
  t.equal(frames.findLast(frame => frame.metadata !== undefined).metadata.upstream_message_id, 'outer')
})

t.test('decisions.md 63: metadata lists of tools are JSON arrays of objects, on v1 too', async t => {
  const call = { name: 'f', arguments: { a: 1 } }
  const more = { tools: [functionTool('f')] }
  const v2 = {
    messages: [message([{ function_call: call }], { tool_state_id: stateId })],
    finish_reason: 'function_call'
  }
  const v1Message = { role: 'assistant', content: '', function_call: call, functions_state_id: stateId }
  const v1 = { choices: [{ index: 0, message: v1Message, finish_reason: 'function_call' }] }
  for (const { metadata } of [await answerWith('v1', v1, more), await answerWith('v2', v2, more)]) {
    t.strictSame(JSON.parse(metadata.upstream_called_tools), [
      { index: 0, name: 'f', arguments: { a: 1 }, tools_state_id: stateId, role: 'assistant' }
    ])
    t.strictSame(JSON.parse(metadata.upstream_message_tools_state_ids), [
      { index: 0, tools_state_id: stateId, role: 'assistant' }
    ])
  }
  const ran = await answerWith('v2', {
    messages: [message([{ tool_execution: { name: 'code_interpreter', status: 'success' } }, { text: 'x' }])]
  })
  t.strictSame(JSON.parse(ran.metadata.upstream_tool_results), [
    { index: 0, name: 'code_interpreter', status: 'completed', role: 'tool' }
  ])
  const long = { messages: [message([{ function_call: { name: 'f', arguments: { text: 'x'.repeat(480) } } }])] }
  const { metadata } = await answerWith('v2', long, more)
  t.strictSame(JSON.parse(metadata.upstream_called_tools), [{ index: 0, name: 'f', role: 'assistant' }], 'too long')
})

t.test('decisions.md 64: a call that the upstream answers itself is a run of a hosted tool', async t => {
  const call = { function_call: { name: 'current_time', arguments: { zone: 'UTC' } } }
  const result = {
    role: 'tool',
    tools_state_id: stateId,
    content: [{ function_result: { name: 'current_time', result: { time: '12:00' } } }]
  }
  const asked = message([call], { tools_state_id: stateId })
  const body = { messages: [asked, result, message([{ text: 'Noon.' }])], finish_reason: 'stop' }
  const whole = await answerWith('v2', body)
  t.match(whole.choices[0], { finish_reason: 'stop', message: { content: 'Noon.' } })
  t.notOk('tool_calls' in whole.choices[0].message)
  t.match(whole.choices[0].message.tool_executions, [{ name: 'current_time', status: 'completed' }])
  t.match(JSON.parse(whole.metadata.upstream_tool_results), [
    { name: 'current_time', result: { time: '12:00' }, tools_state_id: stateId }
  ])
  const frames = await streamScripted('v2', [
    event('response.message.delta', { messages: [asked] }),
    event('response.message.delta', { messages: [result] }),
    delta({ text: 'Noon.' }),
    done()
  ])
  t.strictSame(callsOf(frames), [])
  t.equal(textOf(frames), 'Noon.')
  t.equal(finishOf(frames).choices[0].finish_reason, 'stop')
  const chunk = (change: object, more: object = {}) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: change, ...more }] })}\n\n`
  const v1 = await streamScripted('v1', [
    chunk({ role: 'assistant', content: '', ...call }),
    chunk({ role: 'function', name: 'current_time', content: '{"time":"12:00"}' }),
    chunk({ role: 'assistant', content: 'Noon.' }),
    chunk({ content: '' }, { finish_reason: 'stop' }),
    'data: [DONE]\n\n'
  ])
  t.strictSame(callsOf(v1), [])
  t.equal(textOf(v1), 'Noon.')
  const unanswered = await streamScripted('v2', [event('response.message.delta', { messages: [asked] }), done()])
  t.match(callsOf(unanswered)[0], { function: { name: 'current_time' } }, 'without a result it is a call')
})

const modelFile = { id: 'm-1', mime: 'model/gltf-binary', target: 'model' }
const audioFile = { id: 's-1', mime: 'audio/mpeg', target: 'audio', url: 'https://example.test/s.mp3' }
/** One part with text and files together. */
const withFiles = { messages: [message([{ text: 'Here.', files: [modelFile, audioFile] }])], finish_reason: 'stop' }
const streamOfFiles = [event('response.message.delta', { messages: withFiles.messages }), done()]
const lines = '3D model: m-1\n[Audio](https://example.test/s.mp3)'

t.test('decisions.md 65: 3D models and audio appear in every family, whole and streamed', async t => {
  const whole = await answerWith('v2', withFiles)
  t.equal(whole.choices[0].message.content, `Here.\n\n${lines}`)
  t.match(whole.choices[0].message.files, [modelFile, audioFile])
  t.equal(textOf(await streamScripted('v2', streamOfFiles)), `Here.\n\n${lines}`)

  const messagesBody = { model, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }
  const contentBody = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
  const contentPath = `${gateway.url}/v2/v1beta/models/${model}`
  emulator.respondNext({ body: withFiles })
  const messages = await post(`${gateway.url}/v2/messages`, messagesBody)
  t.equal(messages.json.content.map((block: Loose) => block.text).join(''), `Here.\n\n${lines}`)
  emulator.respondNext({ chunks: streamOfFiles })
  const messagesStream = await post(`${gateway.url}/v2/messages`, { ...messagesBody, stream: true })
  const deltas = readFrames(messagesStream.text).flatMap(frame => frame.delta?.text ?? [])
  t.equal(deltas.join(''), `Here.\n\n${lines}`)

  emulator.respondNext({ body: withFiles })
  const content = await post(`${contentPath}:generateContent`, contentBody)
  const visible = (json: Loose) => json.candidates[0].content.parts.map((part: Loose) => part.text ?? '').join('')
  t.equal(visible(content.json), `Here.\n\n${lines}`)
  t.ok(content.json.candidates[0].content.parts.some((part: Loose) => part.fileData?.fileUri === 'files/m-1'))
  emulator.respondNext({ chunks: streamOfFiles })
  const contentStream = await post(`${contentPath}:streamGenerateContent?alt=sse`, contentBody)
  t.equal(readFrames(contentStream.text).map(visible).join(''), `Here.\n\n${lines}`)
})

t.test('decisions.md 65: a 3D model is an item of its own in Responses, and audio a line of the text', async t => {
  const item = { type: 'model_3d_generate_call', status: 'completed', file_id: 'm-1', mime: 'model/gltf-binary' }
  emulator.respondNext({ body: withFiles })
  const whole = await post(`${gateway.url}/v2/responses`, { model, input: 'x' })
  const text = 'Here.\n\n[Audio](https://example.test/s.mp3)'
  t.match(whole.json.output, [{ type: 'message', content: [{ text }] }, item])
  emulator.respondNext({ chunks: streamOfFiles })
  const streamed = await post(`${gateway.url}/v2/responses`, { model, input: 'x', stream: true })
  const events = readFrames(streamed.text)
  t.match(events.at(-1).response.output, [{ type: 'message', content: [{ text }] }, item])
  t.match(
    events.filter(({ type, item: sent }) => type.startsWith('response.output_item') && sent.type === item.type),
    [{ type: 'response.output_item.added' }, { type: 'response.output_item.done', item }]
  )
  const forced = { tools: [{ type: 'model_3d_generate' }], tool_choice: { type: 'model_3d_generate' } }
  const generated = await post(`${gateway.url}/v2/responses`, { model, input: 'x', ...forced })
  t.match(generated.json.output[0], { type: item.type, mime: item.mime, target: 'model', file_id: /^[0-9a-f-]{36}$/ })
})

t.test('decisions.md 65: nothing is added to JSON that the client requested', async t => {
  const schema = { type: 'object', properties: {} }
  const response_format = { type: 'json_schema', json_schema: { name: 's', schema } }
  const body = { messages: [message([{ text: '{}', files: [modelFile] }])], finish_reason: 'stop' }
  t.equal((await answerWith('v2', body, { response_format })).choices[0].message.content, '{}')
})

t.test('the query of a search is the upstream’s, and a code run is shown as interpreting', async t => {
  const run = (name: string, more: object = {}) => ({ tool_execution: { name, ...more } })
  const sources = { 1: { url: 'https://example.test/a', title: 'A' } }
  const content = [run('web_search', { status: 'success' }), { text: 'x', inline_data: { sources } }]
  const steps = { execution_steps: [{ query: 'news in Oslo' }] }
  for (const additional_data of [steps, [steps]]) {
    emulator.respondNext({ body: { messages: [message(content)], additional_data, finish_reason: 'stop' } })
    const response = await post(`${gateway.url}/v2/responses`, { model, input: 'What is new?' })
    t.match(response.json.output[0], { type: 'web_search_call', action: { query: 'news in Oslo' } })
  }
  const progress = event('response.tool.in_progress', {
    messages: [message([run('code_interpreter', { status: 'interpreting' })])]
  })
  const frames = await streamScripted('v2', [progress, delta({ text: 'x' }), done()])
  const statuses = frames.flatMap(frame => frame.choices?.[0]?.delta.tool_executions ?? []).map(({ status }) => status)
  t.ok(statuses.includes('interpreting'))
})

t.test('decisions.md 63: what a whole response tells about tools a stream tells too', async t => {
  const more = { tools: [functionTool('f')] }
  for (const version of versions) {
    const prompt = '[[tool:f {"a":1}]]'
    const whole = await ask(gateway, version, prompt, { more })
    const streamed = await ask(gateway, version, prompt, { more: { ...more, stream: true } })
    const last = readFrames(streamed.text).findLast(frame => frame.metadata?.upstream_called_tools !== undefined)
    for (const metadata of [whole.json.metadata, last.metadata]) {
      t.match(JSON.parse(metadata.upstream_called_tools), [{ index: 0, name: 'f', arguments: { a: 1 } }])
    }
  }
})
