// The OpenAI Responses wire, through the official SDK where the SDK can send the request and shows the response.
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { createEmulator, type EmulatorOptions } from '../../../../ops/emulator/server.ts'
import { readFrames, send, weather } from '../support.ts'

async function start(t: Test, options: EmulatorOptions = {}) {
  const emulator = await createEmulator(options)
  t.teardown(() => emulator.close())
  const client = new OpenAI({ apiKey: 'key', baseURL: emulator.responsesBaseUrl, maxRetries: 0 })
  const post = (body: unknown) => send(`${emulator.responsesBaseUrl}/responses`, { body })
  return { emulator, client, post }
}

const tool = { type: 'function' as const, ...weather, strict: false }
const call = '[[tool:get_weather {"city":"Oslo"}]]'

t.test('a plain response has the form that the SDK expects, whole and streamed', async t => {
  const { client, post } = await start(t)
  const response = await client.responses.create({ model: 'm', input: '[[text:Hello]]', store: false })
  t.equal(response.output_text, 'Hello')
  t.match(response, { object: 'response', status: 'completed', usage: { output_tokens: 1 } })
  const stream = client.responses.stream({ model: 'm', input: '[[chunks:a|b|c]]', store: false })
  const deltas: string[] = []
  stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
  t.equal((await stream.finalResponse()).output_text, 'abc')
  t.same(deltas, ['a', 'b', 'c'])
  const { text } = await post({ model: 'm', input: 'hi', stream: true })
  const numbers = readFrames(text).map(({ data }) => JSON.parse(data).sequence_number)
  t.same(numbers, [...numbers.keys()], 'events are numbered')
})

t.test('a loop of calls, with reasoning that must come back as it was', async t => {
  const { client, post } = await start(t)
  const first = await client.responses.create({
    model: 'm',
    input: `${call}[[reason:why]]`,
    tools: [tool],
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low', summary: 'auto' }
  })
  t.match(first.output, [
    { type: 'reasoning', summary: [{ text: 'why' }], encrypted_content: String },
    { type: 'function_call', name: 'get_weather', arguments: '{"city":"Oslo"}' }
  ])
  const [reasoning, used] = first.output
  if (used?.type !== 'function_call' || reasoning?.type !== 'reasoning') throw new Error('no call')
  const result = { type: 'function_call_output' as const, call_id: used.call_id, output: 'sunny' }
  const input = [{ role: 'user' as const, content: call }, ...first.output, result]
  const second = await client.responses.create({ model: 'm', input: input as never, tools: [tool], store: false })
  t.equal(second.output_text, 'The function get_weather returned sunny.')
  const refused: Array<[input: unknown[], message: RegExp]> = [
    [[input[0], { ...reasoning, encrypted_content: 'gAAAAAx' }, used, result], /could not be verified/],
    [[input[0], { ...reasoning, encrypted_content: undefined }, used, result], /not persisted/],
    [[input[0], reasoning], /without its required following item/],
    [[input[0], used], /No tool output found/],
    [[input[0], result], /No tool call found/]
  ]
  for (const [items, message] of refused) {
    const { status, text } = await post({ model: 'm', input: items, store: false })
    t.ok(status === 400 || status === 404, text)
    t.match(JSON.parse(text).error.message, message)
  }
})

t.test('a stored response is continued, read and deleted', async t => {
  const { client } = await start(t)
  const first = await client.responses.create({ model: 'm', input: 'my name is Ada' })
  t.equal((await client.responses.retrieve(first.id)).id, first.id)
  const next = await client.responses.create({ model: 'm', input: '[[recall]]', previous_response_id: first.id })
  t.match(next.output_text, /my name is Ada/)
  const other = await client.responses.create({ model: 'm', input: '[[recall]]', previous_response_id: first.id })
  t.equal(other.output_text, next.output_text, 'a response may be continued twice')
  await client.responses.delete(first.id)
  await t.rejects(client.responses.create({ model: 'm', input: 'x', previous_response_id: first.id }), {
    status: 400,
    code: 'previous_response_not_found'
  })
  const unstored = await client.responses.create({ model: 'm', input: 'x', store: false })
  await t.rejects(client.responses.retrieve(unstored.id), { message: /not found/ })
})

