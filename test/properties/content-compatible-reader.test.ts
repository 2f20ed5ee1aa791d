import t from 'tap'
import { accumulateEvents, GatewayError, type NormalizedEvent } from '../../worker/normalized/index.ts'
import { contentCompatibleTokenCount } from '../../worker/protocols/content/provider/count-tokens.ts'
import { contentCompatibleEmbeddings } from '../../worker/protocols/content/provider/embeddings.ts'
import { findError, readError } from '../../worker/protocols/content/provider/errors.ts'
import { contentCompatibleModelList } from '../../worker/protocols/content/provider/models.ts'
import * as fc from '../support/properties.ts'
import { checkGrammar } from '../worker/normalized/grammar.ts'
import { openReader, readStream, readWhole, writeFrames } from '../worker/protocols/content/provider/support.ts'
import { writeLines } from '../worker/protocols/native/support.ts'

const text = fc.oneof(
  fc.constantFrom(' ', '\n', '"', '\\', '<', 'ä€😀', '{"error"', 'data: ', '}', ']'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 })
)
const anything = fc.jsonValue({ maxDepth: 2 })
const signature = fc.option(fc.base64String({ minLength: 4, maxLength: 8 }), { nil: undefined })

/** A part of a response, whose text a stream may send in pieces. */
const plannedPart = fc.oneof(
  fc.record({ text: fc.array(text, { minLength: 1, maxLength: 3 }), thought: fc.boolean(), signature }),
  fc.record({
    name: fc.constantFrom('f', 'g'),
    id: fc.option(fc.constantFrom('a', 'b', 'a b'), { nil: undefined }),
    args: fc.option(fc.dictionary(fc.constantFrom('a', 'b"}'), fc.oneof(fc.nat(), text), { maxKeys: 2 }), {
      nil: undefined
    }),
    signature
  })
)

const plan = fc.record({
  parts: fc.array(plannedPart, { maxLength: 5 }),
  reason: fc.constantFrom('STOP', 'MAX_TOKENS', 'SAFETY', 'OTHER', 'BLOCKLIST'),
  usage: fc.option(fc.record({ promptTokenCount: fc.nat(), candidatesTokenCount: fc.nat() }), { nil: undefined }),
  hasUsageEverywhere: fc.boolean(),
  hasReasonEverywhere: fc.boolean(),
  /** A signature comes on the text itself, or on an empty text behind it. */
  isSignedApart: fc.boolean(),
  partsOfChunk: fc.integer({ min: 1, max: 4 }),
  framing: fc.constantFrom<'sse' | 'crlf' | 'list' | 'pretty'>('sse', 'crlf', 'list', 'pretty')
})

type Plan = typeof plan extends fc.Arbitrary<infer Value> ? Value : never

function listParts({ parts, isSignedApart }: Plan, isWhole: boolean): object[] {
  return parts.flatMap(part => {
    const signed = part.signature === undefined ? {} : { thoughtSignature: part.signature }
    if (!('text' in part)) {
      const { name, id, args } = part
      const call = { name, ...(id === undefined ? {} : { id }), ...(args === undefined ? {} : { args }) }
      return [{ functionCall: call, ...signed }]
    }
    const kind = part.thought ? { thought: true } : {}
    const pieces: object[] = (isWhole ? [part.text.join('')] : part.text).map(piece => ({ text: piece, ...kind }))
    if (part.signature === undefined) return pieces
    if (isSignedApart && !isWhole) return [...pieces, { text: '', ...kind, ...signed }]
    return [...pieces.slice(0, -1), { ...pieces.at(-1), ...signed }]
  })
}

function writeStream(planned: Plan): Buffer {
  const { reason, usage, hasUsageEverywhere, hasReasonEverywhere, partsOfChunk, framing } = planned
  const counts = usage === undefined ? {} : { usageMetadata: usage }
  const parts = listParts(planned, false)
  const chunks: object[] = []
  for (let at = 0; at < parts.length; at += partsOfChunk) {
    const finishReason = hasReasonEverywhere ? { finishReason: reason } : {}
    const content = { role: 'model', parts: parts.slice(at, at + partsOfChunk) }
    chunks.push({
      candidates: [{ content, ...finishReason }],
      modelVersion: 'm',
      ...(hasUsageEverywhere ? counts : {})
    })
  }
  chunks.push({ candidates: [{ finishReason: reason }], modelVersion: 'm', ...counts })
  switch (framing) {
    case 'sse':
      return writeFrames(chunks)
    case 'crlf':
      return Buffer.from(writeFrames(chunks).toString().replaceAll('\n', '\r\n'))
    case 'list':
      return Buffer.from(`[${chunks.map(chunk => JSON.stringify(chunk)).join(',\r\n')}]`)
    case 'pretty':
      return Buffer.from(JSON.stringify(chunks, null, 2))
  }
}

