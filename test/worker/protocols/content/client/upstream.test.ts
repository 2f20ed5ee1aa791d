// Requests of the content protocol on the wire of the native upstream, and its responses: client face and provider faces together.

import t from 'tap'
import {
  accumulateEvents,
  GatewayError,
  type JsonObject,
  writeToolCallId
} from '../../../../../worker/normalized/index.ts'
import { writeContentError } from '../../../../../worker/protocols/content/client/errors.ts'
import type { ContentResponse } from '../../../../../worker/protocols/content/client/schema.ts'
import { createContentStreamWriter } from '../../../../../worker/protocols/content/client/stream.ts'
import { writeThoughtSignature } from '../../../../../worker/protocols/content/client/thought-signature.ts'
import { writeContentResponse } from '../../../../../worker/protocols/content/client/write-response.ts'
import type { NativeReading } from '../../../../../worker/protocols/native/reading.ts'
import { nativeV1Face } from '../../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../../worker/protocols/native/v2/face.ts'
import type { ResponseReader } from '../../../../../worker/protocols/provider-face.ts'
import { readEventStream } from '../../../../properties/content-chunks.ts'
import { catchError } from '../../../../support/codec.ts'
import type { NativeFace } from '../../native/support.ts'
import { failure, largestModel, onV1, onV2, read, responseContext, settings, writeV1, writeV2 } from './support.ts'

const v1Hi = [{ role: 'user', content: 'hi' }]
const v2Hi = [{ role: 'user', content: [{ text: 'hi' }] }]
const user = (...parts: JsonObject[]): JsonObject => ({ role: 'user', parts })
const model = (...parts: JsonObject[]): JsonObject => ({ role: 'model', parts })
const call = (name: string, args: JsonObject, rest: JsonObject = {}): JsonObject => ({
  functionCall: { name, args, ...rest }
})
const result = (name: string, response: JsonObject, rest: JsonObject = {}): JsonObject => ({
  functionResponse: { name, response, ...rest }
})

const A = { name: 'A', parametersJsonSchema: { type: 'object' } }
const B = { name: 'B', parametersJsonSchema: { type: 'object' } }
const wireA = { name: 'A', parameters: { type: 'object' } }
const wireB = { name: 'B', parameters: { type: 'object' } }
const declare = (...functionDeclarations: JsonObject[]): JsonObject => ({ tools: [{ functionDeclarations }] })
const choose = (functionCallingConfig: JsonObject, tools = declare(A, B)): JsonObject => ({
  ...tools,
  toolConfig: { functionCallingConfig }
})
const specifications = (...list: JsonObject[]) => ({ functions: { specifications: list } })

t.test('a conversation is messages on v1 and parts on v2', async t => {
  t.strictSame(writeV1({}).body, { model: 'gemini-2.5-pro', messages: v1Hi })
  t.strictSame(writeV2({}).body, { model: 'gemini-2.5-pro', messages: v2Hi })
})

t.test('the instruction is the first message, its parts joined without a separator', async t => {
  const body = { systemInstruction: { parts: [{ text: 's1' }, { text: 's2' }] } }
  t.strictSame(onV1(body), { messages: [{ role: 'system', content: 's1s2' }, ...v1Hi] })
  t.strictSame(onV2(body), { messages: [{ role: 'system', content: [{ text: 's1s2' }] }, ...v2Hi] })
})

t.test('content 15, 16: sampling parameters are top-level members on v1 and model options on v2', async t => {
  const generationConfig = { temperature: 0.2, topP: 0.5, maxOutputTokens: 33 }
  const wire = { temperature: 0.2, top_p: 0.5, max_tokens: 33 }
  t.strictSame(onV1({ generationConfig }), { messages: v1Hi, ...wire })
  t.strictSame(onV2({ generationConfig }), { messages: v2Hi, model_options: wire })
})

t.test('content 17: a temperature of zero becomes a top_p of zero', async t => {
  t.strictSame(onV1({ generationConfig: { temperature: 0, topP: 0.5 } }), { messages: v1Hi, top_p: 0 })
  t.strictSame(onV1({ generationConfig: { temperature: -1 } }), { messages: v1Hi })
})

