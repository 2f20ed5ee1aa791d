// Explanations of the recorded requests of real agents and of bodies with nearly every member, on three routes.

import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { readRequestBases } from '../../../ops/fuzz/request-bases.ts'
import { planChat } from '../../../worker/bridge/plan-chat.ts'
import { explainBody } from '../../../worker/debug/explain/explain.ts'
import { Edits, findAt, listInner, type Place, readPlace, writePlace } from '../../../worker/debug/explain/paths.ts'
import { createChatProbe, type Probe } from '../../../worker/debug/explain/probe.ts'
import { readClientRequest } from '../../../worker/debug/formats.ts'
import type { ExplainedFamily } from '../../../worker/debug/job.ts'
import { runDebugTask } from '../../../worker/debug/run-task.ts'
import { showUpstreamBody } from '../../../worker/debug/selected-route.ts'
import { GatewayError, isJsonObject, type JsonObject, type JsonValue } from '../../../worker/normalized/index.ts'
import type { ApiMode } from '../../../worker/protocols/provider-face.ts'
import { areRunsFull } from '../../support/properties.ts'
import { createContext, EDGE, EXACT_EDGE, environment, formats, PLAIN_EDGE } from './support.ts'

interface Field {
  path: string
  verdict: 'exact' | 'translated' | 'ignored' | 'refused'
  reason: string
  upstream?: string
  code?: string
  param?: string
}

interface Explained {
  accepted: boolean
  error?: { code: string; status: number; param?: string; message: string }
  route?: JsonObject
  fields: Field[]
  complete: boolean
  ignored?: string[]
}

async function explain(family: ExplainedFamily, body: JsonObject, model?: string, apiMode: ApiMode = 'v1') {
  const task = { type: 'explain', family, ...(model === undefined ? {} : { model }) } as const
  const source = { body, bytes: JSON.stringify(body).length }
  return (await runDebugTask(source, createContext(task, apiMode), environment)) as unknown as Explained
}

async function verdicts(family: ExplainedFamily, body: JsonObject, model?: string, apiMode: ApiMode = 'v1') {
  const { fields } = await explain(family, body, model, apiMode)
  return Object.fromEntries(fields.map(({ path, verdict }) => [path, verdict]))
}

/** What the route makes of a body. */
function translate(family: keyof typeof formats, body: JsonObject, model: string, apiMode: ApiMode): JsonObject {
  const context = createContext({ type: 'translate' }, apiMode)
  const request = readClientRequest(formats[family], body, context, { model })
  const { settings, faces } = environment
  return showUpstreamBody(planChat({ protocol: family, apiMode, request, body }, settings, faces))
}

