import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { asBuffer, joinBytes } from '../../shared/bytes.ts'
import { BASE_FEATURES, FEATURE_NAMES } from '../../shared/profile/profile.ts'
import { GatewayError, type JsonObject } from '../../worker/normalized/index.ts'
import { providerFaces } from '../../worker/protocols/registry.ts'
import { JsonEdits } from '../../worker/protocols/shared/json/edits.ts'
import { countMembers } from '../../worker/protocols/shared/json/raw-json.ts'
import { editBody, editJson } from '../../worker/protocols/shared/json/spans.ts'
import { translateChat } from '../../worker/translation/chat.ts'
import { createPlainChats } from '../../worker/translation/plain-chats.ts'
import type { TaskEnvironment, TranslatedChat } from '../../worker/translation/types.ts'
import * as fc from '../support/properties.ts'

const text = fc.oneof(
  fc.constantFrom('"model":"x"', '\\', '"', ':', '{', '}', '\u2028', 'a', 'b'),
  fc.string({ unit: 'grapheme', maxLength: 9 })
)
const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })

t.test('members with any names and values are counted', async t => {
  fc.assert(
    fc.property(fc.dictionary(text, value), fc.constantFrom(undefined, 1, '\t'), (object, space) => {
      const { edited, memberCount } = editJson(Buffer.from(JSON.stringify(object, null, space)), new JsonEdits())
      // Not of the parsed text: the parser of some engines loses one of the members named `"` and `\\`.
      if (memberCount !== countMembers(object as JsonObject)) throw new Error(`${memberCount} members`)
      if (edited.toString() !== JSON.stringify(object, null, space)) throw new Error('other bytes')
    }),
    { numRuns: 1000 }
  )
  t.pass()
})

t.test('changes in the bytes are those of the parsed value', async t => {
  const place = fc.array(fc.constantFrom<string | number>('a', 'b', 'c', 0, 1, 2), { minLength: 1, maxLength: 3 })
  const change = fc.record({ place, kind: fc.constantFrom('drop', 'set', 'replaceText', 'rename', 'spread') })
  const inner = fc.oneof(
    value,
    fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'c'), value), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), value)
  )
  const body = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), inner)
  fc.assert(
    fc.property(body, fc.array(change, { maxLength: 5 }), fc.constantFrom(undefined, 1), (body, changes, space) => {
      const edits = new JsonEdits()
      for (const { place, kind } of changes) {
        if (kind === 'drop') edits.drop(...place)
        else if (kind === 'set') edits.set(place, 'set')
        else if (kind === 'replaceText') edits.replaceText(place, 'replaced')
        else if (kind === 'rename') edits.rename(place, 'renamed')
        else if (typeof place.at(-1) === 'string') edits.spread(place, new Set(['b']))
      }
      const bytes = Buffer.from(JSON.stringify(body, null, space))
      const parsed = JSON.parse(bytes.toString()) as JsonObject
      const edited = editBody(bytes, parsed, edits)?.toString() ?? 'null'
      if (!isDeepStrictEqual(JSON.parse(edited), JSON.parse(JSON.stringify(edits.applyTo(parsed))))) {
        throw new Error(edited)
      }
    }),
    { numRuns: 2000 }
  )
  t.pass()
})

/** Aliases of each kind: one declares everything, one only texts and a short output. */
const kinds = {
  completions: { providerKind: 'chat_compatible' },
  responses: { providerKind: 'chat_compatible', wire: 'responses' },
  messages: { providerKind: 'messages_compatible' },
  content: { providerKind: 'content_compatible' }
} as const
const aliases = new Map(
  Object.entries(kinds).flatMap(([protocol, kind]) =>
    ['alias', 'small'].map(name => [
      `${protocol}/${name}`,
      {
        profileId: 'p',
        ...kind,
        upstreamModel: 'exact-model',
        slotKey: 'p\nexact-model',
        capabilities: {
          features: name === 'small' ? [...BASE_FEATURES, 'text'] : FEATURE_NAMES,
          outputTokensMax: 1000,
          contextWindow: 1_000_000
        }
      }
    ])
  )
)
const paths = {
  chatPath: '/c',
  responsesPath: '/r',
  embeddingsPath: '/e',
  messagesPath: '/m',
  countTokensPath: '/t',
  modelsPath: '/models'
}
const environment: TaskEnvironment = {
  settings: {
    routes: { aliases },
    providerOptions: { p: paths }
  },
  faces: providerFaces,
  decodeTokens: async () => [],
  estimateTokens: async () => 0
}

