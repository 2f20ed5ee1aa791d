import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { asBuffer, joinBytes } from '../../shared/bytes.ts'
import { BASE_FEATURES, FEATURE_NAMES } from '../../shared/profile.ts'
import { GatewayError, type JsonObject } from '../../worker/normalized/index.ts'
import { relayPlainResponse } from '../../worker/protocols/completions/provider/plain-response.ts'
import { chatCompatibleRelay } from '../../worker/protocols/completions/provider/relay.ts'
import { providerFaces } from '../../worker/protocols/registry.ts'
import { countMembers, isSameJson, scanJson } from '../../worker/protocols/shared/raw-json.ts'
import { translateChat } from '../../worker/translation/chat.ts'
import { createChatRelay } from '../../worker/translation/relayed-chat.ts'
import type { TaskEnvironment, TranslatedChat } from '../../worker/translation/types.ts'
import * as fc from '../support/properties.ts'
import { answer, openReader, options, write } from '../worker/protocols/completions/provider/support.ts'

const text = fc.oneof(
  fc.constantFrom('"model":"x"', '\\', '"', ':', '{', '}', '\u2028'),
  fc.string({ unit: 'grapheme', maxLength: 9 })
)
const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })

t.test('members with any names and values are counted', async t => {
  fc.assert(
    fc.property(fc.dictionary(text, value), fc.constantFrom(undefined, 1, '\t'), (object, space) => {
      const written = JSON.stringify(object, null, space)
      const { memberCount } = scanJson(Buffer.from(written), 'model')
      // Not of the parsed text: the parser of some engines loses one of the members named `"` and `\\`.
      if (memberCount !== countMembers(object as JsonObject)) throw new Error(`${memberCount} members`)
    }),
    { numRuns: 1000 }
  )
  t.pass()
})

t.test('reused bytes say what would have been written, with the model renamed', async t => {
  let reused = 0
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('system', 'user', 'assistant', 'developer'), content: text }),
    fc.record({
      role: fc.constant('user'),
      content: fc.array(fc.record({ type: fc.constant('text'), text }), { minLength: 1, maxLength: 3 })
    })
  )
  const body = fc.record(
    {
      messages: fc.array(message, { minLength: 1, maxLength: 4 }),
      model: fc.constantFrom('alias', 'team/"large"'),
      temperature: fc.constantFrom(0, 0.5, null),
      max_tokens: fc.nat({ max: 9 }).map(count => count + 1),
      stop: fc.constantFrom('END', ['a', 'b'], []),
      stream: fc.boolean(),
      stream_options: fc.constantFrom({ include_usage: true }, {}),
      metadata: fc.dictionary(text, text, { maxKeys: 2 }),
      user: text
    },
    { requiredKeys: ['messages', 'model'] }
  )
  fc.assert(
    fc.property(body, fc.constantFrom(undefined, 1), (body, space) => {
      const sent = JSON.stringify(body, null, space)
      const parsed = JSON.parse(sent) as JsonObject
      const written = JSON.parse(JSON.stringify(write('completions', parsed).body)) as JsonObject
      const bytes = chatCompatibleRelay.reuseBody(Buffer.from(sent), parsed, written)
      if (bytes === undefined) return
      reused++
      const { stream = false, stop, ...others } = JSON.parse(Buffer.from(bytes).toString()) as JsonObject
      const list = stop === undefined ? {} : { stop: typeof stop === 'string' ? [stop] : stop }
      if (!isSameJson({ stream, ...list, ...others }, written)) throw new Error('another meaning')
    }),
    { numRuns: 1000 }
  )
  if (fc.areRunsFull) t.ok(reused > 20, 'many bodies need no other change')
})

/** Aliases of a provider of this wire: one declares everything, one only texts and a short output. */
const aliases = new Map(
  ['alias', 'team/large', 'team/"large"', 'small'].map(name => [
    name,
    {
      profileId: 'p',
      providerKind: 'chat_compatible',
      upstreamModel: 'exact-model',
      slotKey: 'p\nexact-model',
      capabilities: {
        features: name === 'small' ? [...BASE_FEATURES, 'text'] : FEATURE_NAMES,
        outputTokensMax: 1000
      }
    }
  ])
)
const environment: TaskEnvironment = {
  settings: { routes: { aliases }, providerOptions: { p: options } },
  faces: providerFaces,
  decodeTokens: async () => [],
  estimateTokens: async () => 0
}

/** Remembers outlines from one body of a test to the next. */
const relay = createChatRelay(environment)

