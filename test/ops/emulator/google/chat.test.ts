// The Google GenAI wire, through the official SDK where the SDK can send the request and shows the response.
import {
  ApiError,
  type Content,
  type FunctionCall,
  type FunctionResponse,
  type GenerateContentParameters,
  GoogleGenAI
} from '@google/genai'
import t, { type Test } from 'tap'
import { createEmulator, type EmulatorOptions } from '../../../../ops/emulator/server.ts'
import { clock, readPayloads, send, weather } from '../support.ts'

async function start(t: Test, options: EmulatorOptions = {}) {
  const emulator = await createEmulator(options)
  t.teardown(() => emulator.close())
  const ai = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: emulator.googleBaseUrl } })
  const post = (body: unknown, { model = 'm', method = 'generateContent', headers = {} } = {}) =>
    send(`${emulator.googleBaseUrl}/v1beta/models/${model}:${method}`, { body, headers })
  /** The message of the error with which the body is refused. */
  const refuse = async (body: unknown, target?: { model?: string; method?: string }) => {
    const { status, text } = await post(body, target)
    return status === 400 ? JSON.parse(text).error.message : `status ${status}`
  }
  return { emulator, ai, post, refuse }
}

/** A result of the call, with its id if it has one. */
function answer(call: FunctionCall | undefined): FunctionResponse {
  const { args: _args, ...named } = call ?? {}
  return { ...(named as FunctionResponse), response: { output: 'fine' } }
}

const user = (text: string): Content => ({ role: 'user', parts: [{ text }] })
const functionDeclarations = [weather, clock].map(({ parameters, ...declaration }) => ({
  ...declaration,
  parametersJsonSchema: parameters
}))
const tools = [{ functionDeclarations }]
const twoCalls = '[[tool:get_weather {"city":"Oslo"}]][[tool:get_time {}]]'

t.test('a plain response has the form that the SDK expects', async t => {
  const { ai, emulator } = await start(t)
  const response = await ai.models.generateContent({ model: 'any-model', contents: '[[text:Hello]][[usage:7,2,3]]' })
  t.equal(response.text, 'Hello')
  t.match(response, {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 2, totalTokenCount: 9, cachedContentTokenCount: 3 },
    modelVersion: 'any-model',
    responseId: /./
  })
  const [request] = emulator.requests
  t.match(request?.path, /^\/google\/v1(?:beta)?\/models\/any-model:generateContent$/)
  t.equal(emulator.stats.byRoute[`POST ${request?.path}`], 1)
  t.equal(emulator.stats.activeChatRequestsMax, 1)
})

t.test('the SDK reads a stream of frames without names; without alt=sse it is one array', async t => {
  const { ai, post } = await start(t)
  const texts: unknown[] = []
  let last: unknown
  const contents = '[[chunks:a|b|c]][[usage:3,2]]'
  for await (const chunk of await ai.models.generateContentStream({ model: 'm', contents })) {
    texts.push(chunk.text)
    last = chunk
  }
  t.same(texts, ['a', 'b', 'c', ''])
  t.match(last, { candidates: [{ finishReason: 'STOP' }], usageMetadata: { totalTokenCount: 5 } })
  const frames = await post({ contents: [user(contents)] }, { method: 'streamGenerateContent?alt=sse' })
  t.equal(frames.headers['content-type'], 'text/event-stream')
  t.match(frames.text, /^data: \{.*\}\n\ndata: /)
  t.notMatch(frames.text, /\r|event:|\[DONE\]/)
  const list = await post({ contents: [user(contents)] }, { method: 'streamGenerateContent' })
  t.match(list.headers['content-type'], /^application\/json/)
  t.match(JSON.parse(list.text), [{ candidates: [{ content: { parts: [{ text: 'a' }] } }] }, {}, {}, {}])
  t.equal(JSON.parse(list.text).length, 4)
  const failed = await post(
    { contents: [user('[[error:429 retry=7 message=Slow down]]')] },
    { method: 'streamGenerateContent' }
  )
  t.equal(failed.headers['retry-after'], '7')
  t.match(JSON.parse(failed.text), [
    {
      error: {
        code: 429,
        message: 'Slow down',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': /RetryInfo/, retryDelay: '7s' }]
      }
    }
  ])
})