t.test('content 18: parameters without effect are not sent', async t => {
  const body = {
    generationConfig: {
      topK: 3,
      candidateCount: 2,
      seed: 1,
      presencePenalty: 1,
      frequencyPenalty: 1,
      stopSequences: ['x']
    },
    safetySettings: [],
    cachedContent: 'c',
    labels: {},
    extra_body: { profanity_check: false },
    unknown: 1
  }
  t.strictSame(onV1(body), { messages: v1Hi })
  t.strictSame(onV2(body), { messages: v2Hi })
})

t.test('content 21, 22: a thinking level is an effort, a budget of zero is none', async t => {
  const level = { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } }
  t.strictSame(onV1(level), { messages: v1Hi, reasoning_effort: 'high' })
  t.strictSame(onV2(level), { messages: v2Hi, model_options: { reasoning: { effort: 'high' } } })
  const off = { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }
  t.strictSame(onV1(off), { messages: v1Hi })
  t.strictSame(onV2(off), { messages: v2Hi })
})

t.test('content 25: functions reach v1 with lower-case types and null as a type', async t => {
  const parameters = {
    type: 'OBJECT',
    properties: { city: { type: 'STRING', nullable: true }, days: { type: 'INTEGER', format: 'int32' } }
  }
  const wire = {
    type: 'object',
    properties: { city: { type: ['string', 'null'] }, days: { type: 'integer', format: 'int32' } }
  }
  t.strictSame(onV1(declare({ name: 'A', parameters, description: 'does' }, B)), {
    messages: v1Hi,
    functions: [{ name: 'A', description: 'does', parameters: wire }, wireB]
  })
})

t.test('content 26: functions reach v2 in one list, a JSON Schema unchanged', async t => {
  const schema = { $defs: { N: { type: ['string', 'null'] } }, anyOf: [{ $ref: '#/$defs/N' }, true], nullable: true }
  const body = {
    tools: [declare({ name: 'A', parametersJsonSchema: schema }).tools, declare(B).tools].flat(2) as JsonObject[]
  }
  t.strictSame(onV2(body), { messages: v2Hi, tools: [specifications({ name: 'A', parameters: schema }, wireB)] })
})

t.test('the schema of the result is sent', async t => {
  const body = declare({ ...A, response: { type: 'STRING' }, behavior: 'BLOCKING' })
  t.strictSame(onV1(body).functions, [{ ...wireA, return_parameters: { type: 'string' } }])
})

t.test('content 28: a single allowed function is the only one declared, and is forced', async t => {
  const body = choose({ mode: 'ANY', allowedFunctionNames: ['B'] })
  t.strictSame(onV1(body), { messages: v1Hi, functions: [wireB], function_call: { name: 'B' } })
  t.strictSame(onV2(body), {
    messages: v2Hi,
    tools: [specifications(wireB)],
    tool_config: { mode: 'forced', function_name: 'B' }
  })
  t.strictSame(onV1(choose({ mode: 'ANY' }, declare(A))), {
    messages: v1Hi,
    functions: [wireA],
    function_call: { name: 'A' }
  })
})

t.test('content 29: a call of any of several functions is refused on v1 and forced without a name on v2', async t => {
  const refusal = { code: 'unsupported_semantic', param: 'toolConfig.functionCallingConfig', status: 400 }
  for (const config of [{ mode: 'ANY' }, { mode: 'ANY', allowedFunctionNames: ['B', 'A'] }]) {
    t.strictSame(
      failure(() => writeV1(choose(config))),
      refusal
    )
    const written = writeV2(choose(config))
    t.strictSame(written.body.tool_config, { mode: 'forced' })
    t.strictSame(written.body.tools, [specifications(wireA, wireB)])
    t.equal(written.reading.expectsToolCall, true)
  }
})

t.test('content 31: the mode NONE removes the functions, and hosted tools stay', async t => {
  const tools = { tools: [{ functionDeclarations: [A], googleSearch: {} }] }
  t.strictSame(onV1(choose({ mode: 'NONE' })), { messages: v1Hi })
  t.strictSame(onV2(choose({ mode: 'NONE' })), { messages: v2Hi })
  t.strictSame(onV2(choose({ mode: 'NONE' }, tools)), { messages: v2Hi, tools: [{ web_search: {} }] })
})