function writeWhole(planned: Plan): Buffer {
  const { reason, usage } = planned
  const content = { role: 'model', parts: listParts(planned, true) }
  const counts = usage === undefined ? {} : { usageMetadata: usage }
  return Buffer.from(JSON.stringify({ candidates: [{ content, finishReason: reason }], modelVersion: 'm', ...counts }))
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

t.test('a stream that is cut off never ends well', async t => {
  fc.assert(
    fc.property(plan, fc.nat(), (planned, at) => {
      const bytes = writeStream({ ...planned, hasReasonEverywhere: false })
      // The last chunk has the reason: all of it may arrive while the end of a list does not.
      const end = bytes.lastIndexOf('"finishReason"')
      const events = readStream([bytes.subarray(0, at % end)])
      assertGrammar(events)
      if (events.at(-1)?.type !== 'error') throw new Error('a fragment was taken for a response')
    }),
    { numRuns: 500 }
  )
  t.pass()
})

const odd = <Value>(usual: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 8, arbitrary: usual as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: anything })
const part = fc.record(
  {
    text: odd(text),
    thought: odd(fc.boolean()),
    thoughtSignature: odd(signature),
    functionCall: odd(
      fc.record({ name: odd(fc.constant('f')), args: odd(fc.constant({ a: 1 })) }, { requiredKeys: [] })
    ),
    inlineData: odd(fc.record({ mimeType: odd(fc.constant('image/png')), data: odd(fc.constant('aGk=')) })),
    executableCode: anything
  },
  { requiredKeys: [] }
)
const candidate = fc.record(
  {
    index: odd(fc.constantFrom(0, 0, 0, 1)),
    content: odd(fc.record({ role: odd(fc.constant('model')), parts: odd(fc.array(odd(part), { maxLength: 3 })) })),
    finishReason: odd(fc.constantFrom('', 'STOP', 'MAX_TOKENS', 'MALFORMED_FUNCTION_CALL', 'TIRED'))
  },
  { requiredKeys: [] }
)
const payload = fc.record(
  {
    candidates: odd(fc.array(odd(candidate), { maxLength: 2 })),
    promptFeedback: odd(fc.record({ blockReason: odd(fc.constantFrom('SAFETY', 'BLOCKLIST')) })),
    usageMetadata: odd(fc.constantFrom(null, { promptTokenCount: 1 }, { thoughtsTokenCount: 2 })),
    modelVersion: odd(fc.constant('m')),
    responseId: odd(fc.constant('r')),
    error: fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: anything })
  },
  { requiredKeys: [] }
)

t.test('any frames give events of the grammar, and nothing but a GatewayError', async t => {
  const frame = fc.oneof(payload, anything)
  const line = fc.oneof(
    frame.map(value => `data: ${JSON.stringify(value)}\n\n`),
    frame.map(value => `${JSON.stringify(value, null, 1)}\n`),
    fc.constantFrom('data: [DONE]\n\n', '\n', ': x\n', '[\n', ',\n', ']\n', 'event: error\n')
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), cuts, (lines, cuts) => {
      const bytes = Buffer.from(lines.join(''))
      const events = readStream(cut(bytes, cuts))
      assertGrammar(events)
      if (writeLines(events) !== writeLines(readStream([bytes]))) throw new Error('the place of the cut matters')
    }),
    { numRuns: 2000 }
  )
  t.pass()
})

t.test('any body is read or refused, never partly read', async t => {
  fc.assert(
    fc.property(fc.oneof(payload, anything), body => assertGrammar(readWhole(Buffer.from(JSON.stringify(body))))),
    { numRuns: 1500 }
  )
  t.pass()
})

t.test('any bytes are refused with a GatewayError', async t => {
  const head = { status: 400, headers: {} }
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom('', 'data: ', 'data: {"candidates":[', '{"error":', '[{'),
      (bytes, prefix) => {
        const body = Buffer.concat([Buffer.from(prefix), bytes])
        assertGrammar(readWhole(body))
        assertGrammar(readStream([body]))
        if (!GatewayError.is(readError(head, body))) throw new Error('no error')
      }
    ),
    { numRuns: 500 }
  )
  const detail = fc.record({ reason: odd(fc.constant('API_KEY_INVALID')), retryDelay: odd(fc.constant('1s')) })
  const error = fc.record({
    code: odd(fc.constantFrom(400, 429)),
    status: odd(fc.constantFrom('UNAVAILABLE', 'NOT_FOUND')),
    message: odd(text),
    details: odd(fc.array(odd(detail), { maxLength: 3 }))
  })
  const body = fc.oneof(fc.record({ error: odd(error) }), payload, anything)
  fc.assert(
    fc.property(body, fc.nat({ max: 2 }), (body, count) => {
      if (typeof body === 'object' && body !== null) findError(body as Record<string, unknown>)
      if (!GatewayError.is(readError(head, Buffer.from(JSON.stringify(body))))) throw new Error('no error')
      for (const read of [
        () => contentCompatibleEmbeddings.read(body, { count, head }),
        () => contentCompatibleTokenCount.read(body, { count }),
        () => contentCompatibleModelList.read(body)
      ]) {
        try {
          read()
        } catch (thrown) {
          if (!GatewayError.is(thrown)) throw thrown
        }
      }
    }),
    { numRuns: 1000 }
  )
  t.pass()
})

t.test('a reader that was cut off takes nothing more', async t => {
  const reader = openReader()
  reader.push(Buffer.from('{"error":{"code":500}}\n'))
  t.strictSame(reader.push(writeFrames([{ candidates: [] }])), [])
  t.strictSame(reader.end(), [])
})
