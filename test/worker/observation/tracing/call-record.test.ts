// What is recorded of a response, however long it is.

import t from 'tap'
import { GatewayError, type NormalizedEvent } from '../../../../worker/normalized/index.ts'
import { CallRecord } from '../../../../worker/observation/tracing/call-record.ts'
import type { CaptureSwitches } from '../../../../worker/observation/tracing/capture-switches.ts'
import { CANARY, EVERYTHING, NOTHING, toolCallEvents, usage } from './support.ts'

const planned = { model: 'm', providerKind: 'native', profileId: 'p', isStream: true }

function record(events: readonly NormalizedEvent[], capture: CaptureSwitches = NOTHING, isStream = true): CallRecord {
  const kept = new CallRecord(capture)
  kept.planned = { ...planned, isStream }
  for (const [index, event] of events.entries()) kept.take([event], index)
  return kept
}

const namesOf = ({ milestones }: CallRecord): string[] => milestones.map(({ name }) => name)

t.test('the milestones of a stream come in order, at the times of their events', async t => {
  const { milestones, response, usage: counts } = record(toolCallEvents)
  t.same(
    milestones.map(({ name, atMs }) => [name, atMs]),
    [
      ['stream.start', 0],
      ['stream.first_token', 2],
      ['stream.tool_call_delta', 4],
      ['llm.tool_call', 9],
      ['stream.completed', 9]
    ]
  )
  t.match(milestones[2]?.attributes, { 'llm.tool_call.name': 'weather', 'llm.tool_calls.names': ['weather'] })
  t.same(counts, usage)
  t.match(response, { providerModel: 'up:1', finishReason: 'tool-calls', callCount: 1, hasOutput: true })
  t.notMatch(JSON.stringify([milestones, response]), CANARY)
})

t.test('a whole response has its tool calls as events, and no milestones of a stream', async t => {
  t.same(namesOf(record(toolCallEvents, NOTHING, false)), ['llm.tool_call'])
})

t.test(
  'reasoning is a first token; its text is one event for each block, only where responses are captured',
  async t => {
    const events: NormalizedEvent[] = [
      { type: 'start', providerModel: null, metadata: {} },
      { type: 'reasoning-start' },
      { type: 'reasoning-delta', text: 'think ' },
      { type: 'reasoning-delta', text: 'twice' },
      { type: 'reasoning-end' },
      { type: 'text-start' },
      { type: 'text-delta', text: 'a' }
    ]
    t.same(namesOf(record(events)), ['stream.start', 'stream.first_token'])
    const captured = record(events, EVERYTHING)
    t.same(namesOf(captured), ['stream.start', 'stream.first_token', 'llm.reasoning_delta'])
    t.same(captured.milestones[1]?.attributes.content, 'think ')
    t.match(captured.milestones[2]?.attributes, { content: { value: 'think twice', isCut: false } })
    t.equal(String(captured.response.text), 'a')
  }
)

t.test('tools that the provider runs itself are calls of another source', async t => {
  const { response, milestones } = record([
    { type: 'start', providerModel: null, metadata: {} },
    { type: 'hosted-tool-start', index: 0, kind: 'web_search', name: 'search' },
    { type: 'hosted-tool-start', index: 1, kind: 'other', name: 'broken' },
    { type: 'hosted-tool-end', index: 0, status: 'completed', sources: [] },
    { type: 'hosted-tool-end', index: 1, status: 'failed', sources: [] },
    { type: 'finish', reason: 'stop', providerReason: null, metadata: {} }
  ])
  t.match(response.calls, [
    { name: 'search', status: 'completed', source: 'metadata.upstream_called_tools' },
    { name: 'broken', status: 'failed', source: 'metadata.upstream_called_tools' }
  ])
  t.equal(milestones.filter(({ name }) => name === 'llm.tool_call').length, 2)
})

t.test('an error is the last milestone, with its code', async t => {
  const { milestones } = record([
    { type: 'start', providerModel: null, metadata: {} },
    { type: 'error', error: new GatewayError('rate_limited') }
  ])
  t.match(milestones.at(-1), { name: 'stream.error', attributes: { error_code: 'rate_limited' } })
})

t.test('100000 deltas and very many calls make few events, and little text is kept', async t => {
  const capture = { ...EVERYTHING, charactersMax: 1000 }
  const kept = record([{ type: 'start', providerModel: null, metadata: {} }], capture)
  kept.take([{ type: 'tool-call-start', index: 0, id: 'c', name: 'f' }], 1)
  const delta: NormalizedEvent = { type: 'tool-call-delta', index: 0, arguments: 'some words ' }
  for (let count = 0; count < 100_000; count += 1) kept.take([delta], 1)
  for (let index = 1; index < 5000; index += 1) {
    kept.take(
      [
        { type: 'tool-call-start', index, id: 'c', name: 'f' },
        { ...delta, index },
        { type: 'tool-call-end', index }
      ],
      1
    )
    kept.take(
      [{ type: 'reasoning-start' }, { type: 'reasoning-delta', text: 'some words' }, { type: 'reasoning-end' }],
      1
    )
  }
  kept.take([{ type: 'finish', reason: 'stop', providerReason: null, metadata: {} }], 2)
  t.ok(kept.milestones.length < 100, `${kept.milestones.length} events`)
  t.equal(kept.response.callCount, 5000)
  t.equal(kept.response.calls.length, 128)
  const { arguments: text } = kept.response.calls[0] ?? {}
  t.equal(text?.isCut, true)
  t.ok(String(text).length <= 1000 + 4096)
  t.match(text?.toAttribute(), { value: /^some words/ })
})
