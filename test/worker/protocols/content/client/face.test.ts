import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { read, refusedAt, requestId } from './support.ts'

const generation = (generationConfig: JsonObject) => read({ generationConfig })
const refused = (generationConfig: JsonObject) => refusedAt({ generationConfig })

t.test('the smallest request has only the members that the client sent', async t => {
  const { fieldPaths, ...request } = read({})
  t.match(fieldPaths, { model: 'model', toolChoice: 'toolConfig.functionCallingConfig' })
  t.ok(Object.isFrozen(fieldPaths), 'one constant for all requests')
  t.strictSame(request, {
    version: 'gateway.normalized.v1',
    requestId,
    isStream: false,
    wantsStreamUsage: false,
    carriesFileBytes: true,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    tools: [],
    usesLegacyFunctions: false,
    sampling: {},
    ignored: {},
    model: 'gemini-2.5-pro'
  })
})

t.test('model and streaming come from the path alone', async t => {
  const request = read({ model: 'models/other', stream: false }, { model: 'a/b', isStream: true })
  t.equal(request.model, 'a/b')
  t.equal(request.isStream, true)
  t.strictSame(request.ignored, { model: 'models/other', stream: false })
})

t.test('sampling is read, also from numbers sent as text', async t => {
  const sampling = {
    temperature: 0.2,
    topP: 0.5,
    topK: 4,
    maxOutputTokens: 33,
    seed: 7,
    presencePenalty: 0.1,
    frequencyPenalty: -0.1
  }
  const { stop, ...rest } = generation({ ...sampling, stopSequences: ['lo', ''] }).sampling
  t.strictSame(rest, sampling)
  t.strictSame(stop, ['lo'])
  t.strictSame(generation({ maxOutputTokens: '33', topP: ' 0.5 ' }).sampling, { maxOutputTokens: 33, topP: 0.5 })
  t.strictSame(generation({ stopSequences: [''], temperature: null }).sampling, {})
})

t.test('sampling of a wrong type is refused with its path', async t => {
  t.equal(refusedAt({ generationConfig: 'x' }), 'generationConfig')
  t.equal(refusedAt({ generation_config: [] }), 'generation_config')
  t.equal(refused({ temperature: 'warm' }), 'generationConfig.temperature')
  t.equal(refused({ topP: '' }), 'generationConfig.topP')
  t.equal(refused({ max_output_tokens: 1.5 }), 'generationConfig.max_output_tokens')
  t.equal(refused({ maxOutputTokens: 0 }), 'generationConfig.maxOutputTokens')
  t.equal(refused({ stopSequences: 'lo' }), 'generationConfig.stopSequences')
  t.equal(refused({ stopSequences: ['a', 3] }), 'generationConfig.stopSequences[1]')
  t.equal(refused({ stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] }), 'generationConfig.stopSequences')
})

t.test('members without effect are accepted and listed as ignored (E1)', async t => {
  const body = {
    safetySettings: [{ category: 'C' }],
    cachedContent: 'c',
    serviceTier: 'flex',
    store: true,
    continuationToken: 't',
    metadata: {},
    extra_query: { a: 1 },
    extra_body: { profanity_check: false },
    somethingNew: 1
  }
  const config = { candidateCount: 2, responseModalities: ['TEXT'], speechConfig: {}, someNewOption: 1 }
  const { ignored, additionalFields, metadata } = read({ ...body, labels: { a: 'b' }, generationConfig: config })
  t.strictSame(metadata, { a: 'b' })
  const noted = Object.fromEntries(Object.entries(config).map(([name, value]) => [`generationConfig.${name}`, value]))
  t.strictSame(ignored, { ...body, ...noted })
  t.equal(additionalFields, undefined, 'no member of a body goes upstream under its own name')
})

t.test('extra_body and extra_headers must be objects', async t => {
  t.equal(refusedAt({ extra_body: 'x' }), 'extra_body')
  t.equal(refusedAt({ extra_headers: 'x' }), 'extra_headers')
  t.strictSame(read({ extra_headers: { 'x-a': 'b' } }).extraHeaders, { 'x-a': 'b' })
})

t.test('a name that would reach a prototype is refused', async t => {
  t.equal(refusedAt(JSON.parse('{"__proto__":{"a":1}}')), '__proto__')
  t.equal(refusedAt({ constructor: {} }), 'constructor')
  t.equal(({} as JsonObject).a, undefined)
})

