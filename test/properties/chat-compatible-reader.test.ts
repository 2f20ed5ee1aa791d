import t from 'tap'
import { accumulateEvents, GatewayError, type NormalizedEvent } from '../../worker/normalized/index.ts'
import { chatCompatibleEmbeddings } from '../../worker/protocols/completions/provider/embeddings.ts'
import { findExternalError, readExternalError } from '../../worker/protocols/shared/errors/external-error.ts'
import * as fc from '../support/properties.ts'
import { checkGrammar } from '../worker/normalized/grammar.ts'
import { openReader, readStream, readWhole, writeFrames } from '../worker/protocols/completions/provider/support.ts'
import { writeLines } from '../worker/protocols/native/support.ts'

const piece = fc.oneof(
  fc.constantFrom('<think>', '</think>', '<th', 'ink>', '</', ' ', '\n', '"', '\\', '<', 'ä€😀'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 })
)
const anything = fc.jsonValue({ maxDepth: 2 })

/** The whole plan of a response, from which a whole response and streams of several dialects are written. */
const plan = fc.record({
  reasoning: fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }), { maxLength: 3 }),
  text: fc.array(piece, { maxLength: 5 }),
  refusal: fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }), { maxLength: 2 }),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom('f', 'g'),
      arguments: fc.dictionary(fc.constantFrom('a', 'b"}'), fc.oneof(fc.nat(), fc.constantFrom('{', '"')), {
        maxKeys: 2
      })
    }),
    { maxLength: 4 }
  ),
  reason: fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter'),
  usage: fc.option(fc.record({ prompt_tokens: fc.nat(), completion_tokens: fc.nat() }), { nil: undefined }),
  reasoningMember: fc.constantFrom('reasoning_content', 'reasoning'),
  isInterleaved: fc.boolean(),
  hasUsageEverywhere: fc.boolean(),
  hasIndex: fc.boolean(),
  hasMarker: fc.boolean(),
  pieceLength: fc.integer({ min: 1, max: 7 })
})

type Plan = typeof plan extends fc.Arbitrary<infer Value> ? Value : never

/** The deltas of all calls: one call after the other, or in turn. */
function writeCallDeltas({ calls, isInterleaved, hasIndex, pieceLength }: Plan): object[] {
  const isIndexed = hasIndex || isInterleaved
  const lists = calls.map((call, index) => {
    const text = JSON.stringify(call.arguments)
    const place = isIndexed ? { index } : {}
    const deltas: object[] = [
      { ...place, id: `id-${index}`, type: 'function', function: { name: call.name, arguments: '' } }
    ]
    for (let at = 0; at < text.length; at += pieceLength) {
      deltas.push({ ...place, function: { arguments: text.slice(at, at + pieceLength) } })
    }
    return deltas
  })
  if (!isInterleaved) return lists.flat()
  const longest = Math.max(0, ...lists.map(list => list.length))
  return Array.from({ length: longest }, (_, at) => lists.flatMap(list => list[at] ?? [])).flat()
}

function writeStream(planned: Plan): Buffer {
  const { reasoning, reasoningMember, text, refusal, reason, usage, hasUsageEverywhere, hasMarker } = planned
  const counts = usage === undefined ? {} : { usage }
  const frame = (delta: object, finish: string | null = null) => ({
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(hasUsageEverywhere ? counts : {})
  })
  return writeFrames([
    frame({ role: 'assistant', content: '' }),
    ...reasoning.map(value => frame({ [reasoningMember]: value, content: null })),
    ...text.map(content => frame({ content })),
    ...refusal.map(value => frame({ refusal: value })),
    ...writeCallDeltas(planned).map(delta => frame({ tool_calls: [delta] })),
    frame({}, reason),
    ...(usage === undefined || hasUsageEverywhere ? [] : [{ choices: [], ...counts }]),
    ...(hasMarker ? ['[DONE]'] : [])
  ])
}