t.test('hosted and free-form tools have items of their own', async t => {
  const { client } = await start(t)
  const searched = await client.responses.create({
    model: 'm',
    input: 'Please search the web for news.',
    tools: [{ type: 'web_search' }]
  })
  t.match(searched.output, [
    { type: 'web_search_call', status: 'completed', action: { type: 'search' } },
    { type: 'message', content: [{ annotations: [{ type: 'url_citation' }, {}] }] }
  ])
  const stream = client.responses.stream({
    model: 'm',
    input: '[[tool:apply_patch "*** Begin"]]',
    tools: [{ type: 'custom', name: 'apply_patch' }]
  })
  t.match((await stream.finalResponse()).output, [
    { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin' }
  ])
})

t.test('requests that the service refuses, each with its member and code', async t => {
  const { post } = await start(t)
  const user = { role: 'user', content: 'hi' }
  const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  const rows: Array<[body: object, param: string | null, code: string | null]> = [
    [{ messages: [user] }, 'messages', 'unknown_parameter'],
    [{ input: 'x', max_tokens: 5 }, 'max_tokens', 'unknown_parameter'],
    [{ input: 'x', max_output_tokens: 5 }, 'max_output_tokens', 'integer_below_min_value'],
    [{ input: 'x', stop: ['x'] }, 'stop', 'unknown_parameter'],
    [{}, 'input', 'missing_required_parameter'],
    [{ input: [{ ...user, name: 'Ada' }] }, 'input[0].name', 'unknown_parameter'],
    [{ input: [{ role: 'tool', content: 'x' }] }, 'input[0].role', 'invalid_value'],
    [
      { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] },
      'input[0].content[0].type',
      'invalid_value'
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] },
      'input[0].content[0].type',
      'invalid_value'
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
      'input[0].content[0].image_url',
      'missing_required_parameter'
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,AAAA' }] }] },
      'input[0].content[0].filename',
      'missing_required_parameter'
    ],
    [{ input: 'x', tools: [{ type: 'function', function: weather }] }, 'tools[0].function', 'unknown_parameter'],
    [{ input: 'x', tools: [{ type: 'code_interpreter' }] }, 'tools[0].container', 'missing_required_parameter'],
    [{ input: 'x', tools: [{ type: 'google_search' }] }, 'tools[0].type', 'invalid_value'],
    [{ input: 'x', tools: [{ ...tool, strict: true }] }, 'tools[0].parameters', 'invalid_function_parameters'],
    [{ input: 'x', tool_choice: 'required' }, 'tool_choice', 'invalid_value'],
    [{ input: 'x', tools: [tool], tool_choice: { type: 'function', name: 'other' } }, 'tool_choice', 'invalid_value'],
    [{ input: 'x', include: ['reasoning'] }, 'include[0]', 'invalid_value'],
    [{ input: 'x', reasoning: { effort: 'huge' } }, 'reasoning.effort', 'invalid_value'],
    [{ input: 'x', model: 'plain-1', reasoning: { effort: 'low' } }, 'reasoning.effort', 'unsupported_parameter'],
    [{ input: 'x', model: 'plain-1', include: ['reasoning.encrypted_content'] }, 'include', 'invalid_value'],
    [
      { input: 'x', text: { format: { type: 'json_schema', schema: closed } } },
      'text.format.name',
      'missing_required_parameter'
    ],
    [
      { input: 'x', text: { format: { type: 'json_schema', name: 'n', strict: true, schema: { type: 'object' } } } },
      'text.format.schema',
      'invalid_json_schema'
    ],
    [{ input: 'x', stream_options: { include_obfuscation: false } }, 'stream_options', 'invalid_value']
  ]
  for (const [body, param, code] of rows) {
    const { status, text } = await post({ model: 'm', ...body })
    t.equal(status, 400, text)
    t.match(JSON.parse(text).error, { param, code }, JSON.stringify(body))
  }
  const fine = { text: { format: { type: 'json_schema', name: 'n', strict: true, schema: closed } } }
  t.equal((await post({ model: 'm', input: 'x', ...fine })).status, 200)
  t.equal((await post({ model: 'missing-1', input: 'x' })).status, 404)
})

t.test('faults: keys, errors in a stream and streams without their end', async t => {
  const { emulator, post } = await start(t, { chatApiKey: 'right' })
  t.equal((await post({ model: 'm', input: 'x' })).status, 401)
  emulator.configure({ chatApiKey: null })
  const frames = async (input: string) => readFrames((await post({ model: 'm', input, stream: true })).text)
  t.match((await frames('[[errframe:429 message=Slow down]]')).at(-1), {
    event: 'error',
    data: /"code":"rate_limit_exceeded","message":"Slow down"/
  })
  t.not((await frames('[[noeof]]')).at(-1)?.event, 'response.completed')
  t.equal((await frames('[[finish:length]]')).at(-1)?.event, 'response.incomplete')
})

t.test('a conversation is compacted to one item, which stands for it later', async t => {
  const { post } = await start(t)
  const input = [{ role: 'user', content: 'The word is slate.' }]
  const trigger = { type: 'compaction_trigger' }
  const { text } = await post({ model: 'm', input: [...input, trigger] })
  const { output } = JSON.parse(text)
  t.match(output, [{ type: 'compaction', id: /^cmp_/, encrypted_content: /^gAAAAA/ }])
  const next = await post({ model: 'm', input: [...output, { role: 'user', content: '[[recall]]' }] })
  t.match(JSON.parse(next.text).output[0].content[0].text, /slate/)
  const frames = readFrames((await post({ model: 'm', stream: true, input: [...input, trigger] })).text)
  t.same(frames.map(({ event }) => event).slice(2), [
    'response.output_item.added',
    'response.output_item.done',
    'response.completed'
  ])
  t.equal((await post({ model: 'm', input: [trigger, ...input] })).status, 400, 'the trigger is the last item')
})