t.test('a loop of the SDK with parallel calls, ids and signatures', async t => {
  for (const model of ['gemini-3-emulator', 'gemini-2.5-flash', 'other-model']) {
    const { ai } = await start(t)
    const first = await ai.models.generateContent({ model, contents: twoCalls, config: { tools } })
    const parts = first.candidates?.[0]?.content?.parts ?? []
    t.same(
      first.functionCalls?.map(call => [call.name, call.args]),
      [
        ['get_weather', { city: 'Oslo' }],
        ['get_time', {}]
      ]
    )
    const isSigned = model === 'gemini-3-emulator'
    t.equal(typeof parts[0]?.thoughtSignature, isSigned ? 'string' : 'undefined', model)
    t.equal(parts[1]?.thoughtSignature, undefined)
    t.equal(typeof first.functionCalls?.[0]?.id, isSigned ? 'string' : 'undefined')
    const results = parts.map(({ functionCall }) => ({
      functionResponse: answer(functionCall)
    }))
    const contents = [user(twoCalls), { role: 'model', parts }, { role: 'user', parts: results }]
    const second = await ai.models.generateContent({ model, contents, config: { tools } })
    t.match(second.text, /The function get_weather returned fine\. The function get_time returned fine\./)
  }
})

t.test('thoughts are shown when the request asks for them, and are counted in either case', async t => {
  const { ai } = await start(t)
  const ask = (thinkingConfig: object) =>
    ai.models.generateContent({
      model: 'm',
      contents: '[[text:Four]][[reason:Two and two]]',
      config: { thinkingConfig }
    })
  const shown = await ask({ includeThoughts: true })
  t.match(shown.candidates?.[0]?.content?.parts, [{ text: 'Two and two', thought: true }, { text: 'Four' }])
  t.match(shown.usageMetadata, { thoughtsTokenCount: 3, candidatesTokenCount: 1 })
  const hidden = await ask({ thinkingLevel: 'LOW' })
  t.match(hidden.candidates?.[0]?.content?.parts, [{ text: 'Four', thoughtSignature: /./ }])
  t.equal(hidden.usageMetadata?.thoughtsTokenCount, 3)
})

t.test('structured output, forced functions and the token limit', async t => {
  const { ai } = await start(t)
  const ask = async (config: GenerateContentParameters['config']) =>
    ai.models.generateContent({ model: 'm', contents: 'Hello', ...(config === undefined ? {} : { config }) })
  const schema = { type: 'object', properties: { city: { enum: ['Oslo'] } }, required: ['city'] }
  const answered = await ask({ responseMimeType: 'application/json', responseJsonSchema: schema })
  t.same(JSON.parse(answered.text ?? ''), { city: 'Oslo' })
  const forced = await ask({
    tools,
    toolConfig: { functionCallingConfig: { mode: 'ANY' as never, allowedFunctionNames: ['get_time'] } }
  })
  t.equal(forced.functionCalls?.[0]?.name, 'get_time')
  const short = await ask({ maxOutputTokens: 2 })
  t.equal(short.candidates?.[0]?.finishReason, 'MAX_TOKENS')
  const blocked = await ai.models.generateContent({ model: 'm', contents: '[[refusal:No]]' })
  t.match(blocked.promptFeedback, { blockReason: 'PROHIBITED_CONTENT', blockReasonMessage: 'No' })
  t.equal(blocked.candidates, undefined)
})

