import t from 'tap'
import {
  accumulateEvents,
  CallCollector,
  createResponseAccumulator,
  createStopSequenceFilter,
  EventAssembler,
  GatewayError,
  type NormalizedEvent,
  type ProviderState
} from '../../worker/normalized/index.ts'
import * as fc from '../support/properties.ts'
import { checkGrammar } from '../worker/normalized/grammar.ts'

interface Target {
  assembler: EventAssembler
  calls: CallCollector
}
type Step = (target: Target) => void

const piece = fc.string({ maxLength: 4 })
const index = fc.nat({ max: 3 })
const status = fc.constantFrom('in-progress', 'searching', 'generating', 'completed', 'failed')
const name = fc.constantFrom('f', 'g')
const state: fc.Arbitrary<ProviderState> = fc.oneof(
  piece.map(signature => ({ messages_compatible: { signature } })),
  piece.map(redacted => ({ messages_compatible: { redacted } })),
  piece.map(thoughtSignature => ({ content_compatible: { thoughtSignature } })),
  piece.map(reasoningDetails => ({ chat_compatible: { reasoningDetails } })),
  piece.map(toolStateId => ({ native: { toolStateId } }))
)
const callPiece = fc.record(
  { index, id: fc.constantFrom('', 'a', 'b'), name, arguments: piece, state, isComplete: fc.boolean() },
  { requiredKeys: [] }
)

function does<Value>(value: fc.Arbitrary<Value>, apply: (target: Target, value: Value) => void): fc.Arbitrary<Step> {
  return value.map(chosen => target => apply(target, chosen))
}

/** Any call of the assembler and of the collector, in any order. */
const step: fc.Arbitrary<Step> = fc.oneof(
  does(piece, ({ assembler }, text) => assembler.text(text)),
  does(piece, ({ assembler }, text) => assembler.reasoning(text)),
  does(piece, ({ assembler }, text) => assembler.refusal(text)),
  does(piece, ({ assembler }, text) => assembler.toolCallArguments(text)),
  does(state, ({ assembler }, given) => assembler.blockState(given)),
  does(state, ({ assembler }, given) => assembler.opaqueReasoning(given)),
  does(state, ({ assembler }, given) => assembler.opaqueText(given)),
  does(name, ({ assembler }, chosen) => void assembler.startToolCall({ id: 'c', name: chosen })),
  does(fc.tuple(name, piece), ({ assembler }, [chosen, text]) => assembler.toolCall({ id: 'c', name: chosen }, text)),
  does(callPiece, ({ calls }, given) => calls.add(given)),
  does(index, ({ calls }, number) => calls.complete(number)),
  does(piece, ({ assembler, calls }, text) => calls.pass(text.length, () => assembler.text(text))),
  does(fc.constant(null), ({ calls }) => calls.finish()),
  does(fc.constantFrom('web_search', 'x'), ({ assembler }, chosen) => {
    assembler.startHostedTool({ kind: 'other', name: chosen })
  }),
  does(fc.tuple(index, status), ({ assembler }, [run, word]) => assembler.hostedToolProgress(run, { status: word })),
  does(index, ({ assembler }, run) => assembler.endHostedTool(run, { status: 'completed' })),
  does(index, ({ assembler }, endIndex) =>
    assembler.citation({ type: 'url-citation', startIndex: 0, endIndex, url: 'u', title: 't' })
  ),
  does(fc.option(state, { nil: undefined }), ({ assembler }, given) => assembler.file({ fileId: 'f' }, given)),
  does(fc.constant(null), ({ assembler }) => assembler.closeBlock()),
  does(fc.constant(null), ({ assembler }) => assembler.start({ providerModel: null, metadata: {} }))
)

const usage = fc.option(
  fc.record({
    inputTokens: fc.nat(),
    cacheReadTokens: fc.option(fc.nat()),
    cacheWriteTokens: fc.option(fc.nat()),
    outputTokens: fc.nat(),
    reasoningTokens: fc.option(fc.nat()),
    totalTokens: fc.nat()
  })
)

function open(): Target {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: null, metadata: {} })
  return { assembler, calls: new CallCollector({ assembler, issueId: ({ number }) => `call-${number}` }) }
}

function refuseFaults(events: readonly NormalizedEvent[]): void {
  const faults = checkGrammar(events)
  if (faults.length > 0) throw new Error(faults.join('; '))
}

const play = fc.record({
  steps: fc.array(fc.record({ step, takes: fc.boolean() })),
  fails: fc.boolean(),
  usage,
  late: fc.array(step, { maxLength: 5 })
})

function run({ steps, fails, usage: counts, late }: typeof play extends fc.Arbitrary<infer Value> ? Value : never) {
  const target = open()
  const events: NormalizedEvent[] = []
  for (const { step: apply, takes } of steps) {
    apply(target)
    if (takes) events.push(...target.assembler.take())
  }
  target.calls.finish()
  if (fails) target.assembler.fail(new GatewayError('provider_failure'))
  else target.assembler.finish({ reason: 'stop', providerReason: null, metadata: {} }, counts)
  for (const apply of late) apply(target)
  events.push(...target.assembler.take())
  return events
}

