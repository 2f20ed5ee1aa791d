// The parameters of a request on both contracts: sampling, reasoning, formats, additional fields, defaults, storage.

import t, { type Test } from 'tap'
import type { JsonObject, NormalizedRequest } from '../../../../worker/normalized/index.ts'
import type { NativeOptions } from '../../../../worker/protocols/native/options.ts'
import { nativeV1Face } from '../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../worker/protocols/native/v2/face.ts'
import { makeRequest, plainOptions } from './support.ts'

interface Options {
  model?: string | null
  settings?: Partial<NativeOptions>
}

function write(contract: 'v1' | 'v2', members: Partial<NormalizedRequest>, options: Options = {}): JsonObject {
  const writeRequest = contract === 'v1' ? nativeV1Face.writeChat : nativeV2Face.writeChat
  const { model = 'GigaChat-2', settings } = options
  const target = { upstreamModel: model ?? undefined }
  return writeRequest(makeRequest(members), target, { ...plainOptions, ...settings }).body
}

const v1Hi = [{ role: 'user', content: 'hi' }]
const v2Hi = [{ role: 'user', content: [{ text: 'hi' }] }]
const fields = (members: JsonObject) => ({ additionalFields: members })

/** Compares both bodies without model and messages; `options` is the expected `model_options` of v2. */
function same(
  t: Test,
  members: Partial<NormalizedRequest>,
  expected: { v1: JsonObject; options?: JsonObject; v2?: JsonObject },
  options?: Options
): void {
  t.strictSame(write('v1', members, options), { model: 'GigaChat-2', messages: v1Hi, ...expected.v1 })
  const modelOptions = expected.options === undefined ? {} : { model_options: expected.options }
  t.strictSame(write('v2', members, options), { model: 'GigaChat-2', messages: v2Hi, ...modelOptions, ...expected.v2 })
}

t.test('a plain request has a model and messages, and nothing else', async t => {
  same(t, {}, { v1: {} })
})

t.test('only a streamed request has the member stream', async t => {
  same(t, { isStream: true }, { v1: { stream: true }, v2: { stream: true } })
  same(t, fields({ stream: true, extra_body: {}, additional_fields: {} }), { v1: {} })
})

t.test('temperature 0 becomes top_p 0, and a negative one is not sent', async t => {
  same(t, { sampling: { temperature: 0.3, topP: 0.9 } }, both({ temperature: 0.3, top_p: 0.9 }))
  same(t, { sampling: { temperature: 0, topP: 0.5 } }, both({ top_p: 0 }))
  same(t, { sampling: { temperature: -1 } }, { v1: {} })
  same(t, { sampling: { temperature: -1, topP: 0.5 } }, both({ top_p: 0.5 }))
  same(t, { sampling: { temperature: 0 }, ...fields({ temperature: 0.9 }) }, both({ top_p: 0 }))
})

t.test('the token limit of the request wins over an additional field, which wins over the default', async t => {
  const settings = { defaultMaxTokens: 100 }
  same(t, { sampling: { maxOutputTokens: 7 } }, both({ max_tokens: 7 }), { settings })
  same(t, { sampling: { maxOutputTokens: 7 }, ...fields({ max_tokens: 9 }) }, both({ max_tokens: 7 }))
  same(t, fields({ max_tokens: 9 }), both({ max_tokens: 9 }), { settings })
  same(t, {}, both({ max_tokens: 100 }), { settings })
})

t.test('sampling parameters that the upstream does not have are not sent', async t => {
  same(
    t,
    { sampling: { topK: 3, stop: ['END'], seed: 7, presencePenalty: 1, frequencyPenalty: 1 }, user: 'u', metadata: {} },
    { v1: {} }
  )
})

t.test('any effort except none is sent unchanged (C5)', async t => {
  for (const effort of ['low', 'xhigh', 'minimal']) {
    same(t, { reasoning: { effort } }, { v1: { reasoning_effort: effort }, options: { reasoning: { effort } } })
  }
  same(t, { reasoning: { summary: 'auto', mode: 'x' } }, { v1: {} })
})

t.test('the effort none removes reasoning fields at every depth (C5)', async t => {
  const given = {
    reasoning_effort: 'high',
    reasoning: {},
    model_options: { reasoning: { effort: 'low' }, preset: 'p' }
  }
  same(
    t,
    { reasoning: { effort: 'none' }, ...fields(given) },
    { v1: { model_options: { preset: 'p' } }, options: { preset: 'p' } }
  )
  same(t, { reasoning: { effort: 'none' }, ...fields({ model_options: { reasoning: {} } }) }, { v1: {} })
})