t.test('names that the wire does not have are refused with their place', async t => {
  const { refuse, post } = await start(t)
  const contents = [user('Hi')]
  t.equal(await refuse({ contents, foo: 1 }), 'Invalid JSON payload received. Unknown name "foo": Cannot find field.')
  t.match(
    await refuse({ contents: [{ role: 'user', parts: [{ text: 'Hi', cache: true }] }] }),
    /Unknown name "cache" at 'contents\[0\]\.parts\[0\]'/
  )
  t.match(
    await refuse({
      contents,
      tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT', additionalProperties: false } }] }]
    }),
    /Unknown name "additionalProperties" at 'tools\[0\]\.function_declarations\[0\]\.parameters'/
  )
  t.match(
    await refuse({ contents, generationConfig: { temperature: 'warm' } }),
    /generation_config\.temperature' \(TYPE_FLOAT\)/
  )
  const { text } = await post({ contents, generation_config: { foo: 1 } })
  t.match(JSON.parse(text).error, {
    code: 400,
    status: 'INVALID_ARGUMENT',
    details: [{ '@type': /BadRequest/, fieldViolations: [{ field: 'generation_config' }] }]
  })
  const snake = await post({
    contents,
    system_instruction: { parts: { text: 'Be brief.' } },
    generation_config: { top_p: '0.5' }
  })
  t.equal(snake.status, 200, 'names in snake case, one part in place of a list, numbers as text')
})

t.test('contents, parts and settings that the service refuses', async t => {
  const { refuse } = await start(t)
  const contents = [user('Hi')]
  const part = (one: unknown) => ({ contents: [{ role: 'user', parts: [one] }] })
  t.match(await refuse({}), /contents is not specified/)
  t.match(await refuse({ contents: [] }), /contents is not specified/)
  t.match(await refuse({ contents: [{ role: 'user', parts: [] }] }), /must not be empty/)
  t.match(await refuse({ contents: [{ role: 'assistant', parts: [{ text: 'Hi' }] }] }), /valid role: user, model/)
  t.match(await refuse(part({ thought: true })), /oneof field 'data'/)
  t.match(await refuse(part({ text: 'a', inlineData: { mimeType: 'image/png', data: 'AA==' } })), /already set/)
  t.match(await refuse(part({ inlineData: { mimeType: 'image/gif', data: 'AA==' } })), /Unsupported MIME type/)
  t.match(await refuse(part({ inlineData: { mimeType: 'image/png', data: '' } })), /must not be empty/)
  t.match(await refuse(part({ text: 'a', thoughtSignature: 'Zm9yZWlnbg==' })), /Thought signature is not valid/)
  t.match(
    await refuse({ contents, toolConfig: { functionCallingConfig: { mode: 'ANY' } } }),
    /without function_declarations/
  )
  t.match(await refuse({ contents, tools: [{ functionDeclarations: [{ name: 'a b' }] }] }), /Invalid function name/)
  t.match(await refuse({ contents, tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] }), /Duplicate/)
  const config = (generationConfig: unknown, model = 'm') => refuse({ contents, generationConfig }, { model })
  t.match(await config({ stopSequences: ['1', '2', '3', '4', '5', '6'] }), /at most 5 stop sequences/)
  t.match(await config({ temperature: 2.1 }), /out of range/)
  t.match(await config({ responseSchema: { type: 'STRING' } }), /response_mime_type/)
  t.match(await config({ thinkingConfig: { thinkingLevel: 'low', thinkingBudget: 5 } }), /only one of/)
  t.match(await config({ thinkingConfig: { thinkingLevel: 'low' } }, 'gemini-2.5-pro'), /not supported for this model/)
  t.match(await config({ thinkingConfig: { includeThoughts: true, thinkingBudget: 0 } }), /only enabled when thinking/)
})