function attempt<Result>(work: () => Result): Result | GatewayError {
  try {
    return work()
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
}

const { bases } = readRequestBases()
const chats = bases.filter(({ path }) => /(?:chat\/completions|responses|messages|enerateContent)$/.test(path))
/** Long bodies have more of the same members, and most of their time. */
const SHORT = 2000
const ROUTES = [
  ['GigaChat-2-Max', 'v1'],
  ['GigaChat-2-Max', 'v2'],
  [EDGE, 'v1']
] as const

t.test('every field of a body has one verdict, and the verdicts hold', async t => {
  /** The same body under another path is the same on each of these routes. */
  const explained = new Set<string>()
  for (const base of chats.filter(({ body }) => areRunsFull || JSON.stringify(body).length < SHORT)) {
    if (!isJsonObject(base.body)) continue
    const family = base.family as keyof typeof formats
    const key = family + JSON.stringify(base.body)
    if (explained.has(key)) continue
    explained.add(key)
    for (const [model, apiMode] of ROUTES) {
      const isContent = family === 'content'
      const body = isContent ? base.body : { ...base.body, model }
      const explanation = await explain(formats[family], body, isContent ? model : undefined, apiMode)
      const { fields } = explanation
      const name = `${base.name} to ${model} ${apiMode}`
      t.ok(explanation.complete, name)
      const direct = attempt(() => translate(family, body, model, apiMode))
      if (direct instanceof GatewayError) {
        const { code, status, param, message } = direct
        t.strictSame(explanation.error, { code, status, ...(param === undefined ? {} : { param }), message }, name)
        t.ok(
          fields.some(({ verdict, reason }) => verdict === 'refused' && reason === message),
          name
        )
      } else {
        t.notOk(explanation.error, name)
        t.notOk(
          fields.some(({ verdict }) => verdict === 'refused'),
          name
        )
      }
      t.strictSame(findUncovered(body, fields), [], name)
      const refused = fields.filter(({ verdict }) => verdict === 'refused')
      const accepted = refused.some(({ path }) => findAt(body, readPlace(path)) === undefined)
        ? undefined
        : refused.reduce((edits, { path }) => edits.with(readPlace(path)), new Edits())
      if (accepted === undefined) continue
      const upstream = attempt(() => translate(family, accepted.apply(body), model, apiMode))
      // A member that no request can do without was replaced, not taken out.
      if (upstream instanceof GatewayError) continue
      for (const { path, verdict } of fields) {
        if (verdict !== 'ignored') continue
        const without = attempt(() => translate(family, accepted.with(readPlace(path)).apply(body), model, apiMode))
        t.ok(isDeepStrictEqual(without, upstream), `${name}: ${path} is ignored`)
      }
      for (const { path, verdict, upstream: place } of fields) {
        if (verdict !== 'exact') continue
        const value = findAt(body, readPlace(path))
        t.ok(isDeepStrictEqual(findAt(upstream, readPlace(place ?? '')), value), `${name}: ${path} is sent as it is`)
      }
    }
  }
})

/** The leaves of a body that no field stands for, or more than one. Names that a path cannot spell are left out. */
function findUncovered(body: JsonObject, fields: readonly Field[]): string[] {
  const counts = new Map<string, number>()
  for (const { path } of fields) counts.set(path, (counts.get(path) ?? 0) + 1)
  const uncovered: string[] = []
  const visit = (value: JsonValue, place: Place): void => {
    const inner = listInner(value)
    for (const one of inner) visit(one.value, [...place, one.step])
    if (inner.length > 0) return
    let count = 0
    for (let length = 1; length <= place.length; length++) count += counts.get(writePlace(place.slice(0, length))) ?? 0
    if (count !== 1) uncovered.push(`${writePlace(place)}: ${count}`)
  }
  visit(body, [])
  return uncovered
}

const user = { role: 'user', content: 'Hi' }

t.test('each verdict has its reason', async t => {
  const body = {
    model: 'm',
    messages: [user],
    temperature: 0.5,
    top_p: 1,
    seed: 7,
    n: 2,
    stop: 'x',
    foo: 1,
    api_key: 'k'
  }
  const { fields, route, accepted } = await explain('openai', body)
  t.ok(accepted)
  t.match(route, { provider_kind: 'native', api_mode: 'v1', upstream_model: 'm', profile_id: 'main' })
  const by = Object.fromEntries(fields.map(field => [field.path, field]))
  t.match(by.temperature, { verdict: 'exact', upstream: 'temperature', reason: /^Sent unchanged\./ })
  t.match(by.seed, { verdict: 'ignored', reason: /^The provider kind native has no place for it\./ })
  t.match(by.n, {
    verdict: 'ignored',
    reason: /^Accepted without effect\. The response always has exactly one choice\./
  })
  t.match(by.stop, { verdict: 'translated', reason: /^The gateway applies it itself\./ })
  t.match(by.foo, { verdict: 'exact', upstream: 'foo' })
  t.match(by.api_key, { verdict: 'ignored', reason: /^Not used\./ })
  t.strictSame(
    fields.map(({ path }) => path),
    ['model', 'messages', 'temperature', 'top_p', 'seed', 'n', 'stop', 'foo', 'api_key'],
    'in the order of the body'
  )
  const v2 = await explain('openai', body, undefined, 'v2')
  t.match(
    v2.fields.find(({ path }) => path === 'temperature'),
    { verdict: 'exact', upstream: 'model_options.temperature' }
  )
})

t.test('the same field is another one on another route', async t => {
  const body = { messages: [user], top_k: 5, max_tokens: 9, thinking: { type: 'enabled', budget_tokens: 9000 } }
  t.match(await verdicts('anthropic', { ...body, model: 'm' }), {
    top_k: 'ignored',
    max_tokens: 'exact',
    'thinking.type': 'translated',
    'thinking.budget_tokens': 'translated'
  })
  const onEdge = await explain('anthropic', { ...body, model: EDGE })
  t.ok(onEdge.accepted)
  t.strictSame(onEdge.ignored, ['top_k'])
  t.match(
    onEdge.fields.find(({ path }) => path === 'top_k'),
    { verdict: 'ignored', reason: /^The provider kind chat_compatible has no place for it\./ }
  )
  t.match(onEdge.route, { provider_kind: 'chat_compatible', upstream_model: 'edge-large' })
  const plain = await explain('openai', { model: PLAIN_EDGE, messages: [user], temperature: 1, seed: 1, stream: true })
  t.match(plain.error, { code: 'unsupported_semantic', param: 'stream' })
  t.strictSame(plain.ignored, ['seed', 'temperature'])
  t.match(Object.fromEntries(plain.fields.map(({ path, verdict }) => [path, verdict])), {
    temperature: 'ignored',
    seed: 'ignored',
    stream: 'refused',
    model: 'translated'
  })
})

t.test('a field that states the default is not called ignored, because another value has an effect', async t => {
  const body = { model: 'm', messages: [user], stream: false, parallel_tool_calls: true, tool_choice: 'auto' }
  t.match(await verdicts('openai', body), { stream: 'translated', parallel_tool_calls: 'translated' })
})

t.test('a tool that no provider here runs is ignored as a whole', async t => {
  const tools = [{ type: 'mcp', name: 'x' }, { type: 'function', function: { name: 'f' } }, { type: 'web_search' }]
  const body = { model: 'm', messages: [user], tools }
  t.match(await verdicts('openai', body), {
    'tools[0]': 'ignored',
    'tools[1].function.name': 'exact',
    'tools[2]': 'ignored'
  })
  t.match(await verdicts('openai', body, undefined, 'v2'), { 'tools[0]': 'ignored', 'tools[2].type': 'translated' })
  t.match(await verdicts('openai', { ...body, model: EDGE }), { 'tools[0]': 'ignored', 'tools[2]': 'ignored' })
})

t.test('a model without a route explains nothing but itself', async t => {
  const { accepted, error, fields, complete } = await explain('openai', { messages: [user], temperature: 1 })
  t.notOk(accepted)
  t.notOk(complete)
  t.match(error, { code: 'model_required', param: 'model' })
  t.match(fields, [{ path: 'model', verdict: 'refused' }])
})

t.test('a model that nothing can replace keeps the reason of its own refusal', async t => {
  const blocked = { profileId: 'edge-chat', providerKind: 'chat_compatible', upstreamModel: 'e', slotKey: '' }
  const routes = { aliases: new Map([[EDGE, { ...blocked, refusal: 'alias_blocked' as const }]]) }
  const served = { ...environment, settings: { ...environment.settings, routes } }
  const body = { model: EDGE, messages: [user] }
  const answer = await runDebugTask({ body, bytes: 1 }, createContext({ type: 'explain', family: 'openai' }), served)
  const { error, fields } = answer as unknown as Explained
  t.match(error, { code: 'unsupported_semantic', param: 'model' })
  t.match(fields, [{ path: 'model', verdict: 'refused', code: 'unsupported_semantic', reason: error?.message }])
})

t.test(
  'a refused element has the reason of the route, not what its absence or that of a part of it would cause',
  async t => {
    const message = (path: string) => `'${path}' is not supported by model '${EDGE}'.`
    const document = { type: 'document', source: { type: 'file', file_id: 'x' } }
    const text = { type: 'text', text: 'hi' }
    const content = [text, document, text, document]
    const documents = await explain('anthropic', { model: EDGE, max_tokens: 9, messages: [{ role: 'user', content }] })
    t.match(
      documents.fields
        .filter(({ verdict }) => verdict === 'refused')
        .map(({ path, reason, param }) => [path, reason, param]),
      [
        ['messages[0].content[1]', message('messages[0].content[1]'), undefined],
        ['messages[0].content[3]', message('messages[0].content[3]'), undefined]
      ]
    )
    const input = [
      { type: 'compaction', id: 'c', encrypted_content: 'x' },
      { role: 'user', content: 'hi' }
    ]
    const items = await explain('responses', { model: EDGE, input })
    t.match(
      items.fields.find(({ path }) => path === 'input[0]'),
      { reason: message('input[0].type'), code: 'unsupported_semantic' }
    )
    const wrong = await explain('openai', { model: EDGE, messages: [{ role: 5, content: 'hi' }] })
    t.match(wrong.fields.at(-1), { path: 'messages', param: 'messages[0].role', reason: wrong.error?.message })
  }
)

t.test('a value that stands in several places is told where its own member stands', async t => {
  const messages = [
    user,
    { role: 'assistant', content: 'a' },
    { role: 'user', content: [{ type: 'text', text: 'b' }, { type: 'x' }] }
  ]
  const { fields } = await explain('openai', { model: EDGE, messages })
  t.match(
    fields.find(({ path }) => path === 'messages[2].role'),
    { verdict: 'exact', upstream: 'messages[2].role' }
  )
})

t.test('elements in a row that are refused alike are told one by one, up to a bound', async t => {
  const file = { type: 'file', file: { file_id: 'f' } }
  const body = (count: number) => ({
    model: EDGE,
    messages: [{ role: 'user', content: [...Array(count).fill(file), { type: 'text', text: 'hi' }] }],
    seed: 1
  })
  const few = await explain('openai', body(3))
  const refused = few.fields.filter(({ verdict }) => verdict === 'refused')
  t.strictSame(
    refused.map(({ path }) => path),
    [0, 1, 2].map(index => `messages[0].content[${index}]`)
  )
  t.ok(few.complete)
  const many = await explain('openai', body(150))
  t.match(many, { accepted: false, complete: false })
  t.match(Object.fromEntries(many.fields.map(({ path, verdict }) => [path, verdict])), {
    messages: 'refused',
    seed: 'exact'
  })
})

t.test('a body with nothing in it is refused for what it lacks, and one with a wrong type for that', async t => {
  const empty = await explain('anthropic', { model: EDGE })
  t.match(
    empty.fields.map(({ path, verdict }) => [path, verdict]),
    [
      ['model', 'translated'],
      ['messages', 'refused'],
      ['max_tokens', 'refused']
    ]
  )
  const wrong = await verdicts('openai', { model: 'm', messages: [user, { role: 5 }], temperature: 'warm', seed: 1 })
  t.match(wrong, { temperature: 'refused', 'messages[1]': 'refused', seed: 'ignored', 'messages[0]': 'exact' })
})

t.test(
  'a value that is refused where one is needed has the reason of the route, and the rest is explained',
  async t => {
    const { error, fields, route } = await explain('openai', {
      model: 'GigaChat-2',
      messages: [],
      temperature: 9,
      zz: 1
    })
    t.match(error, { param: 'messages', message: /at least one message/ })
    t.equal(fields.find(({ path }) => path === 'messages')?.reason, error?.message)
    t.same(
      fields.map(({ path }) => path),
      ['model', 'messages', 'temperature', 'zz']
    )
    t.ok(route)
  }
)

t.test('embeddings are explained too', async t => {
  const body = { model: 'EmbeddingsGigaR', input: ['a'], dimensions: 5, encoding_format: 'base64', user: 'u', other: 1 }
  t.match(await verdicts('embeddings', body), {
    model: 'exact',
    input: 'exact',
    dimensions: 'ignored',
    encoding_format: 'translated',
    user: 'ignored',
    other: 'ignored'
  })
  t.match(await verdicts('embeddings', { ...body, model: EDGE }), { model: 'translated', dimensions: 'exact' })
})

t.test('a body of very many values has a short report', async t => {
  const messages = Array.from({ length: 4000 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text: `${index}` }]
  }))
  const many = await explain('openai', { model: 'm', messages, temperature: 1 })
  t.notOk(many.complete)
  t.strictSame(
    many.fields.map(({ path, verdict }) => [path, verdict]),
    [
      ['model', 'exact'],
      ['messages', 'translated'],
      ['temperature', 'exact']
    ]
  )
  const refused = await explain('openai', {
    model: EXACT_EDGE,
    messages: [...messages, { role: 'x', content: '' }],
    foo: 2
  })
  t.strictSame(
    refused.fields.filter(({ verdict }) => verdict === 'refused').map(({ path }) => path),
    ['messages[4000]', 'foo']
  )
  t.ok(refused.fields.length < 20)
})

