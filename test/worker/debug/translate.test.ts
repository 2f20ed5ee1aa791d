// Every pair of formats, and what the bodies of other formats look like.

import t from 'tap'
import { readRequestBases } from '../../../ops/fuzz/request-bases.ts'
import { readClientRequest, writeClientRequest } from '../../../worker/debug/formats.ts'
import { writeRequestDocument } from '../../../worker/debug/normalized/write-request.ts'
import { runDebugTask } from '../../../worker/debug/run-task.ts'
import { GatewayError, isJsonObject, type JsonObject } from '../../../worker/normalized/index.ts'
import { catchError } from '../../support/codec.ts'
import { wholeV1 } from '../../support/native-route.ts'
import { createContext, EDGE, environment, formats } from './support.ts'

const text = { type: 'text', text: 'hi' }
const payloads: Readonly<Record<string, JsonObject>> = {
  openai: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'm', input: 'hi' },
  anthropic: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] },
  gemini: { model: 'models/m', contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  normalized: { model: 'm', messages: [{ role: 'user', parts: [text] }] },
  upstream: wholeV1({ content: 'hi' })
}

interface Answer {
  payload: JsonObject
  intermediate?: JsonObject
  loss?: Array<{ path: string; effect: string }>
}

async function translate(from: string, to: string, members: JsonObject = {}): Promise<Answer> {
  const body = { from, to, payload: payloads[from] ?? {}, ...members }
  const context = createContext({ type: 'translate' })
  return (await runDebugTask({ body, bytes: 1 }, context, environment)) as unknown as Answer
}

const NONE: string[] = []
const FORM = ['normalized']
const BOTH = ['normalized', 'openai']

/** The members of `intermediate` by target, for every source (operations.md 10.1). */
const pairs: Readonly<Record<string, Readonly<Record<string, string[] | undefined>>>> = {
  openai: { openai: NONE, anthropic: FORM, normalized: NONE, upstream: BOTH, gemini: FORM, responses: FORM },
  anthropic: { openai: NONE, anthropic: NONE, normalized: NONE, upstream: BOTH, gemini: FORM, responses: FORM },
  normalized: { openai: FORM, anthropic: FORM, normalized: NONE, upstream: BOTH, gemini: FORM, responses: FORM },
  upstream: { openai: FORM, anthropic: undefined, normalized: NONE, upstream: NONE, gemini: FORM, responses: FORM },
  gemini: { openai: FORM, anthropic: FORM, normalized: NONE, upstream: BOTH, gemini: NONE, responses: FORM },
  responses: { openai: FORM, anthropic: FORM, normalized: NONE, upstream: BOTH, gemini: FORM, responses: NONE }
}

t.test('every pair of formats has its forms in between', async t => {
  for (const [from, targets] of Object.entries(pairs)) {
    for (const [to, expected] of Object.entries(targets)) {
      const name = `${from} to ${to}`
      if (expected === undefined) {
        await t.rejects(translate(from, to), { message: `Unsupported translation pair: ${from} -> ${to}` }, name)
        continue
      }
      const { payload, intermediate = {} } = await translate(from, to)
      t.strictSame(Object.keys(intermediate), expected, name)
      t.ok(isJsonObject(payload), name)
      if (from !== 'upstream' && to !== 'normalized') t.match(JSON.stringify(payload), '"hi"', name)
      if (to === 'upstream' && from !== 'upstream') {
        t.strictSame({ ...payload, max_tokens: 0 }, { ...payloads.openai, max_tokens: 0 }, name)
      }
    }
  }
})

t.test('a messages body is written by the rules of the contract', async t => {
  const messages = [
    { role: 'system', content: 'one' },
    { role: 'developer', content: 'two' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
        { type: 'image_url', image_url: { url: 'https://pictures.test/a.png' } },
        { type: 'input_audio', input_audio: { data: 'QUJD', format: 'wav' } }
      ]
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }]
    },
    { role: 'tool', tool_call_id: 'c1', content: 'done' }
  ]
  const tools = [
    { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } },
    { type: 'function', function: { name: 'g' } }
  ]
  const body = { model: 'm', messages, tools, temperature: 0.5, top_p: 0.9, max_tokens: 7, stop: ['x'] }
  const { payload } = await translate('openai', 'anthropic', {
    payload: { ...body, tool_choice: { type: 'function', function: { name: 'f' } } }
  })
  t.strictSame(payload, {
    model: 'm',
    max_tokens: 7,
    system: 'one\ntwo',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
          { type: 'image', source: { type: 'url', url: 'https://pictures.test/a.png' } }
        ]
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'done' }] }
    ],
    temperature: 0.5,
    top_p: 0.9,
    stop_sequences: ['x'],
    tools: [
      { name: 'f', description: 'd', input_schema: { type: 'object' } },
      { name: 'g', input_schema: { type: 'object', properties: {} } }
    ],
    tool_choice: { type: 'tool', name: 'f' }
  })
  for (const [sent, written] of [
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }]
  ] as const) {
    const chosen = await translate('openai', 'anthropic', { payload: { ...body, tool_choice: sent } })
    t.strictSame(chosen.payload.tool_choice, written)
  }
})

t.test('a normalized request has the form that the contract shows', async t => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], max_tokens: 7, foo: 1 }
  const answer = await runDebugTask({ body, bytes: 1 }, createContext({ type: 'openai-to-normalized' }), environment)
  t.strictSame(answer, {
    source: 'openai',
    target: 'normalized',
    normalized: {
      schema_version: 'gateway.normalized.v1',
      request_id: createContext({ type: 'translate' }).requestId,
      protocol: 'openai',
      operation: 'chat',
      model: 'm',
      stream: false,
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }], form: 'text' }],
      tools: [],
      limits: { max_output_tokens: 7 },
      provider_state: { native: { additional_fields: { foo: 1 } } }
    }
  })
})