t.test('a thinking level is the effort, and a budget is mapped to one (C5)', async t => {
  const reasoning = (thinkingConfig: JsonObject) => generation({ thinkingConfig }).reasoning
  const cases: Array<[JsonObject, string | undefined]> = [
    [{ thinkingLevel: 'HIGH' }, 'high'],
    [{ thinkingLevel: 'MINIMAL', thinkingBudget: 9000 }, 'minimal'],
    [{ thinkingLevel: 'THINKING_LEVEL_UNSPECIFIED' }, undefined],
    [{ thinkingBudget: 0 }, 'none'],
    [{ thinkingBudget: -1 }, undefined],
    [{ thinkingBudget: 1 }, 'low'],
    [{ thinkingBudget: 2999 }, 'low'],
    [{ thinkingBudget: 3000 }, 'medium'],
    [{ thinkingBudget: 7999 }, 'medium'],
    [{ thinkingBudget: '8000' }, 'high'],
    [{}, undefined]
  ]
  for (const [config, effort] of cases) t.equal(reasoning(config)?.effort, effort, JSON.stringify(config))
  t.equal(generation({}).reasoning, undefined)
  t.strictSame(reasoning({ includeThoughts: true }), { isVisible: true })
  t.strictSame(reasoning({ includeThoughts: false, thinkingBudget: 5 }), {
    isVisible: false,
    budgetTokens: 5,
    effort: 'low'
  })
})

t.test('a thinking configuration of a wrong type is refused with its path', async t => {
  const path = 'generationConfig.thinkingConfig'
  t.equal(refused({ thinkingConfig: 3 }), path)
  t.equal(refused({ thinkingConfig: { thinkingBudget: -2 } }), `${path}.thinkingBudget`)
  t.equal(refused({ thinkingConfig: { thinkingBudget: 'many' } }), `${path}.thinkingBudget`)
  t.equal(refused({ thinkingConfig: { thinkingLevel: 3 } }), `${path}.thinkingLevel`)
  t.equal(refused({ thinkingConfig: { includeThoughts: 'yes' } }), `${path}.includeThoughts`)
})

t.test('a schema with the JSON media type is the output format', async t => {
  const responseMimeType = 'application/json'
  t.strictSame(generation({ responseMimeType, responseSchema: { type: 'ARRAY', items: { type: 'STRING' } } }).output, {
    type: 'json-schema',
    schema: { type: 'array', items: { type: 'string' } }
  })
  const schema = { $defs: { a: {} }, anyOf: [{ $ref: '#/$defs/a' }], nullable: true }
  t.strictSame(generation({ responseMimeType, responseJsonSchema: schema }).output, { type: 'json-schema', schema })
})

t.test('an enum is requested as a bare string', async t => {
  const responseMimeType = 'text/x.enum'
  t.strictSame(generation({ responseMimeType, responseSchema: { type: 'STRING', enum: ['a'] } }).output, {
    type: 'json-schema',
    schema: { type: 'string', enum: ['a'] },
    wantsBareString: true
  })
  t.equal(refused({ responseMimeType, responseSchema: { type: 'STRING' } }), 'generationConfig.responseSchema')
  t.equal(refused({ responseMimeType }), 'generationConfig.responseMimeType')
})

t.test('plain text needs no schema', async t => {
  t.strictSame(generation({ responseMimeType: 'text/plain' }).output, { type: 'text' })
  t.equal(generation({}).output, undefined)
})

t.test('JSON output without a schema has the path that a provider without that mode refuses', async t => {
  const path = 'generationConfig.responseMimeType'
  t.strictSame(generation({ responseMimeType: 'application/json' }).output, { type: 'json-object', path })
})

t.test('content 54: a schema without the media type is refused', async t => {
  t.equal(refused({ responseSchema: {} }), 'generationConfig.responseSchema')
  t.equal(refused({ response_json_schema: {} }), 'generationConfig.response_json_schema')
  t.equal(refused({ responseMimeType: 'text/plain', responseSchema: {} }), 'generationConfig.responseSchema')
})

t.test('two schemas, an invalid schema and other media types are refused', async t => {
  const responseMimeType = 'application/json'
  t.equal(
    refused({ responseMimeType, responseSchema: {}, responseJsonSchema: {} }),
    'generationConfig.responseJsonSchema'
  )
  t.equal(refused({ responseMimeType, responseSchema: 'x' }), 'generationConfig.responseSchema')
  t.equal(refused({ responseMimeType, responseJsonSchema: true }), 'generationConfig.responseJsonSchema')
  t.equal(refused({ responseMimeType: 'application/xml' }), 'generationConfig.responseMimeType')
  t.equal(refused({ responseMimeType: 3 }), 'generationConfig.responseMimeType')
})
