import t from 'tap'
import type { ResponseRecord } from '../../../shared/memory/store.ts'
import { replayEvents } from '../../../worker/memory/replay.ts'
import { writeEventFrame } from '../../../worker/memory/stream-events.ts'
import type { NormalizedEvent } from '../../../worker/normalized/index.ts'
import { readResponsesStrictly } from '../../properties/responses-events.ts'
import {
  accumulateWithSdk,
  responseContext,
  withoutHelperMembers,
  writeStream
} from '../protocols/responses/client/support.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
type Loose = any

/** A stream, and the record that is stored of it. */
function record(events: readonly NormalizedEvent[], body = {}): { live: Loose[]; stored: ResponseRecord } {
  const live = readResponsesStrictly(writeStream([events], responseContext(body))).events as Loose[]
  const last = live.at(-1)
  const { output, ...rest } = last.response
  return {
    live,
    stored: {
      id: rest.id,
      createdAt: rest.created_at,
      status: rest.status,
      model: rest.model,
      isBackground: false,
      input: [],
      output: output.map((item: Loose) => ({ id: item.id, json: Buffer.from(JSON.stringify(item)) })),
      body: Buffer.from(JSON.stringify({ ...rest, output: [] })),
      lastSequenceNumber: last.sequence_number
    }
  }
}

const replay = (stored: ResponseRecord, after = -1): Loose[] =>
  [...replayEvents(stored, after)].map(({ json }) => JSON.parse(Buffer.from(json).toString()))

/** The events in the order of a stream, without their numbers and with the pieces of each text as one. */
function joinPieces(events: readonly Loose[]): Loose[] {
  const joined: Loose[] = []
  for (const { sequence_number: _number, ...event } of events) {
    const before = joined.at(-1)
    if (event.delta !== undefined && before?.type === event.type && before.item_id === event.item_id) {
      before.delta += event.delta
    } else joined.push(event)
  }
  return joined
}

const text = (...pieces: string[]): NormalizedEvent[] => [
  { type: 'text-start' },
  ...pieces.map((piece): NormalizedEvent => ({ type: 'text-delta', text: piece })),
  { type: 'text-end' }
]
const call = (index: number, name: string, ...pieces: string[]): NormalizedEvent[] => [
  { type: 'tool-call-start', index, id: `call_${index}`, name },
  ...pieces.map((piece): NormalizedEvent => ({ type: 'tool-call-delta', index, arguments: piece })),
  { type: 'tool-call-end', index }
]
const start: NormalizedEvent = { type: 'start', providerModel: null, metadata: {} }
const usage: NormalizedEvent = {
  type: 'usage',
  usage: { inputTokens: 5, outputTokens: 7, totalTokens: 12, cachedInputTokens: 0 } as Loose
}
const finish = (reason: Loose): NormalizedEvent => ({ type: 'finish', reason, providerReason: null, metadata: {} })

const streams: Record<string, { events: NormalizedEvent[]; body?: object }> = {
  'a text': { events: [start, ...text('He', 'll', 'o'), usage, finish('stop')] },
  'reasoning, a text and calls': {
    events: [
      start,
      { type: 'reasoning-start' },
      { type: 'reasoning-delta', text: 'hm' },
      { type: 'reasoning-delta', text: 'm' },
      { type: 'reasoning-end' },
      ...text('I ', 'look'),
      ...call(0, 'f', '{"a"', ':1}'),
      ...call(1, 'g', '{}'),
      usage,
      finish('tool-calls')
    ]
  },
  'a custom call': {
    events: [
      start,
      { type: 'tool-call-start', index: 0, id: 'c', name: 'x', isFreeForm: true } as Loose,
      ...call(0, 'x', '{"input":"one"}').slice(1),
      finish('tool-calls')
    ],
    body: { tools: [{ type: 'custom', name: 'x' }] }
  },
  'a refusal': {
    events: [
      start,
      { type: 'refusal-start' },
      { type: 'refusal-delta', text: 'No' },
      { type: 'refusal-delta', text: '.' },
      { type: 'refusal-end' },
      finish('stop')
    ]
  },
  'a cut text': { events: [start, ...text('He', 'l'), finish('length')] },
  'an empty response': { events: [start, finish('stop')] }
}

for (const [name, { events, body }] of Object.entries(streams)) {
  t.test(`memory 7: ${name} is replayed with the events of its stream`, async t => {
    const { live, stored } = record(events, body)
    const replayed = replay(stored)
    t.strictSame(joinPieces(replayed), joinPieces(live))
    t.equal(replayed.at(-1).sequence_number, live.at(-1).sequence_number)
    const numbers = replayed.map(({ sequence_number }) => sequence_number)
    t.strictSame(
      numbers,
      [...new Set(numbers)].sort((left, right) => left - right)
    )
    const frames = Buffer.concat([...replayEvents(stored, -1)].map(writeEventFrame)).toString()
    const accumulated = withoutHelperMembers(await accumulateWithSdk(frames))
    t.strictSame(accumulated, JSON.parse(JSON.stringify(live.at(-1).response)))
  })
}

t.test('memory 7: a client that was cut off in a text gets what follows the text', async t => {
  const { live, stored } = record([start, ...text(...'a long text'.split(' ')), usage, finish('stop')])
  const half = live.findIndex(({ type }) => type === 'response.output_text.delta') + 1
  const types = live.slice(half + 2).map(({ type }) => type)
  t.strictSame(
    replay(stored, half).map(({ type }) => type),
    types
  )
  t.strictSame(replay(stored, stored.lastSequenceNumber), [])
  t.strictSame(
    replay(stored, stored.lastSequenceNumber - 1).map(({ type }) => type),
    ['response.completed']
  )
})

t.test('memory 7: a response that was never a stream is replayed with numbers without gaps', async t => {
  const { stored } = record([start, ...text('Hello'), finish('stop')])
  const replayed = replay({ ...stored, lastSequenceNumber: 0 })
  t.strictSame(
    replayed.map(({ sequence_number }) => sequence_number),
    replayed.map((_event, index) => index)
  )
})

t.test('memory 7: items of a provider of this wire keep what the gateway does not know', async t => {
  const { stored } = record([start, ...text('Hello'), finish('stop')])
  const items = [
    { id: 'mcp_1', type: 'mcp_call', name: 'n', arguments: '{}', server_label: 's', big: 1 },
    {
      id: 'rs_1',
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'why' }],
      encrypted_content: 'e'
    }
  ]
  const output = items.map(item => ({ id: item.id, json: Buffer.from(JSON.stringify(item)) }))
  const replayed = replay({ ...stored, output })
  const done = replayed.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
  t.strictSame(done, items)
  const added = replayed.filter(({ type }) => type === 'response.output_item.added').map(({ item }) => item)
  t.strictSame(added, [items[0], { id: 'rs_1', type: 'reasoning', summary: [], content: [] }])
  t.match(
    replayed.filter(({ type }) => type.startsWith('response.reasoning_text')),
    [{ delta: 'why', item_id: 'rs_1', output_index: 1, content_index: 0 }, { text: 'why' }]
  )
})