/** Numbers that doubles and `JSON.stringify` would change, escapes, blanks and members of any kind, as text. */
const oddJson = fc.oneof(
  fc.constantFrom(
    '12345678901234567890',
    '1.50',
    '1e2',
    '-0.0',
    '"\\u0041\\/"',
    '"\\ud83d"',
    '{ "a" : 1 }',
    '[ ]',
    'null'
  ),
  value.map(one => JSON.stringify(one))
)

/** The member with the conversation. */
const conversations = {
  completions: 'messages',
  responses: 'input',
  messages: 'messages',
  content: 'contents'
} as const

/** Names that decisions.md 72 says something of. */
const NAMED =
  /^(?:model|stream|stream_options|max_.*|models|fallbacks|route|messages|input|contents|metadata|extra_.*|additional_fields|base_url|api_key|auth_token|timeout|max_retries|proxy|http_client|generation_?[cC]onfig|__proto__)$/

t.test('what decisions.md 72 does not name arrives byte for byte, on every wire', async t => {
  let sent = 0
  const name = text.filter(one => !NAMED.test(one))
  const members = fc.uniqueArray(fc.tuple(name, oddJson), { maxLength: 6, selector: ([one]) => one })
  const blank = fc.constantFrom('', ' ', '\n\t')
  const content = fc.oneof(
    text.map(one => JSON.stringify(one)),
    oddJson
  )
  const protocol = fc.constantFrom('completions', 'responses', 'messages', 'content')
  fc.assert(
    fc.property(protocol, members, blank, content, fc.boolean(), (protocol, members, blank, content, isLast) => {
      // A part without data is left out (decisions.md 109).
      fc.pre(protocol !== 'content' || content !== 'null')
      const list =
        protocol === 'content'
          ? `[{"role":"user","parts":[{"text":${content}}]}]`
          : `[{"role":"user","content":${content}}]`
      const given = [
        `"${conversations[protocol]}"${blank}:${blank}${list}`,
        ...members.map(([name, json]) => `${JSON.stringify(name)}:${blank}${json}`)
      ]
      const model = `${protocol}/alias`
      const write = (name: string) => {
        const all =
          protocol === 'content' ? given : isLast ? [...given, `"model":"${name}"`] : [`"model":"${name}"`, ...given]
        return `{${blank}${all.join(`${blank},${blank}`)}${blank}}`
      }
      const bytes = Buffer.from(write(model))
      // An object of the members may have a name twice, once in each spelling of a text.
      if (editJson(bytes, new JsonEdits()).memberCount !== countMembers(JSON.parse(bytes.toString()))) return
      const context = { requestId: 'r', ...(protocol === 'content' && { path: { model, isStream: false } }) }
      let call: TranslatedChat
      try {
        call = translateChat({ protocol, apiMode: 'v1', bytes, context }, environment)
      } catch (thrown) {
        if (!GatewayError.is(thrown) || thrown.code === 'invalid_request') throw thrown
        return
      }
      sent++
      const got = asBuffer(joinBytes(call.body)).toString()
      if (got !== write('exact-model')) throw new Error(`${got} is not ${write('exact-model')}`)
    }),
    { numRuns: 2000 }
  )
  if (fc.areRunsFull) t.ok(sent > 500, `${sent} bodies are sent`)
})

/** Remembers outlines from one body of a test to the next. */
const plain = createPlainChats(environment)

/** What of a request matters for its response. A body that the client face refuses to read has no more. */
function readResponseFacts({ request }: TranslatedChat): unknown {
  const { requestId, model, isStream, wantsStreamUsage, usesLegacyFunctions } = request
  return { requestId, model, isStream, wantsStreamUsage, usesLegacyFunctions }
}

/** What becomes of a body, or the refusal. */
function outcome(translate: () => TranslatedChat | undefined): unknown {
  try {
    const call = translate()
    return (
      call && {
        ...call,
        body: asBuffer(joinBytes(call.body)).toString('latin1'),
        request: readResponseFacts(call)
      }
    )
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown
    const { code, param, message, cause } = thrown
    return { code, param, message, cause }
  }
}

