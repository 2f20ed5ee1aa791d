import t from 'tap'
import { readToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import {
  type Chunk,
  callsOf,
  emulatorOptions,
  generate,
  largest,
  modelTurn,
  partsOf,
  stream,
  textOf,
  user,
  versions
} from './support.ts'

const { emulator, gateway } = await startSharedGateway(emulatorOptions)

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const A = { name: 'A', parametersJsonSchema: schema }
const B = { name: 'B', parametersJsonSchema: { type: 'object' } }
const wireA = { name: 'A', parameters: schema }
const wireB = { name: 'B', parameters: { type: 'object' } }
const declare = (...functionDeclarations: object[]) => ({ tools: [{ functionDeclarations }] })
const choose = (functionCallingConfig: object, tools: object = declare(A, B)) => ({
  ...tools,
  toolConfig: { functionCallingConfig }
})
const functionCall = (name: string, args: object, more: object = {}) => ({ functionCall: { name, args, ...more } })
const functionResponse = (name: string, response: object, more: object = {}) => ({
  functionResponse: { name, response, ...more }
})

function sent() {
  return lastUpstreamChat(emulator).body
}

t.test('content 25: functions are sent to v1 with lower-case types, null as a type and unchanged formats', async t => {
  const parameters = {
    type: 'OBJECT',
    properties: {
      city: { type: 'STRING', nullable: true, example: 'Omsk' },
      days: { type: 'INTEGER', format: 'int32' },
      tags: { type: 'ARRAY', items: { type: 'STRING' }, minItems: '1' },
      any: { anyOf: [{ type: 'NUMBER' }, { type: 'BOOLEAN', nullable: true }] }
    },
    propertyOrdering: ['days', 'city'],
    required: ['city']
  }
  const expected = {
    type: 'object',
    properties: {
      days: { type: 'integer', format: 'int32' },
      city: { type: ['string', 'null'], examples: ['Omsk'] },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
      any: { anyOf: [{ type: 'number' }, { type: ['boolean', 'null'] }] }
    },
    required: ['city']
  }
  const tools = declare({ name: 'A', description: 'does', parameters }, { name: 'B' })
  const response = await generate(gateway, 'v1', '[[tool:A {"city":"Omsk"}]]', tools)
  t.strictSame(sent().functions, [
    { name: 'A', description: 'does', parameters: expected },
    { name: 'B', parameters: { type: 'object', properties: {} } }
  ])
  t.strictSame(Object.keys(sent().functions[0].parameters.properties), ['days', 'city', 'tags', 'any'])
  t.notOk('function_call' in sent())
  t.equal(partsOf(response.json).length, 1)
  t.match(callsOf(response.json), [{ name: 'A', args: { city: 'Omsk' }, id: /^[a-zA-Z0-9_-]{1,128}$/ }])
  t.equal(response.json.candidates[0].finishReason, 'STOP')
})

t.test('content 26: functions are sent to v2 in one list, a JSON Schema unchanged', async t => {
  const parametersJsonSchema = {
    type: 'object',
    properties: { node: { $ref: '#/$defs/N' }, free: true, nullable: { type: 'boolean' } },
    $defs: { N: { anyOf: [{ type: ['string', 'null'] }, { $ref: '#/$defs/N' }] } },
    additionalProperties: false
  }
  const tools = [
    ...declare({ name: 'A', parametersJsonSchema }).tools,
    ...declare({
      name: 'B',
      parameters: {
        type: 'OBJECT',
        properties: { a: { type: 'STRING', nullable: true }, b: { type: 'NUMBER', nullable: false } },
        propertyOrdering: ['b', 'a']
      }
    }).tools
  ]
  const response = await generate(gateway, 'v2', '[[tool:A {"node":null}]]', { tools })
  t.strictSame(sent().tools, [
    {
      functions: {
        specifications: [
          { name: 'A', parameters: parametersJsonSchema },
          {
            name: 'B',
            parameters: { type: 'object', properties: { b: { type: 'number' }, a: { type: ['string', 'null'] } } }
          }
        ]
      }
    }
  ])
  t.match(callsOf(response.json), [{ name: 'A', args: { node: null } }])
})

t.test('content 27, 30, 33: invalid declarations and tool choices are refused', async t => {
  const before = upstreamChats(emulator).length
  const cases: Array<[object, string | RegExp]> = [
    [declare({ ...A, parameters: { type: 'OBJECT' } }), /^tools\[0\]\.functionDeclarations\[0\]/],
    [declare({ parameters: {} }), 'tools[0].functionDeclarations[0].name'],
    [declare({ name: 'A', parameters: 'x' }), 'tools[0].functionDeclarations[0].parameters'],
    [choose({ mode: 'ANY' }, {}), 'toolConfig.functionCallingConfig.mode'],
    [choose({ mode: 'ANY', allowedFunctionNames: ['C'] }), 'toolConfig.functionCallingConfig.allowedFunctionNames[0]'],
    [choose({ mode: 'SOMETIMES' }), 'toolConfig.functionCallingConfig.mode']
  ]
  for (const version of versions) {
    for (const [more, field] of cases) {
      const response = await generate(gateway, version, 'go', more)
      t.equal(response.status, 400, String(field))
      t.equal(response.json.error.status, 'INVALID_ARGUMENT')
      t.match(response.json.error.details.at(-1), { fieldViolations: [{ field }] }, String(field))
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('content 28: a single allowed function is the only one that is declared, and it is forced', async t => {
  const choice = choose({ mode: 'ANY', allowedFunctionNames: ['B'] })
  for (const version of versions) {
    const response = await generate(gateway, version, 'go', choice)
    t.strictSame(listSentFunctions(sent()), [wireB])
    if (version === 'v1') t.strictSame(sent().function_call, { name: 'B' })
    else t.strictSame(sent().tool_config, { mode: 'forced', function_name: 'B' })
    t.match(callsOf(response.json), [{ name: 'B' }])
  }
})

t.test('content 29: any of several functions is refused on v1 and forced without a name on v2', async t => {
  const before = upstreamChats(emulator).length
  const refused = await generate(gateway, 'v1', 'go', choose({ mode: 'ANY' }))
  t.equal(refused.status, 400)
  t.match(refused.json.error.details, [
    { reason: 'unsupported_semantic' },
    { fieldViolations: [{ field: 'toolConfig.functionCallingConfig' }] }
  ])
  t.equal(upstreamChats(emulator).length, before)
  const response = await generate(gateway, 'v2', 'go', choose({ mode: 'ANY' }))
  t.equal(response.status, 200)
  t.strictSame(sent().tool_config, { mode: 'forced' })
  t.strictSame(listSentFunctions(sent()), [wireA, wireB])

  t.comment('an upstream that does not obey is passed on as it is')
  const messages = [{ role: 'assistant', content: [{ text: 'I would rather not.' }] }]
  emulator.respondNext({ body: { messages, finish_reason: 'stop' } })
  const unmoved = await generate(gateway, 'v2', 'go', choose({ mode: 'ANY' }))
  t.equal(unmoved.status, 200)
  t.equal(textOf(unmoved.json), 'I would rather not.')
  t.equal(unmoved.json.candidates[0].finishReason, 'STOP')
  const id = unmoved.headers.get('x-request-id')
  const findLine = () => readLog(gateway).find(line => line.event === 'upstream_anomaly' && line.request_id === id)
  await waitUntil(() => findLine() !== undefined, 'the anomaly is logged')
  t.match(findLine(), { anomaly: 'forced_tool_call_missing' })
})

t.test('content 31: the mode NONE removes the functions, tools of the provider stay', async t => {
  for (const version of versions) {
    const response = await generate(gateway, version, '[[tool:A {}]]', choose({ mode: 'NONE' }))
    t.strictSame(listSentFunctions(sent()), [])
    t.strictSame(callsOf(response.json), [])
    t.ok(textOf(response.json))
  }
  const both = { tools: [{ functionDeclarations: [A] }, { googleSearch: {} }] }
  await generate(gateway, 'v2', 'go', choose({ mode: 'NONE' }, both))
  t.strictSame(sent().tools, [{ web_search: {} }])
})

t.test('content 32: the modes VALIDATED and AUTO only filter', async t => {
  for (const version of versions) {
    for (const mode of ['VALIDATED', 'AUTO', 'auto', 'MODE_UNSPECIFIED']) {
      t.equal((await generate(gateway, version, 'go', choose({ mode }))).status, 200)
      t.strictSame(listSentFunctions(sent()), [wireA, wireB], mode)
      t.notOk('function_call' in sent() || 'tool_config' in sent())
      t.equal((await generate(gateway, version, 'go', choose({ mode, allowedFunctionNames: ['A'] }))).status, 200)
      t.strictSame(listSentFunctions(sent()), [wireA], mode)
    }
  }
})

const providerTools = {
  tools: [{ googleSearch: { timeRangeFilter: {} } }, { urlContext: {} }, { codeExecution: {} }, { googleMaps: {} }]
}

t.test('content 34: provider tools are sent to v2 under its names, and sources are returned', async t => {
  const prompt = '[[builtin:web_search]]'
  const response = await generate(gateway, 'v2', prompt, providerTools)
  t.strictSame(sent().tools, [{ web_search: {} }, { url_content_extraction: {} }, { code_interpreter: {} }])
  const text = textOf(response.json)
  t.notMatch(text, /\[sources=/)
  t.match(text, /\n\nSources:\n- \[The first page\]\(https:\/\/example\.test\/first\)/)
  const grounding = { groundingChunks: [{ web: { uri: 'https://example.test/first', title: 'The first page' } }] }
  t.match(response.json.candidates[0].groundingMetadata, grounding)
  const { chunks } = await stream(gateway, 'v2', prompt, providerTools)
  t.equal(textOf(...chunks), text)
  t.match(chunks.at(-1).candidates[0].groundingMetadata, grounding)
})

t.test('content 35: tools of the provider have no effect on v1', async t => {
  const response = await generate(gateway, 'v1', 'go', providerTools)
  t.equal(response.status, 200)
  t.notOk('tools' in sent() || 'functions' in sent())
})

t.test('content 36: a function with a reserved name is sent under an alias and returned under its name', async t => {
  const choice = choose({ mode: 'ANY' }, declare({ ...A, name: 'web_search' }))
  for (const version of versions) {
    const response = await generate(gateway, version, 'go', choice)
    t.equal(listSentFunctions(sent())[0]?.name, '__gateway_user_search_web')
    t.match(callsOf(response.json), [{ name: 'web_search' }])
    const streamed = await stream(gateway, version, 'go', choice)
    t.match(callsOf(...streamed.chunks), [{ name: 'web_search' }])
    t.notMatch(streamed.response.text, /__gateway/)
  }
})

const history = (turn: object[], ...responses: object[]) => ({
  contents: [user({ text: 'hi' }), modelTurn(...turn), user(...responses)]
})

t.test('content 37: a call is sent to v1 as an object and its response as JSON text', async t => {
  const more = history([{ text: 'look' }, functionCall('f', { a: 1 })], functionResponse('f', { temp: 4 }))
  t.equal((await generate(gateway, 'v1', '', more)).status, 200)
  t.strictSame(sent().messages, [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'look', function_call: { name: 'f', arguments: { a: 1 } } },
    { role: 'function', name: 'f', content: '{"temp":4}' }
  ])
})

/** Lets the upstream call A once and returns the model's turn that the client received. */
async function getModelTurn(): Promise<{ content: Chunk; stateId: string | undefined }> {
  const response = await generate(gateway, 'v2', '[[tool:A {"city":"Omsk"}]]', declare(A, B))
  const { content } = response.json.candidates[0]
  const { stateId } = readToolCallId(content.parts[0].functionCall.id)
  if (stateId === undefined) throw new Error('The id carries no state.')
  return { content, stateId }
}

function roundTrip(stateId: string | undefined, response: object) {
  const state = stateId === undefined ? {} : { tools_state_id: stateId }
  return [
    { role: 'user', content: [{ text: 'hi' }] },
    {
      role: 'assistant',
      content: [{ function_call: { name: 'A', arguments: { city: 'Omsk' } } }],
      ...state
    },
    { role: 'tool', content: [{ function_result: { name: 'A', result: response } }], ...state }
  ]
}

t.test('content 38: on v2 a call and its response are sent with the state id of the call', async t => {
  const unknownBefore = emulator.stats.unknownStateIds
  const { content, stateId } = await getModelTurn()
  const { id } = content.parts[0].functionCall
  const contents = [user({ text: 'hi' }), content, user(functionResponse('A', { temp: 4 }, { id }))]
  t.equal((await generate(gateway, 'v2', '', { contents, ...declare(A) })).status, 200)
  t.strictSame(sent().messages, roundTrip(stateId, { temp: 4 }))
  t.equal(emulator.stats.unknownStateIds, unknownBefore, 'the upstream knows every id that was sent back')
})

t.test('content 39: a call without an id is matched by its thought signature (C3)', async t => {
  const unknownBefore = emulator.stats.unknownStateIds
  const { content, stateId } = await getModelTurn()
  const [{ functionCall: issued, thoughtSignature }] = content.parts
  t.type(thoughtSignature, 'string')
  t.strictSame(Buffer.from(thoughtSignature, 'base64').toString('base64'), thoughtSignature, 'it is plain base64')
  const part = { ...functionCall(issued.name, issued.args), thoughtSignature }
  const more = history([part], functionResponse('A', { temp: 4 }))
  t.equal((await generate(gateway, 'v2', '', more)).status, 200)
  t.strictSame(sent().messages, roundTrip(stateId, { temp: 4 }))
  t.equal(emulator.stats.unknownStateIds, unknownBefore)
})

t.test('content 40: without an id, or with a foreign signature, no state id is sent', async t => {
  for (const extra of [
    {},
    { thoughtSignature: 'skip_thought_signature_validator' },
    { thoughtSignature: Buffer.from('of another service').toString('base64') }
  ]) {
    const part = { ...functionCall('A', { city: 'Omsk' }), ...extra }
    t.equal((await generate(gateway, 'v2', '', history([part], functionResponse('A', { temp: 4 })))).status, 200)
    t.strictSame(sent().messages, roundTrip(undefined, { temp: 4 }))
  }
})

t.test('content 41, 42: two calls and two responses are parts in order on v2, pairs on v1', async t => {
  const more = history(
    [functionCall('f', { a: 1 }), functionCall('g', { b: 2 })],
    functionResponse('g', { g: 1 }),
    functionResponse('f', { f: 1 })
  )
  t.equal((await generate(gateway, 'v2', '', more)).status, 200)
  t.strictSame(sent().messages.slice(1), [
    {
      role: 'assistant',
      content: [
        { function_call: { name: 'f', arguments: { a: 1 } } },
        { function_call: { name: 'g', arguments: { b: 2 } } }
      ]
    },
    { role: 'tool', content: [{ function_result: { name: 'f', result: { f: 1 } } }] },
    { role: 'tool', content: [{ function_result: { name: 'g', result: { g: 1 } } }] }
  ])
  t.equal((await generate(gateway, 'v1', '', more)).status, 200)
  t.strictSame(sent().messages.slice(1), [
    { role: 'assistant', content: '', function_call: { name: 'f', arguments: { a: 1 } } },
    { role: 'function', name: 'f', content: '{"f":1}' },
    { role: 'assistant', content: '', function_call: { name: 'g', arguments: { b: 2 } } },
    { role: 'function', name: 'g', content: '{"g":1}' }
  ])
})

t.test('content 43: a call without a response in the conversation is not sent (B8)', async t => {
  for (const version of versions) {
    const more = history([functionCall('f', {})], { text: 'never mind' })
    t.equal((await generate(gateway, version, '', more)).status, 200)
    t.notMatch(JSON.stringify(sent()), /function_call/)
    t.match(JSON.stringify(sent()), /never mind/)
    t.notOk(sent().messages.some((message: { role: string }) => message.role === 'assistant'))
  }
})

t.test('content 44: several calls of the largest v2 model are returned as parts with distinct ids', async t => {
  const unknownBefore = emulator.stats.unknownStateIds
  const prompt = '[[tool:A {"city":"Omsk"}]][[tool:A {"city":"Perm"}]]'
  const response = await generate(gateway, 'v2', prompt, declare(A, B), { model: largest })
  t.equal(sent().parallel_tool_calls, true)
  const calls = callsOf(response.json)
  t.match(calls, [{ args: { city: 'Omsk' } }, { args: { city: 'Perm' } }])
  t.not(calls[0].id, calls[1].id)
  const { stateId } = readToolCallId(calls[0].id)
  t.type(stateId, 'string')
  t.equal(readToolCallId(calls[1].id).stateId, stateId)
  const { chunks } = await stream(gateway, 'v2', prompt, declare(A, B), { model: largest })
  t.strictSame(
    callsOf(...chunks).map(({ args }) => args),
    [{ city: 'Omsk' }, { city: 'Perm' }]
  )
  t.equal(chunks.filter(chunk => callsOf(chunk).length > 0).length, 1, 'in one chunk: SDKs run them at once')

  t.comment('all responses come back in one turn')
  const responses = calls.map(({ id, name }, index) => functionResponse(name, { index }, { id }))
  const contents = [user({ text: 'hi' }), response.json.candidates[0].content, user(...responses)]
  t.equal((await generate(gateway, 'v2', '', { contents, ...declare(A, B) }, { model: largest })).status, 200)
  const [, assistant, ...results] = sent().messages
  t.equal(assistant.tools_state_id, stateId)
  t.equal(assistant.content.length, 2)
  t.strictSame(
    results.map((message: Chunk) => [message.tools_state_id, message.content[0].function_result.result]),
    [
      [stateId, { index: 0 }],
      [stateId, { index: 1 }]
    ]
  )
  t.equal(emulator.stats.unknownStateIds, unknownBefore)

  t.comment('where the model has no choice, and elsewhere, the option is not sent')
  for (const [version, more, model] of [
    ['v2', declare(A), largest],
    ['v2', choose({ mode: 'ANY', allowedFunctionNames: ['A'] }), largest],
    ['v2', declare(A, B), 'GigaChat-2'],
    ['v1', declare(A, B), largest]
  ] as const) {
    const one = await generate(gateway, version, prompt, more, { model })
    t.notOk('parallel_tool_calls' in sent())
    t.equal(callsOf(one.json).length, 1)
  }
})
