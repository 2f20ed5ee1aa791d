import assert from 'node:assert/strict'
import { ApiError } from '@google/genai'
import t from 'tap'
import {
  accumulateEvents,
  createStopSequenceFilter,
  EventAssembler,
  GatewayError,
  type JsonObject,
  type NormalizedEvent
} from '../../worker/normalized/index.ts'
import { createContentArrayWriter, createContentStreamWriter } from '../../worker/protocols/content/client/stream.ts'
import { writeContentResponse } from '../../worker/protocols/content/client/write-response.ts'
import * as fc from '../support/properties.ts'
import { createSdk } from '../worker/protocols/content/client/sdk.ts'
import { responseContext, withEnum, withThoughts } from '../worker/protocols/content/client/support.ts'
import { joinParts, readArrayStream, readEventStream } from './content-chunks.ts'
import { playResponse, type RandomResponse, randomResponse } from './random-responses.ts'

/** Adds to the shared random responses: the provider's finish reason, and state on a thought. */
const extras = fc.record({
  response: randomResponse,
  providerReason: fc.constantFrom(null, 'stop', 'blacklist', 'request_filter', 'weird', 'RECITATION', 'CONTINUATION'),
  thoughtSignature: fc.option(fc.constant('c2ln')),
  showsThoughts: fc.boolean()
})
type Extras = typeof extras extends fc.Arbitrary<infer Value> ? Value : never

function play({ response, providerReason, thoughtSignature }: Extras, error?: GatewayError): NormalizedEvent[][] {
  const decorate = (event: NormalizedEvent): NormalizedEvent => {
    if (event.type === 'finish') return { ...event, providerReason }
    if (event.type !== 'reasoning-end' || thoughtSignature === null) return event
    return { ...event, state: { content_compatible: { thoughtSignature } } }
  }
  return playResponse(response, error).map(read => read.map(decorate))
}

const bodyOf = ({ showsThoughts }: Extras): JsonObject => (showsThoughts ? withThoughts : {})

/** The text of a stream, and apart from it the error that is a chunk of its own. */
function writeApart(
  createWriter: typeof createContentStreamWriter,
  reads: NormalizedEvent[][],
  body: JsonObject
): { text: string; brokenEnd: string | undefined } {
  const writer = createWriter(responseContext(body))
  const text = reads.map(read => writer.write(read)).join('')
  if (writer.write(reads.flat()) !== '') throw new Error('Something was written after the end.')
  return { text, brokenEnd: writer.brokenEnd }
}

function write(createWriter: typeof createContentStreamWriter, reads: NormalizedEvent[][], body: JsonObject): string {
  const { text, brokenEnd = '' } = writeApart(createWriter, reads, body)
  return text + brokenEnd
}

/** Reads the bytes of a stream, cut at one place, with the SDK. The body breaks off after `brokenEnd`. */
async function readWithSdk(text: string, cut: number, brokenEnd?: string) {
  const bytes = Buffer.from(text)
  const at = bytes.length === 0 ? 0 : cut % bytes.length
  const pieces = [bytes.subarray(0, at), bytes.subarray(at)].filter(piece => piece.length > 0)
  if (brokenEnd !== undefined) pieces.push(Buffer.from(brokenEnd))
  const body = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift()
      if (piece !== undefined) controller.enqueue(piece)
      else if (brokenEnd === undefined) controller.close()
      else controller.error(new TypeError('terminated'))
    }
  })
  const sdk = createSdk(() => new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
  const chat = sdk.chats.create({ model: 'm' })
  const chunks = []
  for await (const chunk of await chat.sendMessageStream({ message: 'hi' })) chunks.push(chunk)
  return { chunks, history: chat.getHistory(true) }
}