t.test('an effort among the additional fields is sent like any other field', async t => {
  same(t, fields({ reasoning_effort: 'high' }), { v1: { reasoning_effort: 'high' }, v2: { reasoning_effort: 'high' } })
  same(t, fields({ reasoning: { effort: 'high' } }), both({ reasoning: { effort: 'high' } }))
})

t.test('an output schema is sent unchanged, with strict only when the client gave it', async t => {
  const schema = {
    type: 'object',
    $defs: { A: { $ref: '#/$defs/A' } },
    properties: { b: true, c: { enum: [null, 1] } }
  }
  const format = { type: 'json_schema', schema }
  same(t, { output: { type: 'json-schema', schema, name: 'n', description: 'd' } }, both({ response_format: format }))
  for (const strict of [true, false]) {
    same(t, { output: { type: 'json-schema', schema, strict } }, both({ response_format: { ...format, strict } }))
  }
  same(t, { output: { type: 'text' } }, { v1: {} })
})

t.test('an additional field becomes a top-level member of both bodies', async t => {
  same(t, fields({ tenant_hint: 'a', zz: 2, list: [null] }), {
    v1: { tenant_hint: 'a', zz: 2, list: [null] },
    v2: { tenant_hint: 'a', zz: 2, list: [null] }
  })
})

t.test('an additional field never overrides a member of the request', async t => {
  const given = fields({ model: 'evil', messages: [], functions: [], tools: [], zz: 2 })
  const tools = [{ type: 'function' as const, name: 'f', parameters: {} }]
  const v1 = write('v1', { ...given, tools })
  t.strictSame([v1.model, v1.messages, v1.zz], ['GigaChat-2', v1Hi, 2])
  t.match(v1.functions, [{ name: 'f' }])
  const v2 = write('v2', { ...given, tools })
  t.strictSame([v2.model, v2.messages, v2.zz], ['GigaChat-2', v2Hi, 2])
  t.match(v2.tools, [{ functions: { specifications: [{ name: 'f' }] } }])
})

t.test('members with the value null are not sent', async t => {
  same(t, fields({ a: null, model_options: { preset: null }, storage: null }), {
    v1: { model_options: {} },
    options: {}
  })
  same(t, fields({ storage: { limit: null } }), { v1: { storage: { limit: null } }, v2: { storage: {} } })
})

t.test('model options move under model_options, where those of the request win, then those given there', async t => {
  const body = write('v2', {
    sampling: { maxOutputTokens: 5 },
    reasoning: { effort: 'low' },
    ...fields({
      repetition_penalty: 1.1,
      top_p: 0.1,
      max_tokens: 9,
      preset: 'loose',
      model_options: { preset: 'p', max_tokens: 8, reasoning: { effort: 'high', other: 1 } }
    })
  })
  t.strictSame(body.model_options, {
    max_tokens: 5,
    preset: 'p',
    reasoning: { effort: 'low', other: 1 },
    repetition_penalty: 1.1,
    top_p: 0.1
  })
  t.notOk('repetition_penalty' in body)
})

t.test('two formats are never mixed', async t => {
  const schema = { type: 'object' }
  const given = { model_options: { response_format: { type: 'regex', regex: 'a' } } }
  const body = write('v2', { output: { type: 'json-schema', schema }, ...fields(given) })
  t.strictSame(body.model_options, { response_format: { type: 'json_schema', schema } })
})

t.test('the example of the contract gives its body', async t => {
  const members = {
    sampling: { temperature: 0, topP: 0.5, maxOutputTokens: 5 },
    ...fields({ profanity_check: false, repetition_penalty: 1.1, tenant_hint: 'a', flags: ['x'], model: 'other' })
  }
  same(t, members, {
    v1: {
      profanity_check: false,
      repetition_penalty: 1.1,
      tenant_hint: 'a',
      flags: ['x'],
      top_p: 0,
      max_tokens: 5
    },
    options: { top_p: 0, max_tokens: 5, repetition_penalty: 1.1 },
    v2: { disable_filter: true, flags: ['x'], tenant_hint: 'a' }
  })
})