/** Explains a body on the route of a model, and counts the translations that it takes. */
async function count(family: 'openai' | 'gemini' | 'anthropic', body: JsonObject, model: string, apiMode: ApiMode) {
  const context = createContext({ type: 'explain', family }, apiMode)
  const outside = family === 'gemini' ? { model, isStream: false } : { isStream: false }
  const look = createChatProbe(family, { model: undefined, ...outside }, context, environment)
  let looks = 0
  /** The members of all translated bodies. */
  let members = 0
  const probe: Probe = edited => {
    looks++
    members += Object.keys(edited).length
    return look(edited)
  }
  const source = family === 'gemini' ? body : { ...body, model }
  const bytes = JSON.stringify(source).length
  const { fields, isComplete } = await explainBody(source, {
    family,
    probe,
    bytes,
    pause: () => Promise.resolve(),
    nowMs: () => 0
  })
  return { looks, members, fields, isComplete }
}

/** Null, an empty list and an empty object ask for nothing. */
const refusedOf = (size: number) => (size * (values.length - 3)) / values.length

const values: readonly JsonValue[] = [true, 0, 7, 'x', 'a text', null, [], {}, [1, 'two'], { a: 1, b: { c: 'deep' } }]

function createUnknown(size: number): JsonObject {
  return Object.fromEntries(
    Array.from({ length: size }, (_, index) => [`unknown_${index}`, values[index % values.length] ?? null])
  )
}