t.test('calls and results have to follow each other, in equal numbers', async t => {
  const { refuse, post } = await start(t)
  const call = (name: string, more = {}) => ({ functionCall: { name, args: {} }, ...more })
  const result = (name: string, more = {}) => ({ functionResponse: { name, response: { result: 1 }, ...more } })
  const turns = (...list: Array<[string, unknown[]]>) => ({ contents: list.map(([role, parts]) => ({ role, parts })) })
  const hi: [string, unknown[]] = ['user', [{ text: 'Hi' }]]
  t.match(await refuse(turns(['user', [result('f')]])), /comes immediately after a function call turn/)
  t.match(await refuse(turns(hi, ['model', [call('f')]], hi)), /equal to the number of function call parts/)
  t.match(await refuse(turns(hi, ['model', [call('f')]])), /equal to the number/)
  t.match(await refuse(turns(hi, ['model', [call('f'), call('g')]], ['user', [result('f')]])), /equal to the number/)
  t.match(await refuse(turns(hi, ['model', [call('f')]], ['user', [result('g')]])), /belongs to no function call/)
  t.match(
    await refuse(turns(hi, ['model', [{ text: 'a' }]], ['model', [call('f')]], ['user', [result('f')]])),
    /comes immediately after a user turn/
  )
  t.equal((await post(turns(hi, ['model', [call('f')]], ['user', [result('f'), { text: 'Go on' }]]))).status, 200)
  const signed = { model: 'gemini-3-pro' }
  const loop = (more = {}) => turns(hi, ['model', [call('f', more)]], ['user', [result('f')]])
  t.match(await refuse(loop(), signed), /missing a thought_signature/)
  t.equal((await post(loop({ thoughtSignature: 'skip_thought_signature_validator' }), signed)).status, 200)
  const past = turns(hi, ['model', [call('f')]], ['user', [result('f')]], ['model', [{ text: 'Done' }]], hi)
  t.equal((await post(past, signed)).status, 200, 'the calls of an earlier turn need none')
})

t.test('the signature of one call is not that of another', async t => {
  const { ai, refuse } = await start(t)
  const model = 'gemini-3-pro'
  const { candidates } = await ai.models.generateContent({ model, contents: twoCalls, config: { tools } })
  const [first, second] = candidates?.[0]?.content?.parts ?? []
  const moved = [{ functionCall: first?.functionCall }, { ...second, thoughtSignature: first?.thoughtSignature }]
  const results = [first, second].map(part => ({
    functionResponse: { id: part?.functionCall?.id, name: part?.functionCall?.name, response: {} }
  }))
  const contents = [user('Hi'), { role: 'model', parts: moved }, { role: 'user', parts: results }]
  t.match(await refuse({ contents }, { model }), /Thought signature is not valid/)
})

t.test('keys: none, a wrong one, one in the query, and those of named providers', async t => {
  const { emulator } = await start(t, { chatApiKey: 'right', chatApiKeys: { keyless: null, named: 'other' } })
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const { status, text } = await send(`${emulator.googleBaseUrl}${path}`, {
      body: { contents: [user('Hi')] },
      headers
    })
    return { status, reason: JSON.parse(text).error?.details?.[0]?.reason ?? JSON.parse(text).error?.status }
  }
  const path = '/v1beta/models/m:generateContent'
  t.same(await ask(path), { status: 403, reason: 'PERMISSION_DENIED' })
  t.same(await ask(path, { 'x-goog-api-key': 'wrong' }), { status: 400, reason: 'API_KEY_INVALID' })
  t.equal((await ask(path, { 'x-goog-api-key': 'right' })).status, 200)
  t.equal((await ask(`${path}?key=right`)).status, 200)
  t.equal((await ask(`/named${path}`, { 'x-goog-api-key': 'other' })).status, 200)
  t.equal((await ask(`/keyless${path}`)).status, 200)
  t.equal((await ask(`/keyless${path}`, { 'x-goog-api-key': 'any' })).status, 400)
  t.equal((await ask(`/free${path}`)).status, 200)
  t.equal(emulator.stats.unauthorized, 3)
})