t.test(
  'every whole and recorded body can be translated into every format, and most of it can be read again',
  async t => {
    const { bases } = readRequestBases()
    const context = createContext({ type: 'translate' })
    let read = 0
    let written = 0
    for (const { name, family, path, body } of bases) {
      if (!/(?:chat\/completions|responses|messages|enerateContent)$/.test(path) || !isJsonObject(body)) continue
      const format = formats[family as keyof typeof formats]
      const request = readClientRequest(format, body, context, { model: 'm' })
      for (const target of Object.values(formats)) {
        const payload = JSON.parse(JSON.stringify(writeClientRequest(target, request)))
        written++
        try {
          const again = readClientRequest(target, payload, context, { model: 'm' })
          t.equal(again.messages.length > 0, true, `${name} in ${target}`)
          read++
        } catch (thrown) {
          if (!GatewayError.is(thrown) || thrown.code === 'internal_error') throw thrown
        }
      }
    }
    t.ok(read > written * 0.9, `${read} of ${written}`)
  }
)

t.test('a loss report names what is ignored, dropped and changed', async t => {
  const payload = {
    model: 'm',
    messages: [{ role: 'user', content: [text, { type: 'file', file: { file_id: 'f1' } }] }],
    seed: 7,
    n: 2,
    top_p: 0.5
  }
  const upstream = await translate('openai', 'upstream', { payload, loss: true })
  t.strictSame(upstream.loss, [
    { path: 'n', effect: 'ignored' },
    { path: 'seed', effect: 'ignored' }
  ])
  const anthropic = await translate('openai', 'anthropic', { payload, loss: true })
  t.ok(anthropic.loss?.some(({ path, effect }) => path === 'messages[0].parts[1]' && effect === 'dropped'))
  const losses = anthropic.loss?.map(({ path }) => path) ?? []
  t.ok(losses.includes('sampling.seed'))
  t.notOk(losses.includes('sampling.top_p'))
  t.notOk('loss' in (await translate('openai', 'anthropic', { payload })))
})

t.test('a route can be named: an alias, a profile, a contract', async t => {
  const edge = await translate('anthropic', 'upstream', { alias: EDGE })
  t.match(edge.payload, { model: 'edge-large', stream: false })
  const profile = await translate('openai', 'upstream', { profile: 'edge-chat' })
  t.equal(profile.payload.model, 'm')
  const v2 = await translate('gemini', 'upstream', { api_mode: 'v2', stream: true })
  t.match(v2.payload, { messages: [{ content: [{ text: 'hi' }] }], stream: true })
  const named = await translate('gemini', 'upstream', {
    requested_model: 'other',
    payload: { contents: [{ parts: [{ text: 'hi' }] }] }
  })
  t.equal(named.payload.model, 'other')
})

t.test('a response whose model has no route is read by every kind of provider that the gateway serves', async t => {
  const { routes, providerOptions } = environment.settings
  const alias = { upstreamModel: 'exact', slotKey: '' }
  const aliases = new Map([
    ...routes.aliases,
    ['messages', { ...alias, profileId: 'vendor-messages', providerKind: 'messages_compatible' }],
    ['content', { ...alias, profileId: 'vendor-content', providerKind: 'content_compatible' }]
  ])
  const options = {
    ...providerOptions,
    'vendor-messages': { messagesPath: '', countTokensPath: '', modelsPath: '' },
    'vendor-content': { modelsPath: '' }
  }
  const usage = { input_tokens: 1, output_tokens: 2 }
  const content = { role: 'model', parts: [{ text: 'hi' }] }
  const responses = [
    { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] },
    { id: 'msg_1', type: 'message', role: 'assistant', content: [text], stop_reason: 'end_turn', usage },
    { candidates: [{ index: 0, content, finishReason: 'STOP' }] }
  ]
  for (const table of [{ ...routes, aliases }, { aliases }]) {
    const served = { ...environment, settings: { routes: table, providerOptions: options } }
    for (const payload of responses) {
      const body = { from: 'upstream', to: 'openai', payload: { ...payload, model: 'other' } }
      const answer = await runDebugTask({ body, bytes: 1 }, createContext({ type: 'translate' }), served)
      t.match(answer.payload, { model: 'other', choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] })
    }
  }
})

t.test('an error of a provider in its response is told as such', async t => {
  const payload = { status: 429, message: 'Too many requests' }
  await t.rejects(translate('upstream', 'openai', { payload }), { code: 'invalid_request', status: 400 })
})

t.test('errors about a document name its own members, unless it comes from a client protocol', async t => {
  const request = readClientRequest(
    'openai',
    { model: EDGE, messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
    createContext({ type: 'translate' })
  )
  const document = writeRequestDocument(request, 'completions')
  const { protocol: _protocol, operation: _operation, ...foreign } = document
  const cases: Array<[JsonObject, string]> = [
    [document, 'messages[0].content[0]'],
    [
      {
        model: EDGE,
        messages: [{ role: 'user', parts: [{ type: 'file', source: { kind: 'file-id', file_id: 'f' } }] }]
      },
      'messages[0].parts[0]'
    ],
    // The limit is bounded instead of refused (decisions.md 73).
    [{ ...foreign, messages: [], limits: { max_output_tokens: 200_000 } }, 'messages']
  ]
  for (const [payload, path] of cases) {
    const error = await translate('normalized', 'upstream', { payload }).catch((thrown: unknown) => thrown)
    t.match(error, { code: 'invalid_request', errors: [{ path }] })
  }
  t.equal(catchError(() => readClientRequest('openai', {}, createContext({ type: 'translate' }))).param, 'messages')
})
