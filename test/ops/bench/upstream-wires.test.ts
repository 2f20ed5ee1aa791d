import t from 'tap'
import { findWire, type UpstreamWire, wireResponses } from '../../../ops/bench/upstream-wires.ts'
import { accumulateEvents } from '../../../worker/normalized/index.ts'
import { findProviderFace, providerFaces } from '../../../worker/protocols/registry.ts'

const faces = {
  native: { providerKind: 'native', apiMode: 'v1' },
  chat: { providerKind: 'chat_compatible', apiMode: 'v1' },
  responses: { providerKind: 'chat_compatible', apiMode: 'v1', wire: 'responses' },
  messages: { providerKind: 'messages_compatible', apiMode: 'v1' },
  content: { providerKind: 'content_compatible', apiMode: 'v1' }
} as const satisfies Record<UpstreamWire, object>

t.test('the responses of the benchmark are those of their wires, whole and streamed', async t => {
  for (const [wire, { whole, first, token, last }] of Object.entries(wireResponses)) {
    const face = findProviderFace(providerFaces, faces[wire as UpstreamWire])
    const open = () =>
      face.createReader(
        {
          toolNames: new Map(),
          stops: [],
          needsJsonArguments: false,
          droppedToolCalls: 0,
          hostedTools: [],
          freeForm: new Set()
        },
        { status: 200, headers: {} },
        { createNonce: () => 'n' }
      )
    const textOf = (response: ReturnType<typeof accumulateEvents>) =>
      response.items.map(item => (item.type === 'text' ? item.text : '')).join('')
    const read = accumulateEvents(open().readBody(Buffer.from(whole)))
    t.equal(textOf(read).length, 700, wire)
    const reader = open()
    const events = reader.push(Buffer.from(first + token + token + last)).concat(reader.end())
    const streamed = accumulateEvents(events)
    t.match(textOf(streamed), /^Hello/, wire)
    t.match(streamed.usage, { inputTokens: 500, outputTokens: 150 }, wire)
  }
})

t.test('the path names the wire', async t => {
  t.equal(findWire('/api/v1/chat/completions'), 'native')
  t.equal(findWire('/openai/v1/chat/completions'), 'chat')
  t.equal(findWire('/openai/v1/responses'), 'responses')
  t.equal(findWire('/api/anthropic/v1/messages'), 'messages')
  t.equal(findWire('/google/v1beta/models/bench-L0-N1-G0:generateContent'), 'content')
})
