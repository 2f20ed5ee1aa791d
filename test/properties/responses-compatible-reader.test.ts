// Streams of the Responses wire say the same as the whole response, however they are cut; broken ones end in one error.

import t from 'tap'
import { accumulateEvents, GatewayError, type NormalizedEvent } from '../../worker/normalized/index.ts'
import * as fc from '../support/properties.ts'
import { checkGrammar } from '../worker/normalized/grammar.ts'
import { writeLines } from '../worker/protocols/native/support.ts'
import {
  added,
  answer,
  call,
  created,
  done,
  functionCall,
  message,
  openReader,
  readStream,
  readWhole,
  response,
  stream,
  summaryDelta,
  text,
  textDelta,
  writeFrames
} from '../worker/protocols/responses/provider/support.ts'

const piece = fc.oneof(
  fc.constantFrom(' ', '\n', '"', '\\', '<', 'ä€😀', '{'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 })
)
const pieces = fc.array(piece, { minLength: 1, maxLength: 4 })
const item = fc.oneof(
  fc.record({ type: fc.constant('text' as const), pieces }),
  fc.record({ type: fc.constant('call' as const), pieces }),
  fc.record({ type: fc.constant('reasoning' as const), pieces, encrypted: fc.boolean() })
)
type Item = typeof item extends fc.Arbitrary<infer Value> ? Value : never

function writeItem({ type, pieces, ...more }: Item, index: number): { frames: object[]; whole: object } {
  const joined = pieces.join('')
  switch (type) {
    case 'text':
      return { frames: text(index, ...pieces), whole: message(joined) }
    case 'call':
      return { frames: call(index, `call_${index}`, ...pieces), whole: functionCall(`call_${index}`, joined) }
    case 'reasoning': {
      const encrypted = 'encrypted' in more && more.encrypted === true
      const whole = {
        type: 'reasoning',
        id: `rs_${index}`,
        summary: [{ type: 'summary_text', text: joined }],
        ...(encrypted ? { encrypted_content: 'gAAAA' } : {})
      }
      const start = added(index, { type: 'reasoning', id: `rs_${index}`, summary: [] })
      return { frames: [start, ...pieces.map(one => summaryDelta(index, one)), done(index, whole)], whole }
    }
  }
}

const summarize = (events: readonly NormalizedEvent[]) => JSON.stringify(accumulateEvents(events))

t.test('a stream says what the whole response says, wherever it is cut', async t => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 5 }), fc.integer({ min: 1, max: 40 }), (items, length) => {
      const written = items.map(writeItem)
      const output = written.map(({ whole }) => whole)
      const bytes = stream(
        written.flatMap(({ frames }) => frames),
        output
      )
      const cuts = Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
        bytes.subarray(index * length, (index + 1) * length)
      )
      const events = readStream(cuts)
      const problems = checkGrammar(events)
      if (problems.length > 0) throw new Error(problems.join())
      if (writeLines(events) !== writeLines(readStream([bytes]))) throw new Error('the cuts change the events')
      if (summarize(events) !== summarize(readWhole(answer(output)))) throw new Error('stream and response differ')
    })
  )
  t.pass()
})

const anything = fc.jsonValue({ maxDepth: 3 })
const frame = fc.oneof(
  fc.constantFrom(
    created,
    textDelta(0, 'x'),
    added(0, message('')),
    done(0, message('y')),
    added(1, functionCall('c', ''))
  ),
  fc.constant({ type: 'response.completed', response: response([message('z')]) }),
  fc.record({
    type: fc.constantFrom(
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
      'error',
      'x'
    ),
    output_index: anything,
    item: anything,
    response: anything,
    delta: anything
  }),
  anything.filter(value => typeof value === 'object' && value !== null) as fc.Arbitrary<object>
)

t.test('any order of any events ends in one way, and never in a fault of the program', async t => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), frames => {
      const events = readStream([writeFrames(frames)])
      const problems = checkGrammar(events)
      if (problems.length > 0) throw new Error(problems.join())
      const last = events.at(-1)
      if (last?.type !== 'finish' && last?.type !== 'error') throw new Error('a stream without an end')
    })
  )
  t.pass()
})

t.test('any body is read or refused', async t => {
  fc.assert(
    fc.property(anything, fc.constantFrom('completed', 'incomplete', 'failed', 'queued', 5), (value, status) => {
      const bodies = [
        value,
        { status, output: value },
        { status, output: [value] },
        { status, output: [], usage: value }
      ]
      for (const body of bodies) {
        try {
          openReader().readBody(Buffer.from(JSON.stringify(body)))
        } catch (thrown) {
          if (!GatewayError.is(thrown)) throw thrown
        }
      }
    })
  )
  t.pass()
})
