import t from 'tap'
import { accumulateEvents, GatewayError, type NormalizedEvent } from '../../worker/normalized/index.ts'
import { messagesCompatibleFace } from '../../worker/protocols/messages/provider/face.ts'
import * as fc from '../support/properties.ts'
import { checkGrammar } from '../worker/normalized/grammar.ts'
import {
  answer,
  delta,
  inputDelta,
  messageDelta,
  messageStart,
  messageStop,
  openReader,
  readStream,
  readWhole,
  start,
  stop,
  textDelta,
  writeFrames
} from '../worker/protocols/messages/provider/support.ts'
import { writeLines } from '../worker/protocols/native/support.ts'

const piece = fc.oneof(
  fc.constantFrom(' ', '\n', '"', '\\', '<', 'ä€😀', '{'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 })
)
const anything = fc.jsonValue({ maxDepth: 2 })
const input = fc.dictionary(fc.constantFrom('a', 'b"}'), fc.oneof(fc.nat(), fc.constantFrom('{', '"')), { maxKeys: 2 })

const block = fc.oneof(
  fc.record({ type: fc.constant('text' as const), pieces: fc.array(piece, { minLength: 1, maxLength: 4 }) }),
  fc.record({
    type: fc.constant('thinking' as const),
    pieces: fc.array(piece, { maxLength: 3 }),
    signature: fc.constantFrom('c2ln', 'c2lnMg==')
  }),
  fc.record({ type: fc.constant('redacted_thinking' as const), data: fc.constantFrom('eA==', 'eQ==') }),
  fc.record({ type: fc.constant('tool_use' as const), name: fc.constantFrom('f', 'g'), input }),
  fc.record({ type: fc.constant('server_tool_use' as const), name: fc.constant('web_search'), input })
)

/** The whole plan of a response, from which a whole response and streams of several dialects are written. */
const plan = fc.record({
  blocks: fc.array(block, { maxLength: 6 }),
  reason: fc.constantFrom('end_turn', 'max_tokens', 'tool_use', 'refusal', 'eos'),
  usage: fc.record({ input_tokens: fc.nat(), cache_read_input_tokens: fc.nat(), output_tokens: fc.nat() }),
  hasPings: fc.boolean(),
  hasStops: fc.boolean(),
  hasMarker: fc.boolean(),
  isNamed: fc.boolean(),
  isWholeInput: fc.boolean(),
  pieceLength: fc.integer({ min: 1, max: 7 })
})

type Plan = typeof plan extends fc.Arbitrary<infer Value> ? Value : never
type Block = Plan['blocks'][number]

function writeBlockFrames(block: Block, index: number, { isWholeInput, pieceLength }: Plan): object[] {
  switch (block.type) {
    case 'text':
      return [start(index, { type: 'text', text: '' }), ...block.pieces.map(text => textDelta(index, text))]
    case 'thinking':
      return [
        start(index, { type: 'thinking', thinking: '', signature: '' }),
        ...block.pieces.map(thinking => delta(index, { type: 'thinking_delta', thinking })),
        delta(index, { type: 'signature_delta', signature: block.signature })
      ]
    case 'redacted_thinking':
      return [start(index, block)]
    case 'server_tool_use':
    case 'tool_use': {
      const { type, name } = block
      const id = `toolu_${index}`
      if (isWholeInput) return [start(index, { type, id, name, input: block.input })]
      const text = JSON.stringify(block.input)
      const pieces: object[] = []
      for (let at = 0; at < text.length; at += pieceLength)
        pieces.push(inputDelta(index, text.slice(at, at + pieceLength)))
      return [start(index, { type, id, name, input: {} }), ...pieces]
    }
  }
}

function writeStream(planned: Plan): Buffer {
  const { blocks, reason, usage, hasPings, hasStops, hasMarker, isNamed } = planned
  const ping = hasPings ? [{ type: 'ping' }] : []
  const frames = [
    messageStart({ usage: { ...usage, output_tokens: 0 } }),
    ...ping,
    ...blocks.flatMap((block, index) => [
      ...writeBlockFrames(block, index, planned),
      ...ping,
      ...(hasStops ? [stop(index)] : [])
    ]),
    messageDelta(reason, {}, { output_tokens: usage.output_tokens }),
    messageStop,
    ...(hasMarker ? ['[DONE]'] : [])
  ]
  return writeFrames(
    isNamed ? frames : frames.map(frame => (typeof frame === 'string' ? frame : JSON.stringify(frame)))
  )
}

function writeWholeBlock(block: Block, index: number): object {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.pieces.join('') }
    case 'thinking':
      return { type: 'thinking', thinking: block.pieces.join(''), signature: block.signature }
    case 'redacted_thinking':
      return block
    case 'server_tool_use':
    case 'tool_use':
      return { ...block, id: `toolu_${index}` }
  }
}

function writeWhole({ blocks, reason, usage }: Plan): Buffer {
  return answer(blocks.map(writeWholeBlock), reason, { usage })
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
      if (events.at(-1)?.type !== 'finish') throw new Error('the response has no good end')
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
      const bytes = writeStream({ ...planned, hasMarker: false })
      const end = bytes.indexOf('"message_delta"')
      const events = readStream([bytes.subarray(0, at % end)])
      assertGrammar(events)
      if (events.at(-1)?.type !== 'error') throw new Error('a cut stream ended as a whole one')
    }),
    { numRuns: 500 }
  )
  t.pass()
})

