// Alone: it measures processor times, for a minute on a busy machine.
// The cost of writing a response grows as fast as the response, in every client protocol, whole and as a stream: one line for each
// list that a response may hold. The lists are longer than the bounds of a response allow, so that the growth can be measured.

import t from 'tap'
import {
  accumulateEvents,
  type HostedToolStatus,
  type JsonObject,
  type NormalizedEvent,
  type ProviderState
} from '../../../worker/normalized/index.ts'
import type { ResponseContext } from '../../../worker/protocols/client-face.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { joinFrames } from '../../../worker/protocols/shared/stream/stream-frames.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../support/growth.ts'
import { responseContext as completionsContext } from './completions/client/support.ts'
import { responseContext as contentContext, withEnum, withThoughts } from './content/client/support.ts'
import { responseContext as messagesContext } from './messages/client/support.ts'
import { responseContext as responsesContext } from './responses/client/support.ts'

type Events = NormalizedEvent[]

const many = (count: number, make: (index: number) => Events): Events =>
  Array.from({ length: count }, (_, index) => make(index)).flat()

function block(kind: 'text' | 'reasoning' | 'refusal', pieces: number, state?: ProviderState): Events {
  const end: NormalizedEvent = state === undefined ? { type: `${kind}-end` } : { type: `${kind}-end`, state }
  return [{ type: `${kind}-start` }, ...many(pieces, () => [{ type: `${kind}-delta`, text: 'a' }]), end]
}

const call = (index: number, pieces: number): Events => [
  { type: 'tool-call-start', index, id: `call_${index}`, name: 'f', state: { native: { toolStateId: `s${index}` } } },
  { type: 'tool-call-delta', index, arguments: '{"a":"' },
  ...many(pieces, () => [{ type: 'tool-call-delta', index, arguments: 'x' }]),
  { type: 'tool-call-delta', index, arguments: '"}' },
  { type: 'tool-call-end', index }
]

type Kind = 'web_search' | 'image_generate' | 'code_interpreter'

const start = (index: number, kind: Kind): NormalizedEvent => ({ type: 'hosted-tool-start', index, kind, name: kind })
const progress = (index: number, status: HostedToolStatus): NormalizedEvent => ({
  type: 'hosted-tool-progress',
  index,
  status,
  secondsLeft: 1
})
const end = (index: number, sources: number, inlineData?: JsonObject): NormalizedEvent => ({
  type: 'hosted-tool-end',
  index,
  status: 'completed',
  sources: Array.from({ length: sources }, (_, id) => ({ id: `${id}`, url: `https://e.test/${id}`, title: 't' })),
  ...(inlineData === undefined ? {} : { inlineData })
})
const file = (index: number, mediaType: string, characters = 80): Events => [
  { type: 'file', file: { fileId: `f${index}`, mediaType, base64: 'A'.repeat(characters) } }
]
const citation = (index: number): NormalizedEvent => ({
  type: 'citation',
  citation: { type: 'url-citation', startIndex: 0, endIndex: 1, url: `https://e.test/${index}`, title: 't' }
})

/** The smaller size, and the events between the start and the end of a response. */
const lists: Record<string, [size: number, make: (size: number) => Events]> = {
  'texts in pieces': [4000, size => block('text', size)],
  texts: [1000, size => many(size, () => block('text', 1))],
  'texts with state': [
    500,
    size => many(size, () => block('text', 1, { content_compatible: { thoughtSignature: 's' } }))
  ],
  'reasoning in pieces': [4000, size => block('reasoning', size)],
  'reasoning in blocks': [1000, size => many(size, () => block('reasoning', 1))],
  'refusals in pieces': [4000, size => block('refusal', size)],
  'text in turn with reasoning': [500, size => many(size, () => [...block('reasoning', 1), ...block('text', 1)])],
  calls: [500, size => many(size, index => call(index, 1))],
  'arguments in pieces': [4000, size => call(0, size)],
  'runs with progress': [
    300,
    size =>
      many(size, index => [
        start(index, 'code_interpreter'),
        progress(index, 'interpreting'),
        progress(index, 'completed'),
        end(index, 0)
      ])
  ],
  'runs that end together': [
    300,
    size => [
      ...many(size, index => [start(index, 'web_search')]),
      ...block('text', 1),
      ...many(size, index => [progress(index, 'searching')]),
      ...many(size, index => [end(index, 1)])
    ]
  ],
  'runs with results': [
    300,
    size => many(size, index => [start(index, 'web_search'), end(index, 1, { [`m${index}`]: index, sources: {} })])
  ],
  'progress of one run': [
    1000,
    size => [start(0, 'image_generate'), ...many(size, () => [progress(0, 'generating')]), end(0, 0)]
  ],
  'large images and a text': [
    60,
    size => [...many(size, index => file(index, 'image/png', 4400)), ...block('text', 20 * size)]
  ],
  'images of open runs': [
    300,
    size => [
      ...many(size, index => [start(index, 'image_generate')]),
      ...many(size, index => file(index, 'image/png')),
      ...many(size, index => [end(index, 0)])
    ]
  ],
  'sources of one run': [1000, size => [start(0, 'web_search'), end(0, size, { sources: {} })]],
  citations: [
    1000,
    size => [
      { type: 'text-start' },
      { type: 'text-delta', text: 'abc' },
      ...many(size, index => [citation(index)]),
      { type: 'text-end' }
    ]
  ],
  images: [300, size => many(size, index => file(index, 'image/png'))],
  'files of other kinds': [300, size => many(size, index => file(index, 'audio/wav'))],
  'files within a text': [
    300,
    size => [
      { type: 'text-start' },
      { type: 'text-delta', text: 'a' },
      ...many(size, index => file(index, 'image/png')),
      { type: 'text-end' }
    ]
  ]
}

const usage = {
  inputTokens: 1,
  outputTokens: 1,
  totalTokens: 2,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null
}

function respond(events: Events): Events {
  return [
    { type: 'start', providerModel: 'm', metadata: {} },
    ...events,
    { type: 'usage', usage },
    { type: 'finish', reason: 'stop', providerReason: 'stop', metadata: {} }
  ]
}

const requests: Array<[protocol: keyof typeof clientFaces, name: string, create: () => ResponseContext]> = [
  ['completions', 'completions', completionsContext],
  ['responses', 'responses', responsesContext],
  ['responses', 'responses with a late id', () => ({ ...responsesContext({ store: true }), needsFinalId: true })],
  ['messages', 'messages', messagesContext],
  ['content', 'content', () => contentContext(withThoughts)],
  ['content', 'content of an enum', () => contentContext(withEnum)]
]

for (const [protocol, requestName, createContext] of requests) {
  const face = clientFaces[protocol]
  for (const [name, [size, make]] of Object.entries(lists)) {
    t.test(`cost 8: ${requestName}: ${name}`, async t => {
      const context = createContext()
      const grow = (write: (events: Events) => void) =>
        measureGrowth(size, count => {
          const events = respond(make(count))
          return () => write(events)
        })
      const growths = {
        whole: grow(events => JSON.stringify(face.writeResponse(accumulateEvents(events), context))),
        'written at once': grow(events => Buffer.from(joinFrames(face.createStreamWriter(context).write(events)))),
        'written event by event': grow(events => {
          const writer = face.createStreamWriter(context)
          for (const event of events) Buffer.from(joinFrames(writer.write([event])))
        })
      }
      for (const [form, growth] of Object.entries(growths)) {
        t.ok(growth <= LINEAR_GROWTH_MAX, `${form}: ${growth.toFixed(1)} times for eight times the work`)
      }
    })
  }
}