function writeWhole({ reasoning, reasoningMember, text, refusal, calls, reason, usage }: Plan): Buffer {
  const message = {
    role: 'assistant',
    content: text.length === 0 ? null : text.join(''),
    [reasoningMember]: reasoning.join(''),
    refusal: refusal.length === 0 ? null : refusal.join(''),
    tool_calls: calls.map((call, index) => ({
      id: `id-${index}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) }
    }))
  }
  return Buffer.from(JSON.stringify({ model: 'm', choices: [{ index: 0, message, finish_reason: reason }], usage }))
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const borders = [0, ...cuts.map(at => at % (bytes.length + 1)), bytes.length].sort((left, right) => left - right)
  return borders.slice(1).map((border, index) => bytes.subarray(borders[index], border))
}

const cuts = fc.array(fc.nat(), { maxLength: 6 })

function assertGrammar(events: readonly NormalizedEvent[]): void {
  const faults = checkGrammar(events)
  if (faults.length > 0) throw new Error(faults.join('; '))
}

t.test('a stream gives the same events wherever it is cut, and the same response as the whole one (B3)', async t => {
  fc.assert(
    fc.property(plan, cuts, (planned, cuts) => {
      const bytes = writeStream(planned)
      const events = readStream(cut(bytes, cuts))
      assertGrammar(events)
      if (writeLines(events) !== writeLines(readStream([bytes]))) throw new Error('the place of the cut matters')
      const whole = readWhole(writeWhole(planned))
      assertGrammar(whole)
      const streamed = JSON.stringify(accumulateEvents(events))
      const expected = JSON.stringify(accumulateEvents(whole))
      if (streamed !== expected) throw new Error(`${streamed}\n${expected}`)
    }),
    { numRuns: 1000 }
  )
  t.pass()
})

const odd = <Value>(usual: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 6, arbitrary: usual as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: anything })
const callDelta = fc.record(
  {
    index: odd(fc.nat({ max: 2 })),
    id: odd(fc.constantFrom('a', 'b', '')),
    type: odd(fc.constant('function')),
    function: odd(
      fc.record(
        { name: odd(fc.constantFrom('f', 'g')), arguments: odd(fc.constantFrom('{', '}', '{}')) },
        { requiredKeys: [] }
      )
    ),
    extra_content: anything
  },
  { requiredKeys: [] }
)
const message = fc.record(
  {
    role: odd(fc.constant('assistant')),
    content: odd(piece),
    refusal: odd(piece),
    reasoning_content: odd(piece),
    reasoning: odd(piece),
    reasoning_details: odd(
      fc.array(
        fc.record(
          { type: fc.constant('reasoning.text'), text: odd(piece), index: odd(fc.nat({ max: 1 })) },
          { requiredKeys: [] }
        ),
        { maxLength: 2 }
      )
    ),
    tool_calls: odd(fc.array(odd(callDelta), { maxLength: 3 })),
    function_call: odd(
      fc.record({ name: odd(fc.constant('f')), arguments: odd(fc.constant('{}')) }, { requiredKeys: [] })
    )
  },
  { requiredKeys: [] }
)
const choice = fc.record(
  {
    index: odd(fc.constantFrom(0, 0, 0, 1)),
    delta: odd(message),
    finish_reason: odd(fc.constantFrom(null, null, '', 'stop', 'length', 'eos')),
    stop_reason: anything
  },
  { requiredKeys: [] }
)
const payload = fc.record(
  {
    choices: odd(fc.array(odd(choice), { maxLength: 2 })),
    usage: odd(fc.constantFrom(null, { prompt_tokens: 1 })),
    model: odd(fc.constant('m')),
    error: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: anything }),
    message: anything,
    status: odd(fc.constantFrom(200, 429))
  },
  { requiredKeys: ['choices'] }
)

t.test('any frames give events of the grammar, and nothing but a GatewayError', async t => {
  const frames = fc.array(fc.oneof(payload, anything, fc.constant('[DONE]' as const)), { maxLength: 8 })
  fc.assert(
    fc.property(frames, cuts, (frames, cuts) => {
      const bytes = writeFrames(frames.map(frame => (frame === '[DONE]' ? frame : JSON.stringify(frame))))
      const events = readStream(cut(bytes, cuts))
      assertGrammar(events)
      const last = events.at(-1)?.type
      if (last !== 'finish' && last !== 'error') throw new Error('the stream has no end')
    }),
    { numRuns: 1500 }
  )
  t.pass()
})

t.test('any body is read or refused, never partly read', async t => {
  fc.assert(
    fc.property(fc.oneof(payload, anything), body => {
      assertGrammar(readWhole(Buffer.from(JSON.stringify(body).replaceAll('"delta"', '"message"'))))
    }),
    { numRuns: 1000 }
  )
  t.pass()
})

t.test('any bytes are refused with a GatewayError', async t => {
  const head = { status: 400, headers: {} }
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom('', 'data: ', 'data: {"choices":['),
      (bytes, prefix) => {
        const body = Buffer.concat([Buffer.from(prefix), bytes])
        assertGrammar(readWhole(body))
        assertGrammar(readStream([body]))
        if (!GatewayError.is(readExternalError(head, body))) throw new Error('no error')
      }
    ),
    { numRuns: 500 }
  )
  fc.assert(
    fc.property(fc.oneof(payload, anything), fc.nat({ max: 2 }), (body, count) => {
      if (typeof body === 'object' && body !== null) findExternalError(body as Record<string, unknown>)
      try {
        chatCompatibleEmbeddings.read(body, { count, head })
      } catch (thrown) {
        if (!GatewayError.is(thrown)) throw thrown
      }
    }),
    { numRuns: 500 }
  )
  t.pass()
})

t.test('frames that are read as text of a known form give the same events as frames that are parsed', async t => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), texts => {
      const frame = (content: string) => ({
        id: 'x',
        model: 'm',
        choices: [{ index: 0, delta: { content, role: 'assistant' }, logprobs: null, finish_reason: null }],
        usage: null
      })
      const same = writeFrames([...texts.map(frame), { choices: [{ delta: {}, finish_reason: 'stop' }] }])
      // A member that differs in every frame, as some services send it, has to be parsed.
      const other = texts.map((text, index) => ({ ...frame(text), obfuscation: 'x'.repeat(index) }))
      const parsed = writeFrames([...other, { choices: [{ delta: {}, finish_reason: 'stop' }] }])
      if (writeLines(readStream([same])) !== writeLines(readStream([parsed]))) throw new Error('different events')
    }),
    { numRuns: 300 }
  )
  t.pass()
})

t.test('a reader that has ended takes nothing more', async t => {
  const reader = openReader()
  reader.push(writeFrames([{ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] }, '[DONE]']))
  t.same(reader.push(writeFrames(['x'])), [])
  t.same(reader.end(), [])
})
