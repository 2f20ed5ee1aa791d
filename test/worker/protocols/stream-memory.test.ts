// The objects of a stream that has ended are collected with the young generation: what reaches the old one is copied twice and stays until
// the whole heap is collected (ADR 2026-11-22-young-requests).

import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createStopSequenceFilter, type NormalizedEvent } from '../../../worker/normalized/index.ts'
import type { ResponseContext } from '../../../worker/protocols/client-face.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { joinFrames } from '../../../worker/protocols/shared/stream/stream-frames.ts'
import { responseContext as completionsContext } from './completions/client/support.ts'
import { responseContext as contentContext } from './content/client/support.ts'
import { responseContext as messagesContext } from './messages/client/support.ts'
import { responseContext as responsesContext } from './responses/client/support.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void

const ROUNDS = 100
const STREAMS_PER_ROUND = 20
/** The smallest object with a getter is larger, and keeps all that its stream refers to. */
const BYTES_PER_STREAM_MAX = 200

const events: NormalizedEvent[] = [
  { type: 'start', providerModel: 'm', metadata: {} },
  { type: 'text-start' },
  { type: 'text-delta', text: 'Hello' },
  { type: 'text-end' },
  { type: 'finish', reason: 'stop', providerReason: null, metadata: {} }
]

const contexts: Record<keyof typeof clientFaces, () => ResponseContext> = {
  completions: completionsContext,
  responses: responsesContext,
  messages: messagesContext,
  content: contentContext
}

for (const [protocol, face] of Object.entries(clientFaces)) {
  t.test(`streams of ${protocol}`, async t => {
    const createContext = contexts[protocol as keyof typeof clientFaces]
    const run = () => joinFrames(face.createStreamWriter(createContext()).write(events))
    t.not(run(), '')
    const bytes = measureKept(run)
    t.ok(bytes <= BYTES_PER_STREAM_MAX, `${bytes} bytes of each stream reach the old generation`)
  })
}

t.test('streams that are cut at a stop string', async t => {
  const run = () => createStopSequenceFilter(['l']).push(events)
  t.match(run().at(-1), { type: 'finish', stopSequence: 'l' })
  const bytes = measureKept(run)
  t.ok(bytes <= BYTES_PER_STREAM_MAX, `${bytes} bytes of each stream reach the old generation`)
})

/** How many bytes of a run are in the old generation when it is over. Half of the runs warm up. */
function measureKept(run: () => unknown): number {
  runRounds(run)
  collect({ type: 'major' })
  const before = readOldBytes()
  runRounds(run)
  return Math.round((readOldBytes() - before) / (ROUNDS * STREAMS_PER_ROUND))
}

function runRounds(run: () => unknown): void {
  for (let round = 0; round < ROUNDS; round++) {
    for (let index = 0; index < STREAMS_PER_ROUND; index++) run()
    collect({ type: 'minor' })
  }
}

function readOldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0
}