t.test('content 32: the modes AUTO and VALIDATED only filter the functions', async t => {
  for (const mode of ['AUTO', 'VALIDATED']) {
    t.strictSame(onV1(choose({ mode })), { messages: v1Hi, functions: [wireA, wireB] })
    t.strictSame(onV2(choose({ mode, allowedFunctionNames: ['A'] })), {
      messages: v2Hi,
      tools: [specifications(wireA)]
    })
  }
})

t.test('content 34, 35: hosted tools are sent on v2 under its names, and not on v1', async t => {
  const tools = [
    { googleSearch: { timeRangeFilter: {} } },
    { urlContext: {} },
    { codeExecution: {} },
    { googleMaps: {} },
    { webSearch: { type: 'second' } },
    { functionDeclarations: [A] }
  ]
  t.strictSame(onV2({ tools }), {
    messages: v2Hi,
    tools: [{ web_search: {} }, { url_content_extraction: {} }, { code_interpreter: {} }, specifications(wireA)]
  })
  t.strictSame(onV1({ tools: tools.slice(0, -1) }), { messages: v1Hi })
})

t.test('content 36: a reserved name has an alias on the wire, also in the history (B11)', async t => {
  const body = {
    ...declare({ ...A, name: 'web_search' }),
    contents: [user({ text: 'hi' }), model(call('web_search', {})), user(result('web_search', {}))]
  }
  const { body: sent, reading } = writeV1(body)
  t.strictSame(sent.functions, [{ ...wireA, name: '__gateway_user_search_web' }])
  t.equal(JSON.stringify(sent).includes('"web_search"'), false)
  t.strictSame(reading.toolNames.get('__gateway_user_search_web'), { name: 'web_search' })
})

t.test('content 37: a call and its response are an object and JSON text on v1', async t => {
  const contents = [user({ text: 'hi' }), model(call('f', { a: 1 })), user(result('f', { temp: 4 }))]
  t.strictSame(onV1({ contents }).messages, [
    ...v1Hi,
    { role: 'assistant', content: '', function_call: { name: 'f', arguments: { a: 1 } } },
    { role: 'function', name: 'f', content: '{"temp":4}' }
  ])
})

const v2Call = (name: string, args: JsonObject) => ({ function_call: { name, arguments: args } })
const v2Result = (name: string, object: JsonObject) => ({ function_result: { name, result: object } })

const ownId = (callNumber: number) => writeToolCallId({ stateId: 'ts-1', name: undefined, callNumber, nonce: 'n' })

t.test('content 38: on v2 a call and its response have the state id of the call', async t => {
  const messagesFor = (id: string) =>
    onV2({
      contents: [user({ text: 'hi' }), model(call('f', { a: 1 }, { id })), user(result('f', { t: 4 }, { id }))]
    }).messages
  t.strictSame(messagesFor(ownId(0)), [
    ...v2Hi,
    { role: 'assistant', tools_state_id: 'ts-1', content: [v2Call('f', { a: 1 })] },
    { role: 'tool', tools_state_id: 'ts-1', content: [v2Result('f', { t: 4 })] }
  ])
  for (const id of ['ts-1', 'call_ts-1', 'of-the-client']) {
    t.strictSame(
      messagesFor(id),
      [
        ...v2Hi,
        { role: 'assistant', content: [v2Call('f', { a: 1 })] },
        { role: 'tool', content: [v2Result('f', { t: 4 })] }
      ],
      'a foreign id is an id without state (decisions.md 85)'
    )
  }
})

t.test('content 39: a call without an id has the state id of its thought signature (C3)', async t => {
  const callId = writeToolCallId({ stateId: 'ts-9', name: 'f', callNumber: 0, nonce: 'n' })
  const thoughtSignature = writeThoughtSignature({ callId }) ?? ''
  for (const id of [undefined, 'of-the-client']) {
    const identity: JsonObject = id === undefined ? {} : { id }
    const contents = [
      user({ text: 'hi' }),
      model({ ...call('f', {}, identity), thoughtSignature }),
      user(result('f', {}, identity))
    ]
    t.strictSame(onV2({ contents }).messages, [
      ...v2Hi,
      { role: 'assistant', tools_state_id: 'ts-9', content: [v2Call('f', {})] },
      { role: 'tool', tools_state_id: 'ts-9', content: [v2Result('f', {})] }
    ])
  }
})