t.test('the filter member of v2 is the negated member of v1, and the setting is the default', async t => {
  same(t, fields({ profanity_check: true }), { v1: { profanity_check: true }, v2: { disable_filter: false } })
  same(t, fields({ profanity_check: 'x' }), { v1: { profanity_check: 'x' } })
  t.strictSame(write('v2', fields({ profanity_check: true, disable_filter: true })).disable_filter, true)
  const settings = { profanityCheck: false }
  same(t, {}, { v1: { profanity_check: false }, v2: { disable_filter: true } }, { settings })
  const given = fields({ profanity_check: true })
  same(t, given, { v1: { profanity_check: true }, v2: { disable_filter: false } }, { settings })
})

t.test('the flags of the settings are the default', async t => {
  const settings = { flags: ['a'] }
  same(t, {}, { v1: { flags: ['a'] }, v2: { flags: ['a'] } }, { settings })
  same(t, fields({ flags: [] }), { v1: { flags: [] }, v2: { flags: [] } }, { settings })
})

t.test('the ranker has another name on v2', async t => {
  const ranker = { enabled: true, top_n: 3 }
  same(t, fields({ function_ranker: ranker }), { v1: { function_ranker: ranker }, v2: { ranker_options: ranker } })
  t.strictSame(write('v2', fields({ function_ranker: ranker, ranker_options: {} })).ranker_options, {})
  t.notOk('function_ranker' in write('v2', fields({ function_ranker: 'x' })))
})

t.test('storage true is an empty object, and false is not sent', async t => {
  t.strictSame(write('v2', fields({ storage: true })).storage, {})
  t.notOk('storage' in write('v2', fields({ storage: false })))
  t.strictSame(write('v2', fields({ storage: { limit: 2 } })).storage, { limit: 2 })
  t.strictSame(write('v1', fields({ storage: true })).storage, true)
})

t.test('a request for a stored thread has no model', async t => {
  const body = write('v2', fields({ storage: { thread_id: 'T' }, model: 'x' }))
  t.notOk('model' in body)
  t.equal(write('v2', fields({ storage: { thread_id: '' } })).model, 'GigaChat-2')
  t.notOk('model' in write('v2', fields({ assistant_id: 'a' }), { model: null }))
})

t.test('names that would reach a prototype are refused', async t => {
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    const given = JSON.parse(`{"${name}":{"a":1}}`) as JsonObject
    for (const contract of ['v1', 'v2'] as const) {
      const refused = { code: 'unsupported_parameter', param: 'extra_body' }
      t.throws(() => write(contract, fields(given)), refused)
      t.throws(() => write(contract, fields({ model_options: given })), refused)
    }
  }
})

t.test('a stored conversation becomes the v2 storage member', async t => {
  const responses = (conversation: NonNullable<NormalizedRequest['conversation']>, given: JsonObject = {}) => ({
    conversation,
    ...fields(given)
  })
  t.strictSame(write('v2', responses({ store: true })).storage, {})
  t.strictSame(write('v2', responses({ store: true }, { storage: { limit: 3 } })).storage, { limit: 3 })
  t.notOk('storage' in write('v2', responses({ store: false })))
  const continued = write('v2', responses({ storedConversationId: 'T.1:2', store: true }))
  t.strictSame(continued.storage, { thread_id: 'T.1:2' })
  t.notOk('model' in continued)
  t.strictSame(
    write('v2', responses({ storedConversationId: 'T' }, { storage: { thread_id: 'E', limit: 1 } })).storage,
    {
      thread_id: 'E',
      limit: 1
    }
  )
  for (const storedConversationId of ['', 'a b', 'x'.repeat(257)]) {
    const refused = { code: 'invalid_request', param: 'previous_response_id' }
    t.throws(() => write('v2', responses({ storedConversationId })), refused)
  }
  t.ok(write('v1', responses({ store: false, conversationId: 'c', background: true })))
})

t.test('the data for the reader tell whether the output is structured', async t => {
  const isStructured = (members: Partial<NormalizedRequest>) =>
    [nativeV1Face.writeChat, nativeV2Face.writeChat].map(
      writeRequest =>
        writeRequest(makeRequest(members), { upstreamModel: 'm' }, plainOptions).reading.isStructuredOutput
    )
  t.strictSame(isStructured({}), [false, false])
  t.strictSame(isStructured({ output: { type: 'json-schema', schema: {} } }), [true, true])
  t.strictSame(isStructured(fields({ response_format: { type: 'text' } })), [false, false])
  t.strictSame(isStructured(fields({ response_format: { type: 'regex', regex: 'a' } })), [true, true])
})

function both(options: JsonObject): { v1: JsonObject; options: JsonObject } {
  return { v1: options, options }
}