const unknownRoutes: ReadonlyArray<['openai' | 'gemini' | 'anthropic', JsonObject, ApiMode]> = [
  ['openai', { messages: [{ role: 'user', content: 'hi' }] }, 'v1'],
  ['openai', { messages: [{ role: 'user', content: 'hi' }] }, 'v2'],
  ['anthropic', { max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }, 'v2'],
  ['gemini', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }, 'v1']
]

t.test('unknown members are judged together: ten times as many take hardly more translations', async t => {
  for (const [family, body, apiMode] of unknownRoutes) {
    const name = `${family} on ${apiMode}`
    const few = await count(family, { ...body, ...createUnknown(90) }, 'GigaChat-2-Max', apiMode)
    const many = await count(family, { ...body, ...createUnknown(900) }, 'GigaChat-2-Max', apiMode)
    t.ok(many.isComplete, name)
    t.ok(many.looks <= few.looks + 10, `${name}: ${few.looks} and ${many.looks}`)
    t.ok(many.looks < 100, `${name}: ${many.looks}`)
    // Some have another fate: they are found among the others.
    const mixed = {
      ...createUnknown(450),
      stop_after: 1,
      repetition_penalty: 1.5,
      profanity_check: true,
      ...createUnknown(900)
    }
    t.ok((await count(family, { ...body, ...mixed }, 'GigaChat-2-Max', apiMode)).looks < 200, name)
  }
})