t.test('any calls in any order give events that obey the grammar (A2, A3, A4, A5)', async t => {
  fc.assert(
    fc.property(play, given => refuseFaults(run(given))),
    { numRuns: 500 }
  )
  t.pass()
})

t.test('the grammar holds behind the filter of stop strings, and state passes it where nothing was cut', async t => {
  fc.assert(
    fc.property(play, fc.constantFrom('a', ' ', '\u0000never'), (given, stop) => {
      const events = run(given)
      const filter = createStopSequenceFilter([stop])
      const passed = [...filter.push(events), ...filter.finish()]
      refuseFaults(passed)
      if (filter.match === undefined) t.strictSame(listStates(passed), listStates(events))
    })
  )
  t.pass()
})

t.test('streamed and accumulated responses agree in content, usage and state', async t => {
  fc.assert(
    fc.property(play, given => {
      const events = run(given)
      if (events.at(-1)?.type === 'error') return
      const accumulator = createResponseAccumulator()
      for (const event of events) accumulator.push(event)
      const response = accumulator.response()
      const usages = events.flatMap(event => (event.type === 'usage' ? [event.usage] : []))
      t.same(response.usage, usages[0] ?? null)
      for (const kind of ['text', 'reasoning', 'refusal'] as const) {
        const streamed = events.map(event => (event.type === `${kind}-delta` && 'text' in event ? event.text : ''))
        const whole = response.items.map(item => (item.type === kind && 'text' in item ? item.text : ''))
        if (streamed.join('') !== whole.join('')) throw new Error(`${kind}: ${whole} instead of ${streamed}`)
      }
      const blocks = events.filter(event => event.type.endsWith('-start')).length
      const files = events.filter(event => event.type === 'file').length
      t.equal(response.items.length, blocks + files)
      const kept = response.items.flatMap(item => ('state' in item && item.state !== undefined ? [item.state] : []))
      const sent = listStates(events.filter(event => event.type !== 'finish'))
      // One state per block: a call may have some at its start and some at its end.
      t.ok(kept.length <= sent.length)
      const calls = events.filter(event => event.type === 'tool-call-start' && event.state !== undefined).length
      t.ok(kept.length >= sent.length - calls)
    }),
    { numRuns: 200 }
  )
  t.pass()
})

/** The texts of all state in order. */
function listStates(events: readonly NormalizedEvent[]): ProviderState[] {
  return events.flatMap(event => ('state' in event && event.state !== undefined ? [event.state] : []))
}

t.test('the texts of the items are all pieces of their blocks in order', async t => {
  fc.assert(
    fc.property(fc.array(fc.record({ kind: fc.constantFrom('text', 'reasoning', 'refusal'), piece })), pieces => {
      const { assembler } = open()
      for (const { kind, piece: text } of pieces) assembler[kind](text)
      assembler.finish({ reason: 'stop', providerReason: null, metadata: {} }, null)
      const { items } = accumulateEvents(assembler.take())
      for (const kind of ['text', 'reasoning', 'refusal']) {
        const sent = pieces.map(entry => (entry.kind === kind ? entry.piece : '')).join('')
        const got = items.map(item => (item.type === kind && 'text' in item ? item.text : '')).join('')
        if (got !== sent) throw new Error(`${kind}: ${got} instead of ${sent}`)
      }
    })
  )
  t.pass()
})

const wireCalls = fc.array(
  fc.record({ name, pieces: fc.array(piece, { maxLength: 5 }), isEnded: fc.boolean(), signature: piece }),
  { maxLength: 5 }
)

t.test(
  'indexed calls in any interleaving lose nothing: whole arguments and state, in order of first appearance',
  async t => {
    fc.assert(
      fc.property(wireCalls, fc.array(fc.nat({ max: 20 })), (wire, order) => {
        const { assembler, calls } = open()
        const waiting = wire.map(call => [...call.pieces])
        const seen: number[] = []
        const show = (number: number) => {
          const call = wire[number]
          if (call === undefined) return
          if (!seen.includes(number)) {
            seen.push(number)
            calls.add({ index: number, id: `id-${number}`, name: call.name })
            return
          }
          const next = waiting[number]?.shift()
          if (next !== undefined) calls.add({ index: number, arguments: next })
          else if (call.isEnded) calls.complete(number)
        }
        for (const turn of order) if (wire.length > 0) show(turn % wire.length)
        for (const [number, call] of wire.entries()) {
          if (!seen.includes(number)) show(number)
          for (const rest of waiting[number] ?? []) calls.add({ index: number, arguments: rest })
          if (!call.isEnded)
            calls.add({ index: number, state: { content_compatible: { thoughtSignature: call.signature } } })
        }
        calls.finish()
        assembler.finish({ reason: 'tool-calls', providerReason: null, metadata: {} }, null)
        const events = assembler.take()
        refuseFaults(events)
        const got = accumulateEvents(events).items.map(item =>
          item.type === 'tool-call'
            ? [item.name, item.arguments, item.state?.content_compatible?.thoughtSignature]
            : item
        )
        const expected = seen.map(number => {
          const call = wire[number]
          return [call?.name, call?.pieces.join(''), call?.isEnded === true ? undefined : call?.signature]
        })
        t.same(got, expected)
      }),
      { numRuns: 300 }
    )
    t.pass()
  }
)