t.test('content 40: no state id is invented for a call without ids', async t => {
  const contents = [user({ text: 'hi' }), model(call('f', {})), user(result('f', {}))]
  t.strictSame(onV2({ contents }).messages, [
    ...v2Hi,
    { role: 'assistant', content: [v2Call('f', {})] },
    { role: 'tool', content: [v2Result('f', {})] }
  ])
})

t.test('content 41, 42: two calls and two responses are all sent on v2, and are pairs on v1', async t => {
  const contents = [
    user({ text: 'hi' }),
    model({ text: 'look' }, call('f', { a: 1 }, { id: ownId(0) }), call('g', { b: 2 }, { id: ownId(1) })),
    // In reverse order, matched by name and by order.
    user(result('g', { g: 1 }), result('other', { f: 1 }))
  ]
  t.strictSame(onV2({ contents }).messages, [
    ...v2Hi,
    {
      role: 'assistant',
      tools_state_id: 'ts-1',
      content: [{ text: 'look' }, v2Call('f', { a: 1 }), v2Call('g', { b: 2 })]
    },
    { role: 'tool', tools_state_id: 'ts-1', content: [v2Result('other', { f: 1 })] },
    { role: 'tool', tools_state_id: 'ts-1', content: [v2Result('g', { g: 1 })] }
  ])
  t.strictSame(onV1({ contents }).messages, [
    ...v1Hi,
    { role: 'assistant', content: 'look', function_call: { name: 'f', arguments: { a: 1 } } },
    { role: 'function', name: 'other', content: '{"f":1}' },
    { role: 'assistant', content: '', function_call: { name: 'g', arguments: { b: 2 } } },
    { role: 'function', name: 'g', content: '{"g":1}' }
  ])
})

t.test('content 43: a call without a response in a conversation that continues is not sent (B8)', async t => {
  const contents = [user({ text: 'hi' }), model(call('f', {})), user({ text: 'never mind' })]
  t.strictSame(onV1({ contents }).messages, [{ role: 'user', content: 'hi\nnever mind' }])
})

t.test('content 44: the largest v2 model may make several calls when it can choose between functions', async t => {
  const parallel = (body: JsonObject, upstreamModel = largestModel) => writeV2(body, upstreamModel)
  const written = parallel(declare(A, B))
  t.equal(written.body.parallel_tool_calls, true)
  t.equal(written.reading.buffersToolCalls, true)
  t.equal(parallel(choose({ mode: 'ANY' })).body.parallel_tool_calls, true)
  for (const { body } of [
    parallel(declare(A)),
    parallel(choose({ mode: 'AUTO', allowedFunctionNames: ['A'] })),
    parallel(choose({ mode: 'ANY', allowedFunctionNames: ['A'] })),
    parallel(choose({ mode: 'NONE' })),
    parallel(declare(A, B), 'GigaChat-2')
  ]) {
    t.notOk('parallel_tool_calls' in body)
  }
})

t.test('inline data is uploaded and sent with its message', async t => {
  for (const mimeType of ['image/png', 'application/pdf']) {
    const contents = [user({ text: 'what' }, { inlineData: { mimeType, data: 'AAEC' } }, { text: 'is this' })]
    const v1 = writeV1({ contents })
    const [attachment] = v1.attachments
    t.strictSame(attachment?.source, { kind: 'bytes', mediaType: mimeType, base64: 'AAEC' })
    t.strictSame(v1.body.messages, [{ role: 'user', content: 'what\nis this', attachments: [attachment?.placeholder] }])
    const v2 = writeV2({ contents })
    t.strictSame(v2.body.messages, [
      { role: 'user', content: [{ text: 'what\nis this' }, { files: [{ id: v2.attachments[0]?.placeholder }] }] }
    ])
  }
})

t.test('a media type that the upstream does not accept is an invalid argument', async t => {
  const contents = [user({ inlineData: { mimeType: 'image/webp', data: 'AAEC' } })]
  const param = 'contents[0].parts[0].inlineData'
  const error = catchError(() => writeV1({ contents }))
  t.match(error, { code: 'unsupported_media_type', param })
  t.ok(GatewayError.is(error))
  if (!GatewayError.is(error)) return
  t.match(writeContentError(error, { requestId: 'r' }), {
    status: 400,
    body: { error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ fieldViolations: [{ field: param }] }] } }
  })
})