t.test('every response is a valid stream for the SDK, in both forms (A7, A17, A21, G1, G2)', async () => {
  fc.assert(
    fc.property(extras, extras => {
      const reads = play(extras)
      const asEvents = readEventStream(write(createContentStreamWriter, reads, bodyOf(extras)))
      const asArray = readArrayStream(write(createContentArrayWriter, reads, bodyOf(extras)))
      assert.equal(asEvents.error, undefined)
      assert.deepEqual(asArray, asEvents)
    }),
    { numRuns: 500 }
  )
})

t.test('the chunks of every stream add up to the whole response (A2, A6, B1, B2, B3)', async () => {
  fc.assert(
    fc.property(extras, extras => {
      const reads = play(extras)
      const { chunks } = readEventStream(write(createContentStreamWriter, reads, bodyOf(extras)))
      const whole = writeContentResponse(accumulateEvents(reads.flat()), responseContext(bodyOf(extras)))
      const last = chunks.at(-1)!
      const [{ content: _content, ...candidate }] = last.candidates
      const { content, safetyRatings, ...wholeCandidate } = whole.candidates[0]
      assert.deepEqual(joinParts(chunks), content.parts)
      assert.deepEqual(safetyRatings, [])
      assert.deepEqual(candidate, wholeCandidate)
      assert.deepEqual({ ...last, candidates: [] }, { ...whole, candidates: [] })
    }),
    { numRuns: 500 }
  )
})

t.test('the chunks add up to the same response wherever the upstream cuts it (B3)', async () => {
  fc.assert(
    fc.property(extras, extras => {
      const reads = play(extras)
      const pieces = readEventStream(write(createContentStreamWriter, reads, bodyOf(extras)))
      const once = readEventStream(write(createContentStreamWriter, [reads.flat()], bodyOf(extras)))
      assert.deepEqual(joinParts(once.chunks), joinParts(pieces.chunks))
    }),
    { numRuns: 200 }
  )
})

t.test('the official SDK reads every stream, and its chat keeps the turn (A12, A13)', async () => {
  await fc.assert(
    fc.asyncProperty(extras, fc.nat(), async (extras, cut) => {
      const text = write(createContentStreamWriter, play(extras), bodyOf(extras))
      const expected = readEventStream(text).chunks
      const { chunks, history } = await readWithSdk(text, cut)
      assert.deepEqual(
        chunks.map(chunk => chunk.candidates?.[0]?.content),
        expected.map(chunk => chunk.candidates[0].content)
      )
      assert.equal(chunks.at(-1)?.candidates?.[0]?.finishReason, expected.at(-1)?.candidates[0].finishReason)
      assert.equal(history.length, 1 + expected.length)
    }),
    { numRuns: 150 }
  )
})

t.test('an error at any place ends the stream, and the official SDK throws it (A14, G5)', async () => {
  await fc.assert(
    fc.asyncProperty(extras, fc.nat(), async (extras, cut) => {
      const error = new GatewayError('provider_timeout')
      const reads = play(extras, error)
      const { text, brokenEnd = '' } = writeApart(createContentStreamWriter, reads, bodyOf(extras))
      const read = readEventStream(text + brokenEnd)
      assert.equal(read.error?.status, 'DEADLINE_EXCEEDED')
      assert.deepEqual(readArrayStream(write(createContentArrayWriter, reads, bodyOf(extras))), read)
      const thrown = await readWithSdk(text, cut, brokenEnd).then(
        () => undefined,
        (thrown: unknown) => thrown
      )
      assert.ok(thrown instanceof ApiError && thrown.status === 504)
    }),
    { numRuns: 100 }
  )
})