/** Nearly always a plain value, so that many whole bodies are plain. */
function mostly<Value>(plain: fc.Arbitrary<Value>, ...others: Value[]): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 15, arbitrary: plain }, { weight: 1, arbitrary: fc.constantFrom(...others) })
}

t.test('the short way of a plain chat has the result of the general way, on every wire', async t => {
  const counts = { plain: 0, refused: 0 }
  const role = mostly(fc.constantFrom('system', 'user', 'assistant'), 'developer', 'tool')
  const message = fc.record({ role, content: mostly<unknown>(text, null, [], 'x\ud800') })
  const parts = fc.array(mostly<unknown>(fc.record({ text }), { text: null }, { text: 'a', thought: true }), {
    minLength: 1,
    maxLength: 2
  })
  const content = fc.record({ role: mostly(fc.constantFrom('user', 'model'), 'system'), parts })
  const around = {
    temperature: mostly<unknown>(fc.double({ noNaN: true, noDefaultInfinity: true }), 'hot', null),
    max_tokens: mostly(fc.constantFrom(1, 1000), 1001, 0, 1.5),
    stop: mostly<unknown>(fc.constant('END'), '', ['a']),
    stream: mostly<unknown>(fc.boolean(), 'yes'),
    stream_options: mostly<unknown>(fc.constantFrom(undefined, { include_usage: true }), 'x', {}),
    generationConfig: mostly<unknown>(fc.constant(undefined), { maxOutputTokens: 2000 }, 'x'),
    system: mostly<unknown>(fc.constant(undefined), 'x', [{ type: 'text', text: 'x' }]),
    thinking: mostly<unknown>(fc.constant(undefined), { type: 'enabled', budget_tokens: 2000 }),
    tools: mostly<unknown>(fc.constantFrom(undefined, []), [{ type: 'function', function: { name: 'f' } }], 'x'),
    extra_body: mostly<unknown>(fc.constant(undefined), { top_k: 1, model: 'x' }, 'x'),
    api_key: mostly<unknown>(fc.constant(undefined), 'x'),
    models: mostly<unknown>(fc.constant(undefined), ['x']),
    n: mostly<unknown>(fc.constant(undefined), 1, 2),
    ключ: mostly<unknown>(fc.constant(undefined), 1, { a: [1] })
  }
  const body = fc.record(
    {
      messages: fc.array(message, { minLength: 1, maxLength: 4 }),
      contents: fc.array(content, { minLength: 1, maxLength: 4 }),
      ...around
    },
    { requiredKeys: ['messages', 'contents'] }
  )
  const job = fc.record({
    protocol: fc.constantFrom('completions', 'messages', 'content'),
    alias: mostly(fc.constantFrom('alias', 'small'), 'unknown'),
    isStream: fc.boolean()
  })
  fc.assert(
    fc.property(body, job, fc.constantFrom(undefined, 1), fc.nat({ max: 3 }), (body, options, space, offset) => {
      const { protocol, alias, isStream } = options
      const model = `${protocol}/${alias}`
      const { messages, contents, ...members } = body
      const sent = protocol === 'content' ? { contents, ...members } : { model, messages, ...members }
      const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(JSON.stringify(sent, null, space))]).subarray(
        offset
      )
      const wireHeaders = protocol === 'messages' && isStream ? { wireHeaders: ['anthropic-beta', 'a'] } : {}
      const path = protocol === 'content' ? { path: { model, isStream } } : {}
      const job = { protocol, apiMode: 'v1', bytes, context: { requestId: 'r', ...path, ...wireHeaders } } as const
      const short = outcome(() => plain.translate(job))
      if (short === undefined) return
      counts[typeof short === 'object' && short !== null && 'code' in short ? 'refused' : 'plain']++
      const general = outcome(() => translateChat(job, environment))
      if (!isDeepStrictEqual(short, general)) throw new Error('another result')
    }),
    { numRuns: 4000 }
  )
  if (fc.areRunsFull) t.ok(counts.plain > 50, `${counts.plain} bodies are plain`)
  if (fc.areRunsFull) t.ok(counts.refused > 50, `${counts.refused} bodies are refused`)
})