t.test('a member that is judged together with others has the verdict that it has among few', async t => {
  const others = { ...createUnknown(30), repetition_penalty: 1.5, profanity_check: true, flags: ['a'], temperature_: 2 }
  for (const [family, body, apiMode] of unknownRoutes) {
    const { fields } = await count(family, { ...body, ...others }, 'GigaChat-2-Max', apiMode)
    for (const [member, value] of Object.entries(others)) {
      // A second one, because a single unknown member may have another reason.
      const alone = { ...body, [member]: value, other_unknown: 'y' }
      const expected = (await count(family, alone, 'GigaChat-2-Max', apiMode)).fields
      const isOf = ({ path }: { path: string }) => readPlace(path)[0] === member
      t.strictSame(fields.filter(isOf), expected.filter(isOf), `${family} on ${apiMode}: ${member}`)
    }
  }
})

t.test('unknown members that are refused are found in bodies without the others', async t => {
  const body = { messages: [{ role: 'user', content: 'hi' }], top_k: 5, logprobs: true }
  const few = await count('openai', { ...body, ...createUnknown(90) }, EXACT_EDGE, 'v1')
  const many = await count('openai', { ...body, ...createUnknown(900) }, EXACT_EDGE, 'v1')
  t.ok(many.isComplete)
  t.ok(many.members < 12 * few.members, `${few.members} and ${many.members}`)
  t.equal(many.fields.filter(({ verdict }) => verdict === 'refused').length, refusedOf(900) + 2)
  const others = { ...createUnknown(30), 'with.dot': 1 }
  const { fields } = await count('openai', { ...body, ...others }, EXACT_EDGE, 'v1')
  for (const [member, value] of Object.entries(others)) {
    const alone = await count('openai', { messages: body.messages, [member]: value }, EXACT_EDGE, 'v1')
    const isOf = ({ path }: { path: string }) => path === member
    const tell = (list: typeof fields) => list.filter(isOf).map(({ path, verdict, code }) => [path, verdict, code])
    t.strictSame(tell(fields), tell(alone.fields), member)
  }
})

t.test('decisions.md 103: an explanation is cut when its time is over', async t => {
  const body = { messages: [{ role: 'user', content: 'hi' }], model: 'm', ...createUnknown(500) }
  const context = createContext({ type: 'explain', family: 'openai' }, 'v2')
  const look = createChatProbe('openai', { model: undefined, isStream: false }, context, environment)
  for (const [msPerLook, isLate] of [
    [0, false],
    [100, true],
    [2000, true]
  ] as const) {
    let nowMs = 5
    let looks = 0
    const probe: Probe = edited => {
      nowMs += msPerLook
      looks++
      return look(edited)
    }
    const options = {
      family: 'openai',
      probe,
      bytes: 1000,
      pause: () => Promise.resolve(),
      nowMs: () => nowMs
    } as const
    const explained = await explainBody(body, options)
    t.equal(explained.isLate, isLate, `${msPerLook} ms`)
    if (isLate) {
      t.equal(explained.isComplete, false)
      // The first one, those within a second, and what a step begins with.
      t.ok(looks <= 1 + 1000 / msPerLook + 2, `${looks} looks of ${msPerLook} ms`)
    }
  }
})
