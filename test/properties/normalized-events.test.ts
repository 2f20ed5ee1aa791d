import fc from 'fast-check'
import t from 'tap'
import { accumulateEvents, EventAssembler, GatewayError } from '../../worker/normalized/index.ts'
import { checkGrammar } from '../worker/normalized/grammar.ts'

const piece = fc.string({ maxLength: 4 })
const index = fc.nat({ max: 3 })
const status = fc.constantFrom('in-progress', 'searching', 'generating', 'completed', 'failed')

/** Any call of the assembler, in any order. */
const call = fc.oneof(
  fc.record({ do: fc.constant('text' as const), piece }),
  fc.record({ do: fc.constant('reasoning' as const), piece }),
  fc.record({ do: fc.constant('refusal' as const), piece }),
  fc.record({ do: fc.constant('arguments' as const), piece }),
  fc.record({ do: fc.constant('start-call' as const), name: fc.constantFrom('f', 'g') }),
  fc.record({ do: fc.constant('whole-call' as const), name: fc.constantFrom('f', 'g'), piece }),
  fc.record({ do: fc.constant('start-run' as const), name: fc.constantFrom('web_search', 'x') }),
  fc.record({ do: fc.constant('progress' as const), index, status }),
  fc.record({ do: fc.constant('end-run' as const), index }),
  fc.record({ do: fc.constant('citation' as const), index }),
  fc.record({ do: fc.constant('file' as const) }),
  fc.record({ do: fc.constant('close' as const) }),
  fc.record({ do: fc.constant('start' as const) }),
  fc.record({ do: fc.constant('take' as const) })
)

type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never

function apply(assembler: EventAssembler, step: Call): void {
  switch (step.do) {
    case 'text':
      assembler.text(step.piece)
      break
    case 'reasoning':
      assembler.reasoning(step.piece)
      break
    case 'refusal':
      assembler.refusal(step.piece)
      break
    case 'arguments':
      assembler.toolCallArguments(step.piece)
      break
    case 'start-call':
      assembler.startToolCall({ id: 'c', name: step.name })
      break
    case 'whole-call':
      assembler.toolCall({ id: 'c', name: step.name }, step.piece)
      break
    case 'start-run':
      assembler.startHostedTool({ kind: 'other', name: step.name })
      break
    case 'progress':
      assembler.hostedToolProgress(step.index, { status: step.status })
      break
    case 'end-run':
      assembler.endHostedTool(step.index, { status: 'completed' })
      break
    case 'citation':
      assembler.citation({ type: 'url-citation', startIndex: 0, endIndex: step.index, url: 'u', title: 't' })
      break
    case 'file':
      assembler.file({ fileId: 'f' })
      break
    case 'close':
      assembler.closeBlock()
      break
    case 'start':
      assembler.start({ providerModel: null, metadata: {} })
      break
    case 'take':
      break
  }
}

t.test('whatever is called in whatever order, the events obey the grammar (A2, A3, A4, A5)', async t => {
  fc.assert(
    fc.property(fc.array(call), fc.boolean(), fc.array(call, { maxLength: 5 }), (steps, fails, late) => {
      const assembler = new EventAssembler()
      assembler.start({ providerModel: null, metadata: {} })
      const events = []
      for (const step of steps) {
        apply(assembler, step)
        if (step.do === 'take') events.push(...assembler.take())
      }
      if (fails) assembler.fail(new GatewayError('provider_failure'))
      else assembler.finish({ reason: 'stop', providerReason: null, metadata: {} }, null)
      for (const step of late) apply(assembler, step)
      events.push(...assembler.take())
      const faults = checkGrammar(events)
      if (faults.length > 0) throw new Error(faults.join('; '))
    })
  )
  t.pass()
})

t.test('the texts of the items are all pieces of their blocks in order', async t => {
  fc.assert(
    fc.property(fc.array(fc.record({ kind: fc.constantFrom('text', 'reasoning', 'refusal'), piece })), pieces => {
      const assembler = new EventAssembler()
      assembler.start({ providerModel: null, metadata: {} })
      for (const { kind, piece } of pieces) apply(assembler, { do: kind, piece } as Call)
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