t.test('a file at a URL is downloaded, an uploaded file is sent by its id', async t => {
  const contents = [
    user(
      { fileData: { fileUri: 'https://a.test/a.pdf', mimeType: 'application/pdf' } },
      { fileData: { fileUri: 'files/f-1' } }
    )
  ]
  const { body, attachments } = writeV1({ contents })
  t.strictSame(
    attachments.map(({ source, path }) => ({ source, path })),
    [
      {
        source: { kind: 'url', url: 'https://a.test/a.pdf', mediaType: 'application/pdf' },
        path: 'contents[0].parts[0].fileData'
      }
    ]
  )
  t.strictSame(body.messages, [{ role: 'user', content: '', attachments: [attachments[0]?.placeholder, 'f-1'] }])
})

t.test('media that a function returned are sent with the next user message', async t => {
  const parts = [{ inlineData: { mimeType: 'image/png', data: 'AAEC' } }]
  const contents = [
    user({ text: 'hi' }),
    model(call('f', {})),
    user(result('f', { ok: true }, { parts }), { text: 'and?' })
  ]
  const { body, attachments } = writeV1({ contents })
  t.strictSame((body.messages as JsonObject[]).slice(2), [
    { role: 'function', name: 'f', content: '{"ok":true}' },
    { role: 'user', content: 'and?', attachments: [attachments[0]?.placeholder] }
  ])
})

t.test('texts of one content are joined without a separator and without thoughts (C1)', async t => {
  const contents = [
    user({ text: 'a' }, { text: 'b' }),
    model({ text: 'secret', thought: true }, { text: 'c' }, { text: 'd' }),
    model({ text: 'all secret', thought: true }),
    user({ text: 'e' })
  ]
  t.strictSame(onV1({ contents }).messages, [
    { role: 'user', content: 'ab' },
    { role: 'assistant', content: 'cd' },
    { role: 'user', content: 'e' }
  ])
})

t.test('adjacent contents of one role are joined with line feeds', async t => {
  const contents = [
    user({ text: 'a' }),
    user({ text: 'b' }),
    model({ text: 'c' }),
    model({ text: 'd' }),
    user({ text: 'e' })
  ]
  t.strictSame(onV1({ contents }).messages, [
    { role: 'user', content: 'a\nb' },
    { role: 'assistant', content: 'c\nd' },
    { role: 'user', content: 'e' }
  ])
})

t.test('content 51: a response schema is the response format of v1, converted', async t => {
  const responseSchema = { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } }
  t.strictSame(onV1({ generationConfig: { responseMimeType: 'application/json', responseSchema } }), {
    messages: v1Hi,
    response_format: {
      type: 'json_schema',
      schema: { type: 'object', properties: { a: { type: ['string', 'null'] } } }
    }
  })
})

t.test('content 52: a JSON response schema is the response format of v2, unchanged', async t => {
  const schema = { $defs: { N: { type: 'string' } }, anyOf: [{ $ref: '#/$defs/N' }], nullable: true }
  t.strictSame(onV2({ generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } }), {
    messages: v2Hi,
    model_options: { response_format: { type: 'json_schema', schema } }
  })
})

t.test('content 55: an array schema is accepted, and a function beside it is not forced', async t => {
  const generationConfig = {
    responseMimeType: 'application/json',
    responseSchema: { type: 'ARRAY', items: { type: 'STRING' } }
  }
  t.strictSame(onV1({ generationConfig, ...declare(A) }), {
    messages: v1Hi,
    functions: [wireA],
    response_format: { type: 'json_schema', schema: { type: 'array', items: { type: 'string' } } }
  })
})

t.test('a streamed request is streamed by the upstream', async t => {
  const request = read({}, { model: 'm', isStream: true })
  for (const write of [nativeV1Face.writeChat, nativeV2Face.writeChat]) {
    t.equal(write(request, { upstreamModel: 'm' }, settings).body.stream, true)
  }
  t.notOk('stream' in onV1({}))
})

// The other direction: responses of the upstream in the content protocol's form.

const reading: NativeReading = {
  toolNames: new Map(),
  declaredNames: new Set(),
  buffersToolCalls: false,
  namesCallsInIds: false,
  expectsToolCall: false,
  isStructuredOutput: false,
  droppedAttachments: 0,
  droppedToolCalls: 0
}