t.test('a response that is cut at a stop string is a valid stream, equal to the whole response', async () => {
  const stop = fc.constantFrom('a', 'e', ' ', 'ab')
  fc.assert(
    fc.property(extras, stop, (extras, stop) => {
      const filter = createStopSequenceFilter([stop])
      const reads = play(extras).map(read => filter.push(read))
      const { chunks } = readEventStream(write(createContentStreamWriter, reads, bodyOf(extras)))
      const events = reads.flat()
      const whole = writeContentResponse(accumulateEvents(events), responseContext(bodyOf(extras)))
      assert.deepEqual(joinParts(chunks), whole.candidates[0].content.parts)
      assert.equal(chunks.at(-1)?.candidates[0].finishReason, whole.candidates[0].finishReason)
      if (filter.match === undefined) return
      // A refusal before the stop string keeps its finish reason.
      const isRefused = events.some(event => event.type === 'refusal-delta')
      assert.equal(whole.candidates[0].finishReason, isRefused ? 'SAFETY' : 'STOP')
    }),
    { numRuns: 200 }
  )
})

t.test('an enum is a bare string wherever its JSON text is cut', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.array(fc.nat(), { maxLength: 4 }), (value, cuts) => {
      const json = ` ${JSON.stringify(value)}\n`
      const at = [0, ...cuts.map(cut => cut % json.length).sort((left, right) => left - right), json.length]
      const assembler = new EventAssembler()
      const reads: NormalizedEvent[][] = []
      assembler.start({ providerModel: null, metadata: {} })
      for (const [index, from] of at.entries()) {
        assembler.text(json.slice(from, at[index + 1]))
        reads.push(assembler.take())
      }
      assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: {} }, null)
      reads.push(assembler.take())
      const { chunks } = readEventStream(write(createContentStreamWriter, reads, withEnum))
      assert.deepEqual(joinParts(chunks), [{ text: value }])
      const whole = writeContentResponse(accumulateEvents(reads.flat()), responseContext(withEnum))
      assert.deepEqual(whole.candidates[0].content.parts, [{ text: value }])
    }),
    { numRuns: 300 }
  )
})

t.test('an empty response is one valid chunk (G5)', async () => {
  const empty: RandomResponse = { steps: [], start: {}, end: { reason: 'stop', metadata: {}, usage: null } }
  const { chunks } = readEventStream(write(createContentStreamWriter, playResponse(empty), {}))
  assert.equal(chunks.length, 1)
})

t.test('the sources of runs that end in another order have the same order as in the whole response', async () => {
  const end = (index: number, url: string): NormalizedEvent => ({
    type: 'hosted-tool-end',
    index,
    status: 'completed',
    sources: [{ id: '1', url, title: 'T' }]
  })
  const assembler = new EventAssembler()
  assembler.start({ providerModel: null, metadata: {} })
  const started = assembler.take()
  const runs: NormalizedEvent[] = [0, 1].map(index => ({
    type: 'hosted-tool-start',
    index,
    kind: 'web_search',
    name: 'web_search'
  }))
  assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: {} }, null)
  const reads = [started, runs, [end(1, 'http://b.example/'), end(0, 'http://a.example/')], assembler.take()]
  const { chunks } = readEventStream(write(createContentStreamWriter, reads, {}))
  const whole = writeContentResponse(accumulateEvents(reads.flat()), responseContext({}))
  assert.deepEqual(chunks.at(-1)!.candidates[0].groundingMetadata, whole.candidates[0].groundingMetadata)
})

t.test('thoughts around a call that was cut off are separated as in the whole response', async () => {
  const events: NormalizedEvent[] = [
    { type: 'start', providerModel: null, metadata: {} },
    { type: 'reasoning-start' },
    { type: 'reasoning-delta', text: 'a' },
    { type: 'reasoning-end' },
    { type: 'tool-call-start', index: 0, id: 'c1', name: 'weather' },
    { type: 'tool-call-end', index: 0 },
    { type: 'reasoning-start' },
    { type: 'reasoning-delta', text: 'b' },
    { type: 'reasoning-end' },
    { type: 'finish', reason: 'length', providerReason: null, metadata: {} }
  ]
  const { chunks } = readEventStream(
    write(
      createContentStreamWriter,
      events.map(event => [event]),
      withThoughts
    )
  )
  assert.deepEqual(joinParts(chunks), [{ text: 'a\nb', thought: true }])
})