/** What becomes of a body, or the refusal. */
function outcome(translate: () => TranslatedChat | undefined): unknown {
  try {
    const call = translate()
    return (
      call && {
        ...call,
        body: asBuffer(joinBytes(call.body)).toString('latin1'),
        request: { ...call.request, messages: [] }
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

t.test('the short way of a chat has the result of the general way', async t => {
  const counts = { relayed: 0, refused: 0 }
  const role = mostly(fc.constantFrom('system', 'user', 'assistant'), 'developer', 'tool')
  const message = fc.record({ role, content: mostly<unknown>(text, null, [], 'x\ud800') })
  const body = fc.record(
    {
      messages: fc.array(message, { minLength: 1, maxLength: 4 }),
      model: mostly(fc.constantFrom('alias', 'team/large', 'small'), 'team/"large"', 'unknown'),
      temperature: mostly<unknown>(fc.double({ noNaN: true, noDefaultInfinity: true }), 'hot', null),
      top_p: fc.constantFrom(0, 1, -1),
      max_tokens: mostly(fc.constantFrom(1, 1000), 1001, 0, 1.5),
      seed: mostly<unknown>(fc.constant(7), 'seven'),
      stop: mostly<unknown>(fc.constant('END'), ''),
      stream: mostly<unknown>(fc.constant(false), true, 'yes'),
      user: mostly(fc.constant('u'), ''),
      n: mostly<unknown>(fc.constant(undefined), 1, 2),
      store: mostly<unknown>(fc.constant(undefined), true, false),
      ключ: mostly<unknown>(fc.constant(undefined), 1)
    },
    { requiredKeys: ['messages', 'model'] }
  )
  fc.assert(
    fc.property(body, fc.constantFrom(undefined, 1), fc.nat({ max: 3 }), (body, space, offset) => {
      const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(JSON.stringify(body, null, space))]).subarray(
        offset
      )
      const job = { protocol: 'completions', apiMode: 'v1', bytes, context: { requestId: 'r' } } as const
      const short = outcome(() => relay.translate(job))
      if (short === undefined) return
      counts[typeof short === 'object' && short !== null && 'code' in short ? 'refused' : 'relayed']++
      if (
        !isDeepStrictEqual(
          short,
          outcome(() => translateChat(job, environment))
        )
      )
        throw new Error('another result')
    }),
    { numRuns: 3000 }
  )
  if (fc.areRunsFull) t.ok(counts.relayed > 50, `${counts.relayed} bodies are relayed`)
  if (fc.areRunsFull) t.ok(counts.refused > 50, `${counts.refused} bodies are refused`)
})

t.test('the short way of a response has the result of the general way', async t => {
  let relayed = 0
  const scalar = mostly<unknown>(fc.constantFrom(null, 1, true, 'x'), 'upstream-model', '\\u00fcpstream')
  const message = fc.record(
    {
      content: mostly<unknown>(text, '<think>hm</think>yes', '\u00a0<think>a', 'upstream-model', null),
      refusal: mostly<unknown>(fc.constant(null), '', 'no', []),
      function_call: mostly<unknown>(fc.constant(undefined), null, []),
      annotations: mostly<unknown>(fc.constant([]), [{}]),
      tool_calls: mostly<unknown>(fc.constantFrom(null, []), [
        { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
      ]),
      reasoning_content: mostly<unknown>(fc.constant(null), 'hm'),
      vendor: mostly<unknown>(fc.constant(undefined), 'x')
    },
    { requiredKeys: ['content'] }
  )
  const count = mostly<unknown>(fc.constantFrom(0, 12, null), -1, 'x')
  const counts = { prompt_tokens: count, completion_tokens: count, total_tokens: count }
  const details = fc.record({ cached_tokens: count, vendor: scalar })
  const usage = fc.record({ ...counts, prompt_tokens_details: details, vendor: scalar }, { requiredKeys: [] })
  const more = fc.record(
    {
      usage: mostly<unknown>(usage, null, 'x', { a: { b: { c: 1 } } }),
      id: mostly<unknown>(fc.constant('a'), null, 'upstream-model'),
      created: mostly<unknown>(fc.constantFrom(1, 1.5), '1'),
      object: mostly(fc.constant('chat.completion'), 'other'),
      model: mostly<unknown>(fc.constantFrom('upstream-model', 'alias'), 7),
      error: mostly<unknown>(fc.constant(null), { message: 'm' }, false),
      message: mostly<unknown>(fc.constant(null), 'm'),
      system_fingerprint: scalar,
      vendor: mostly(scalar, { route: ['x'] })
    },
    { requiredKeys: [] }
  )
  const reason = mostly<unknown>(fc.constantFrom('stop', 'length', 'content_filter'), 'tool_calls', 'eos', '', null)
  fc.assert(
    fc.property(message, reason, more, (message, reason, more) => {
      const bytes = answer(message, reason, more)
      const short = relayPlainResponse(bytes, 'alias')
      if (short === undefined) return
      relayed++
      const general = openReader().relayBody?.(bytes, { publicModel: 'alias', wantsEvents: true })
      if (!isDeepStrictEqual(short.bytes?.toString(), general?.bytes?.toString())) throw new Error('other bytes')
      const usage = general?.events.filter(event => event.type === 'usage')
      if (!isDeepStrictEqual(short.events, usage)) throw new Error('another usage')
    }),
    { numRuns: 3000 }
  )
  if (fc.areRunsFull) t.ok(relayed > 50, `${relayed} responses are relayed`)
})