function openReader(face: NativeFace): ResponseReader {
  return face.createReader(reading, { status: 200, headers: {} }, { createNonce: () => 'n' })
}

function writeFromV1(body: JsonObject, request: JsonObject = {}): ContentResponse {
  const events = openReader(nativeV1Face).readBody(Buffer.from(JSON.stringify(body)))
  return writeContentResponse(accumulateEvents(events), responseContext(request))
}

function writeFromV2(body: JsonObject, request: JsonObject = {}): ContentResponse {
  const events = openReader(nativeV2Face).readBody(Buffer.from(JSON.stringify(body)))
  return writeContentResponse(accumulateEvents(events), responseContext(request))
}

const withFinish = (word: string, content = 'Hi') =>
  writeFromV1({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: word }] })

t.test("content 64: the upstream's finish reasons become those of the protocol", async t => {
  const words: Array<[string, string]> = [
    ['stop', 'STOP'],
    ['length', 'MAX_TOKENS'],
    ['function_call', 'STOP'],
    ['content_filter', 'SAFETY'],
    ['blacklist', 'BLOCKLIST'],
    ['request_blacklist', 'BLOCKLIST'],
    ['response_blacklist', 'BLOCKLIST'],
    ['request_whitelist', 'BLOCKLIST'],
    ['request_filter', 'BLOCKLIST'],
    ['weird', 'OTHER'],
    ['CONTINUATION', 'OTHER']
  ]
  for (const [word, expected] of words) t.equal(withFinish(word).candidates[0].finishReason, expected, word)
  t.notOk('promptFeedback' in withFinish('blacklist'))
  t.strictSame(withFinish('blacklist', '').promptFeedback, { blockReason: 'BLOCKLIST' })
  for (const word of ['error', 'function_call_error']) {
    t.strictSame(
      failure(() => withFinish(word)),
      { code: 'upstream_generation_error', param: undefined, status: 500 }
    )
  }
})

t.test('content 65: cached tokens are counted, on both contracts (D3)', async t => {
  const v1 = writeFromV1({
    choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 19, completion_tokens: 8, total_tokens: 27, precached_prompt_tokens: 5 }
  })
  const v2 = writeFromV2({
    messages: [{ role: 'assistant', content: [{ text: 'Hi' }] }],
    finish_reason: 'stop',
    usage: { input_tokens: 19, input_tokens_details: { cached_tokens: 5 }, output_tokens: 8, total_tokens: 27 }
  })
  const expected = {
    promptTokenCount: 19,
    candidatesTokenCount: 8,
    totalTokenCount: 27,
    cachedContentTokenCount: 5
  }
  t.strictSame(v1.usageMetadata, expected)
  t.strictSame(v2.usageMetadata, expected)
})

t.test('content 23: reasoning of the upstream is a thought part before the text', async t => {
  const request = { generationConfig: { thinkingConfig: { includeThoughts: true } } }
  const body = {
    messages: [
      { role: 'reasoning', content: [{ text: 'Hm.' }] },
      { role: 'assistant', content: [{ text: 'Yes.' }] }
    ],
    finish_reason: 'stop'
  }
  t.strictSame(writeFromV2(body, request).candidates[0].content.parts, [
    { text: 'Hm.', thought: true },
    { text: 'Yes.' }
  ])
  t.strictSame(writeFromV2(body).candidates[0].content.parts, [{ text: 'Yes.' }])
})

t.test('content 24: reasoning in tags is removed when the client did not request it', async t => {
  const content = '<think>Hm.</think>Yes.'
  const response = writeFromV1({ choices: [{ message: { content }, finish_reason: 'stop' }] })
  t.strictSame(response.candidates[0].content.parts, [{ text: 'Yes.' }])
  const frames = ['<thi', 'nk>Hm.</th', 'ink>Yes.'].map(content => v1Frame({ content }))
  const chunks = streamOf(nativeV1Face, [...frames, v1Frame({ content: '' }, { finish_reason: 'stop' })])
  t.strictSame(
    chunks.flatMap(chunk => chunk.parts),
    [{ text: 'Yes.' }, { text: '' }]
  )
})