t.test('models, token counts and embeddings through the SDK', async t => {
  const { ai, post, refuse } = await start(t)
  const names: unknown[] = []
  for await (const model of await ai.models.list({ config: { pageSize: 2 } })) names.push(model.name)
  t.ok(names.includes('models/emulator-large') && names.length > 2)
  t.equal((await ai.models.get({ model: 'emulator-small' })).displayName, 'emulator-small')
  t.match(await ai.models.get({ model: 'nope' }).catch((cause: unknown) => cause), { status: 404 })
  t.equal((await ai.models.countTokens({ model: 'm', contents: 'one two three' })).totalTokens, 3)
  const inner = { model: 'models/m', contents: [user('one two')], systemInstruction: { parts: [{ text: 'three' }] } }
  t.match(JSON.parse((await post({ generateContentRequest: inner }, { method: 'countTokens' })).text), {
    totalTokens: 3
  })
  t.match(
    await refuse({ generateContentRequest: { ...inner, model: 'models/x' } }, { method: 'countTokens' }),
    /not the model/
  )
  t.match(await refuse({ contents: [user('a')], tools: [] }, { method: 'countTokens' }), /Unknown name "tools"/)
  const { embeddings } = await ai.models.embedContent({
    model: 'e',
    contents: ['a', 'b'],
    config: { outputDimensionality: 4 }
  })
  t.same(
    embeddings?.map(one => one.values?.length),
    [4, 4]
  )
  t.notSame(embeddings?.[0]?.values, embeddings?.[1]?.values)
  const one = JSON.parse((await post({ content: user('a') }, { model: 'e', method: 'embedContent' })).text)
  t.equal(one.embedding.values.length, 3072)
  const request = { model: 'models/e', content: user('a') }
  const many = { requests: Array.from({ length: 101 }, () => request) }
  t.match(await refuse(many, { model: 'e', method: 'batchEmbedContents' }), /at most 100/)
  t.match(
    await refuse({ requests: [{ ...request, model: 'models/x' }] }, { model: 'e', method: 'batchEmbedContents' }),
    /not the model/
  )
  t.equal((await post({}, { method: 'predict' })).status, 404)
  t.equal((await post({ contents: [user('a')] }, { model: 'missing-model' })).status, 404)
})

t.test('faults: errors, frames of errors, broken streams, scripted responses', async t => {
  const { ai, emulator, post } = await start(t)
  const error: unknown = await ai.models
    .generateContent({ model: 'm', contents: '[[error:503]]' })
    .catch(cause => cause)
  t.ok(error instanceof ApiError && error.status === 503)
  const stream = async (text: string) =>
    (await post({ contents: [user(text)] }, { method: 'streamGenerateContent?alt=sse' })).text
  t.match(readPayloads(await stream('[[chunks:a|b]][[errframe:500 message=Late]]')).at(-1), {
    error: { code: 500, message: 'Late', status: 'INTERNAL' }
  })
  t.match(readPayloads(await stream('[[okerror:429]]')), [{ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }])
  t.notMatch(await stream('[[text:a]][[noeof]]'), 'finishReason')
  t.match(await stream('[[text:a]][[badframe]]'), /cut of/)
  const invalid = await post({ contents: [user('[[malformed:invalid_choices]]')] })
  t.match(JSON.parse(invalid.text), { candidates: { index: 0 } })
  emulator.respondNext({ body: { candidates: [] } })
  t.same(JSON.parse((await post({ contents: [user('Hi')] })).text), { candidates: [] })
  emulator.failNext({ path: ':generateContent', status: 500 })
  t.match(JSON.parse((await post({ contents: [user('Hi')] })).text), { error: { code: 500, status: 'INTERNAL' } })
  t.equal((await post('{"contents":')).status, 400)
})

t.test('current models want results by themselves, and read $ref in them as a file', async t => {
  const { post, refuse } = await start(t)
  const skip = 'skip_thought_signature_validator'
  const history = (response: object, more: object[] = []) => ({
    contents: [
      user('hi'),
      { role: 'model', parts: [{ functionCall: { name: 'get_time', args: {} }, thoughtSignature: skip }] },
      { role: 'user', parts: [{ functionResponse: { name: 'get_time', response } }, ...more] }
    ],
    tools
  })
  for (const model of ['gemini-3-pro', 'gemini-flash-latest']) {
    t.equal((await post(history({ result: 1 }), { model })).status, 200)
    t.match(await refuse(history({ result: 1 }, [{ text: 'and' }]), { model }), 'cannot be mixed')
    t.match(await refuse(history({ a: [{ $ref: 'x' }] }), { model }), '$ref')
  }
  t.equal((await post(history({ $ref: 'x' }, [{ text: 'and' }]), { model: 'gemini-2.5-flash' })).status, 200)
})