const odd = <Value>(usual: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 6, arbitrary: usual as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: anything })
const index = odd(fc.nat({ max: 2 }))
const contentBlock = fc.record(
  {
    type: odd(fc.constantFrom('text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use')),
    text: odd(piece),
    thinking: odd(piece),
    signature: odd(fc.constantFrom('', 's')),
    data: odd(fc.constantFrom('', 'x')),
    id: odd(fc.constantFrom('a', 'b', '')),
    name: odd(fc.constantFrom('f', '')),
    input: odd(fc.constant({}))
  },
  { requiredKeys: ['type'] }
)
const blockDelta = fc.record(
  {
    type: odd(
      fc.constantFrom('text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta', 'citations_delta')
    ),
    text: odd(piece),
    thinking: odd(piece),
    signature: odd(fc.constant('s')),
    partial_json: odd(fc.constantFrom('{', '}', '{}'))
  },
  { requiredKeys: ['type'] }
)
const usage = odd(fc.record({ input_tokens: odd(fc.nat()), output_tokens: odd(fc.nat()) }, { requiredKeys: [] }))
const message = fc.record(
  {
    type: odd(fc.constant('message')),
    id: odd(fc.constant('msg_1')),
    model: odd(fc.constant('m')),
    content: odd(fc.array(odd(contentBlock), { maxLength: 3 })),
    stop_reason: odd(fc.constantFrom(null, '', 'end_turn', 'tool_use')),
    usage,
    error: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: anything })
  },
  { requiredKeys: ['content'] }
)
const frame = fc.oneof(
  fc.record({ type: fc.constant('message_start'), message: odd(message) }),
  fc.record({ type: fc.constant('content_block_start'), index, content_block: odd(contentBlock) }),
  fc.record({ type: fc.constant('content_block_delta'), index, delta: odd(blockDelta) }),
  fc.record({ type: fc.constant('content_block_stop'), index }),
  fc.record({
    type: fc.constant('message_delta'),
    delta: odd(fc.record({ stop_reason: odd(fc.constantFrom(null, 'end_turn', 'eos')), stop_sequence: anything })),
    usage
  }),
  fc.constantFrom({ type: 'message_stop' }, { type: 'ping' }, { type: 'error', error: {} }, { type: 'odd' }),
  anything
)

t.test('any frames give events of the grammar, and nothing but a GatewayError', async t => {
  const frames = fc.tuple(fc.boolean(), fc.array(frame, { maxLength: 10 }))
  fc.assert(
    fc.property(frames, cuts, ([isStarted, frames], cuts) => {
      const all = isStarted ? [messageStart(), ...frames] : frames
      const bytes = writeFrames(all.map(one => JSON.stringify(one)))
      const events = readStream(cut(bytes, cuts))
      assertGrammar(events)
      const last = events.at(-1)?.type
      if (last !== 'finish' && last !== 'error') throw new Error('the stream has no end')
    }),
    { numRuns: 3000 }
  )
  t.pass()
})

t.test('any body is read or refused, never partly read', async t => {
  fc.assert(
    fc.property(fc.oneof(message, anything), body => {
      assertGrammar(readWhole(Buffer.from(JSON.stringify(body))))
    }),
    { numRuns: 1500 }
  )
  t.pass()
})

t.test('any bytes are refused with a GatewayError', async t => {
  const head = { status: 400, headers: {} }
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom('', 'data: ', 'data: {"type":"message_start"'),
      (bytes, prefix) => {
        const body = Buffer.concat([Buffer.from(prefix), bytes])
        assertGrammar(readWhole(body))
        assertGrammar(readStream([body]))
        if (!GatewayError.is(messagesCompatibleFace.readError(head, body))) throw new Error('no error')
      }
    ),
    { numRuns: 500 }
  )
  fc.assert(
    fc.property(fc.oneof(message, anything), fc.nat({ max: 2 }), (body, count) => {
      for (const read of [
        () => messagesCompatibleFace.countTokens?.read(body, { count }),
        () => messagesCompatibleFace.models?.read(body)
      ]) {
        try {
          read()
        } catch (thrown) {
          if (!GatewayError.is(thrown)) throw thrown
        }
      }
    }),
    { numRuns: 500 }
  )
  t.pass()
})

t.test('frames that are read as text of a known form give the same events as frames that are parsed', async t => {
  fc.assert(
    fc.property(fc.array(fc.array(piece, { maxLength: 6 }), { maxLength: 3 }), blocks => {
      const write = (writeDelta: (index: number, text: string, at: number) => object) =>
        writeFrames([
          messageStart(),
          ...blocks.flatMap((pieces, index) => [
            start(index, { type: 'text', text: '' }),
            ...pieces.map((text, at) => writeDelta(index, text, at)),
            stop(index)
          ]),
          messageDelta(),
          messageStop
        ])
      const same = write(textDelta)
      // A member that differs in every frame has to be parsed.
      const parsed = write((index, text, at) => ({ ...textDelta(index, text), note: 'x'.repeat(at) }))
      if (writeLines(readStream([same])) !== writeLines(readStream([parsed]))) throw new Error('different events')
    }),
    { numRuns: 300 }
  )
  t.pass()
})

t.test('the nonces of a reader make ids that are unique', async t => {
  const used = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', '', 'a.b'), { maxLength: 8 }), ids => {
      const events = openReader().readBody(answer(ids.map(used), 'tool_use'))
      const issued = events.flatMap(event => (event.type === 'tool-call-start' ? [event.id] : []))
      if (new Set(issued).size !== ids.length) throw new Error('two calls have one id')
      if (!issued.every(id => /^[a-zA-Z0-9_-]{1,40}$/.test(id))) throw new Error('an id of another form')
    }),
    { numRuns: 200 }
  )
  t.pass()
})