/** The client's stream for frames of the upstream. */
function streamOf(face: NativeFace, frames: readonly string[], request: JsonObject = {}) {
  const reader = openReader(face)
  const writer = createContentStreamWriter(responseContext(request))
  const written = frames.map(frame => writer.write(reader.push(Buffer.from(frame))))
  const { chunks, error } = readEventStream(written.join('') + writer.write(reader.end()))
  if (error !== undefined) throw new Error(error.message)
  return chunks.map(chunk => ({ parts: chunk.candidates[0].content.parts, reason: chunk.candidates[0].finishReason }))
}

const v1Frame = (delta: JsonObject, rest: JsonObject = {}) =>
  `data: ${JSON.stringify({ choices: [{ delta, index: 0, ...rest }] })}\n\n`
const v2Frame = (name: string, payload: JsonObject) => `event: ${name}\ndata: ${JSON.stringify(payload)}\n\n`

t.test('content 59: a call in a v1 stream is one chunk, followed by STOP', async t => {
  const delta = { content: '', function_call: { name: 'f', arguments: { a: 1 } }, functions_state_id: 'ts-1' }
  const chunks = streamOf(nativeV1Face, [
    v1Frame({ role: 'assistant', content: 'Look.' }),
    v1Frame(delta, { finish_reason: 'function_call' }),
    'data: [DONE]\n\n'
  ])
  t.match(chunks, [
    { parts: [{ text: 'Look.' }], reason: undefined },
    { parts: [{ functionCall: { name: 'f', args: { a: 1 } } }], reason: undefined },
    { parts: [{ text: '' }], reason: 'STOP' }
  ])
  t.equal(chunks.length, 3)
})

t.test('content 60: a call in a v2 stream is written before its finish reason comes', async t => {
  const chunks = streamOf(nativeV2Face, [
    v2Frame('response.message.delta', {
      messages: [{ role: 'assistant', tool_state_id: 'ts-1', content: [v2Call('f', { a: 1 })] }]
    }),
    v2Frame('response.message.done', { finish_reason: 'function_call' })
  ])
  t.match(chunks, [
    { parts: [{ functionCall: { name: 'f', args: { a: 1 } } }], reason: undefined },
    { parts: [{ text: '' }], reason: 'STOP' }
  ])
})

t.test('content 63: a structured stream contains only the JSON text', async t => {
  const request = {
    generationConfig: { responseMimeType: 'application/json', responseSchema: { type: 'OBJECT', properties: {} } }
  }
  const chunks = streamOf(
    nativeV1Face,
    [v1Frame({ content: '{"a"' }), v1Frame({ content: ': 1}' }), v1Frame({ content: '' }, { finish_reason: 'stop' })],
    request
  )
  t.strictSame(
    chunks.flatMap(chunk => chunk.parts),
    [{ text: '{"a"' }, { text: ': 1}' }, { text: '' }]
  )
})

t.test('the state id is kept through response, replay and next request (C3)', async t => {
  const response = writeFromV2({
    messages: [{ role: 'assistant', tool_state_id: 'ts-7', content: [v2Call('f', { a: 1 }), v2Call('f', { a: 2 })] }],
    finish_reason: 'function_call'
  })
  const [{ content }] = response.candidates
  const [first, second] = content.parts
  if (first === undefined || !('functionCall' in first) || second === undefined || !('functionCall' in second)) {
    throw new Error('Two calls were expected.')
  }
  t.not(first.functionCall.id, second.functionCall.id)
  const sent = onV2({
    contents: [
      user({ text: 'hi' }),
      content,
      user(result('f', { r: 2 }, { id: second.functionCall.id }), result('f', { r: 1 }, { id: first.functionCall.id }))
    ]
  })
  t.strictSame(sent.messages, [
    ...v2Hi,
    { role: 'assistant', tools_state_id: 'ts-7', content: [v2Call('f', { a: 1 }), v2Call('f', { a: 2 })] },
    { role: 'tool', tools_state_id: 'ts-7', content: [v2Result('f', { r: 1 })] },
    { role: 'tool', tools_state_id: 'ts-7', content: [v2Result('f', { r: 2 })] }
  ])
  const withoutIds = content.parts.map(part => {
    if (!('functionCall' in part)) return part
    const { id: _id, ...functionCall } = part.functionCall
    return { ...part, functionCall }
  })
  const again = onV2({
    contents: [user({ text: 'hi' }), model(...withoutIds), user(result('f', { r: 1 }), result('f', { r: 2 }))]
  })
  t.strictSame(again.messages, sent.messages)
})
