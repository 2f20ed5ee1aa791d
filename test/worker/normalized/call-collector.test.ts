import t from 'tap'
import {
  accumulateEvents,
  CallCollector,
  EventAssembler,
  type NormalizedEvent,
  WAITING_CHARACTERS_MAX
} from '../../../worker/normalized/index.ts'
import { checkGrammar } from './grammar.ts'

function open() {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: null, metadata: {} })
  const calls = new CallCollector({ assembler, issueId: ({ id, name, number }) => id ?? `${name}-${number}` })
  function end(): NormalizedEvent[] {
    calls.finish()
    assembler.finish({ reason: 'tool-calls', providerReason: null, metadata: {} }, null)
    return assembler.take()
  }
  return { assembler, calls, end }
}

function callsOf(events: readonly NormalizedEvent[]) {
  return accumulateEvents(events).items.map(item =>
    item.type === 'tool-call' ? [item.id, item.name, item.arguments] : [item.type]
  )
}

t.test('indexed pieces in any interleaving become one call after the other', async t => {
  const { calls, end } = open()
  calls.add({ index: 0, id: 'a', name: 'f', arguments: '' })
  calls.add({ index: 1, id: 'b', name: 'g', arguments: '{"y"' })
  calls.add({ index: 0, arguments: '{"x":' })
  calls.add({ index: 1, arguments: ':2}' })
  calls.add({ index: 0, arguments: '1}' })
  t.equal(calls.count, 2)
  const events = end()
  t.strictSame(checkGrammar(events), [])
  t.strictSame(callsOf(events), [
    ['a', 'f', '{"x":1}'],
    ['b', 'g', '{"y":2}']
  ])
})

t.test('the first call streams at once, and a complete one makes room for the next', async t => {
  const { assembler, calls } = open()
  assembler.take()
  calls.add({ index: 3, id: 'a', name: 'f', arguments: '{' })
  calls.add({ index: 5, id: 'b', name: 'g', arguments: '[' })
  t.strictSame(
    assembler.take().map(event => event.type),
    ['tool-call-start', 'tool-call-delta']
  )
  calls.complete(3)
  t.strictSame(
    assembler.take().map(event => event.type),
    ['tool-call-end', 'tool-call-start', 'tool-call-delta']
  )
  calls.complete(9)
  t.strictSame(assembler.take(), [], 'an index that is no call, such as that of a text block')
})

t.test('a call waits for its name', async t => {
  const { assembler, calls, end } = open()
  assembler.take()
  calls.add({ index: 0, arguments: '{"x"' })
  t.strictSame(assembler.take(), [])
  calls.add({ index: 0, name: 'f', arguments: ':1}' })
  t.strictSame(callsOf(end()), [['f-0', 'f', '{"x":1}']])
})

t.test('calls that arrive whole need neither index nor id', async t => {
  const { calls, end } = open()
  calls.add({ name: 'f', arguments: '{}', isComplete: true })
  calls.add({ name: 'f', arguments: '{}', isComplete: true })
  calls.add({ id: 'x', name: 'g', namespace: 'n' })
  calls.add({ arguments: '[1]' })
  t.strictSame(callsOf(end()), [
    ['f-0', 'f', '{}'],
    ['f-1', 'f', '{}'],
    ['x', 'g', '[1]']
  ])
})

t.test('one index for several calls: the ids, or the names, tell them apart', async t => {
  const { calls, end } = open()
  calls.add({ index: 0, id: 'a', name: 'f', arguments: '{}' })
  calls.add({ index: 0, id: 'b', name: 'f', arguments: '{"b":' })
  calls.add({ index: 0, id: 'b', arguments: '1}' })
  calls.add({ index: 0, name: 'g', arguments: '{"g":1}' })
  t.strictSame(callsOf(end()), [
    ['a', 'f', '{}'],
    ['b', 'f', '{"b":1}'],
    ['g-2', 'g', '{"g":1}']
  ])
})

t.test('a repeated head continues its call, and an empty piece is nothing', async t => {
  const { calls, end } = open()
  calls.add({ index: 0 })
  calls.add({ index: 0, id: 'a', name: 'f', arguments: '{' })
  calls.add({ index: 0, id: 'a', name: 'f', arguments: '}' })
  calls.add({ index: 0, id: '', name: '', arguments: '' })
  t.strictSame(callsOf(end()), [['a', 'f', '{}']])
})

t.test('state goes with the start of a call, or with its end where it comes later', async t => {
  const { calls, end } = open()
  calls.add({ index: 0, name: 'f', state: { content_compatible: { thoughtSignature: 's' } } })
  calls.add({ index: 1, name: 'g' })
  calls.add({ index: 1, state: { chat_compatible: { extraContent: 'x' } } })
  calls.add({ index: 0, state: { chat_compatible: { extraContent: 'y' } } })
  const { items } = accumulateEvents(end())
  t.match(items, [
    { state: { content_compatible: { thoughtSignature: 's' }, chat_compatible: { extraContent: 'y' } } },
    { state: { chat_compatible: { extraContent: 'x' } } }
  ])
})

t.test('other content stands behind the calls that began before it', async t => {
  const { assembler, calls, end } = open()
  calls.pass(1, () => assembler.text('first'))
  calls.add({ index: 0, name: 'f', arguments: '{' })
  calls.pass(1, () => assembler.text('between'))
  calls.add({ index: 1, name: 'g' })
  calls.add({ index: 0, arguments: '}' })
  t.strictSame(callsOf(end()), [['text'], ['f-0', 'f', '{}'], ['text'], ['g-1', 'g', '']])
})

t.test('nothing is lost in silence: what cannot be placed ends the response', async t => {
  const failed = (build: (setup: ReturnType<typeof open>) => void) => {
    const setup = open()
    build(setup)
    const events = setup.end()
    t.strictSame(checkGrammar(events), [])
    const last = events.at(-1)
    return last?.type === 'error' ? last.error.code : last?.type
  }
  const code = 'provider_protocol_error'
  t.equal(
    failed(({ calls }) => calls.add({ arguments: '{}' })),
    code,
    'arguments of no call'
  )
  t.equal(
    failed(({ calls }) => calls.add({ index: 0, arguments: '{}' })),
    code,
    'a call without a name'
  )
  const late = failed(({ calls }) => {
    calls.add({ index: 0, name: 'f', isComplete: true })
    calls.add({ index: 0, arguments: '{}' })
  })
  t.equal(late, code, 'arguments of a complete call')
  const interrupted = failed(({ assembler, calls }) => {
    calls.add({ index: 0, name: 'f' })
    assembler.text('past the collector')
    calls.add({ index: 0, arguments: '{}' })
  })
  t.equal(interrupted, code, 'arguments of a call that was closed from outside')
})

t.test('what waits is bounded', async t => {
  const { assembler, calls } = open()
  const piece = 'x'.repeat(WAITING_CHARACTERS_MAX / 4)
  calls.add({ index: 0, name: 'f' })
  for (let count = 0; count < 2; count++) calls.add({ index: 0, arguments: piece })
  t.notOk(assembler.isTerminated, 'arguments of the first call do not wait')
  for (let count = 0; count < 3; count++) calls.add({ index: 1, name: 'g', arguments: piece })
  t.notOk(assembler.isTerminated)
  calls.add({ index: 1, arguments: piece })
  t.match(assembler.take().at(-1), { type: 'error', error: { code: 'provider_protocol_error' } })
  calls.add({ index: 1, arguments: piece })
  calls.pass(1, () => t.fail('nothing is fed after the end'))
  calls.finish()
  t.strictSame(assembler.take(), [])
})
