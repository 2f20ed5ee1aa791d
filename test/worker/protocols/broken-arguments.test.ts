// A call whose arguments are no JSON object, everyday work of small models, on every route: the call reaches every client, the next turn
// is no error, and the model sees its mistake (decisions.md 113).

import t from 'tap'
import { accumulateEvents, EventAssembler, isJsonObject, type JsonObject } from '../../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../../worker/protocols/completions/provider/face.ts'
import { contentCompatibleFace } from '../../../worker/protocols/content/provider/face.ts'
import { messagesCompatibleFace } from '../../../worker/protocols/messages/provider/face.ts'
import { nativeV1Face } from '../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../worker/protocols/native/v2/face.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { joinFrames } from '../../../worker/protocols/shared/stream/stream-frames.ts'
import { plainOptions as native } from '../../support/native-route.ts'

type Protocol = keyof typeof clientFaces

const texts = ['{"city": oops}', 'Oslo', '["Oslo"]', '{"a":1}}', '[12345678901234567890]']

const bodies: Record<Protocol, JsonObject> = {
  completions: { model: 'a', messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'a', input: 'hi' },
  messages: { model: 'a', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
  content: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
}

function read(protocol: Protocol, body: JsonObject) {
  const path = protocol === 'content' ? { path: { model: 'a', isStream: false } } : {}
  return clientFaces[protocol].readRequest(body, { requestId: 'r', ...path })
}

function eventsOf(text: string, reason: 'tool-calls' | 'length' = 'tool-calls') {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: null, metadata: {} })
  assembler.startToolCall({ id: 'call_1', name: 'f' })
  assembler.toolCallArguments(text.slice(0, 3))
  assembler.toolCallArguments(text.slice(3))
  assembler.closeBlock()
  assembler.finish({ reason, providerReason: null, metadata: {} }, null)
  return assembler.take()
}

const context = (protocol: Protocol) => ({
  requestId: 'r',
  createdAt: 1,
  model: 'a',
  request: read(protocol, bodies[protocol]),
  now: () => 1
})

/** The arguments of the first call in a whole response: a text or an object. */
function findArguments(protocol: Protocol, response: JsonObject): unknown {
  const found: unknown[] = []
  collect(response, protocol === 'messages' ? 'input' : protocol === 'content' ? 'args' : 'arguments', found)
  return found[0]
}

function collect(value: unknown, name: string, found: unknown[]): void {
  if (Array.isArray(value)) for (const inner of value) collect(inner, name, found)
  if (!isJsonObject(value)) return
  if (name in value) found.push(value[name])
  else for (const inner of Object.values(value)) collect(inner, name, found)
}

const takesText = (protocol: Protocol) => protocol === 'completions' || protocol === 'responses'

for (const protocol of Object.keys(clientFaces) as Protocol[]) {
  const face = clientFaces[protocol]
  t.test(`${protocol}: the call reaches the client, whole`, async t => {
    for (const text of texts) {
      const response = face.writeResponse(accumulateEvents(eventsOf(text)), context(protocol))
      const expected = takesText(protocol) ? text : { arguments: text }
      t.strictSame(findArguments(protocol, response), expected, text)
    }
  })

  t.test(`${protocol}: the call reaches the client, streamed`, async t => {
    for (const text of texts) {
      const frames = joinFrames(face.createStreamWriter(context(protocol)).write(eventsOf(text)))
      const events = frames
        .split('\n')
        .filter(line => line.startsWith('data: {'))
        .map(line => JSON.parse(line.slice('data: '.length)))
      t.strictSame(readStreamed(protocol, events), takesText(protocol) ? text : { arguments: text }, text)
      t.notMatch(frames, 'provider_protocol_error')
    }
  })
}

type Loose = { [name: string]: Loose } & Loose[] & string

function readStreamed(protocol: Protocol, events: Loose[]): unknown {
  switch (protocol) {
    case 'completions':
      return events.map(({ choices }) => choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? '').join('')
    case 'responses':
      return events.find(({ type }) => type === 'response.function_call_arguments.done')?.arguments
    case 'messages': {
      t.match(events, [{ type: 'message_start' }])
      t.match(events.at(-1), { type: 'message_stop' })
      t.match(events.at(-2), { delta: { stop_reason: 'tool_use' } })
      return JSON.parse(events.map(({ delta }) => delta?.partial_json ?? '').join(''))
    }
    case 'content':
      return events.map(({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.functionCall?.args).find(Boolean)
  }
}

t.test('a call that the output limit cut is none, as before', async t => {
  const response = accumulateEvents(eventsOf('{"city": "Os', 'length'))
  t.notMatch(JSON.stringify(clientFaces.messages.writeResponse(response, context('messages'))), 'tool_use')
  const frames = joinFrames(
    clientFaces.messages.createStreamWriter(context('messages')).write(eventsOf('{"a":', 'length'))
  )
  t.match(frames, '"stop_reason":"max_tokens"')
  t.match(frames, '"partial_json"', 'the beginning that it has')
  t.notMatch(frames, 'arguments')
})

const options = { chatPath: '/chat/completions', messagesPath: '/messages', modelsPath: '/models' }

/** The arguments of the first call that a provider gets: a text or an object. */
const writers: Record<string, (protocol: Protocol, body: JsonObject) => unknown> = {
  chat(protocol, body) {
    const { messages } = chatCompatibleFace.writeChat(
      read(protocol, body),
      { upstreamModel: 'm' },
      options as never
    ).body
    return (messages as Loose)[1]?.tool_calls?.[0]?.function?.arguments
  },
  messages(protocol, body) {
    const { messages } = messagesCompatibleFace.writeChat(
      read(protocol, body),
      { upstreamModel: 'm' },
      options as never
    ).body
    return (messages as Loose)[1]?.content?.[0]?.input
  },
  content(protocol, body) {
    const written = contentCompatibleFace.writeChat(read(protocol, body), { upstreamModel: 'm' }, options as never).body
    return (written.contents as Loose)[1]?.parts?.[0]?.functionCall?.args
  },
  'native v1'(protocol, body) {
    const { messages } = nativeV1Face.writeChat(read(protocol, body), { upstreamModel: 'm' }, native).body
    return (messages as Loose)[1]?.function_call?.arguments
  },
  'native v2'(protocol, body) {
    const { messages } = nativeV2Face.writeChat(read(protocol, body), { upstreamModel: 'm' }, native).body
    return (messages as Loose)[1]?.content?.[0]?.function_call?.arguments
  }
}

for (const [wire, readSent] of Object.entries(writers)) {
  t.test(`in the history the text goes on: ${wire}`, async t => {
    for (const text of texts) {
      const expected = wire === 'chat' ? text : { arguments: text }
      const completions = {
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: text } }]
          },
          { role: 'tool', tool_call_id: 'c1', content: 'Error: bad arguments' }
        ]
      }
      t.strictSame(readSent('completions', completions), expected, `completions: ${text}`)
      for (const status of ['completed', 'incomplete']) {
        const responses = {
          input: [
            { role: 'user', content: 'hi' },
            { type: 'function_call', call_id: 'c1', name: 'f', arguments: text, status },
            { type: 'function_call_output', call_id: 'c1', output: 'Error: bad arguments' }
          ]
        }
        t.strictSame(readSent('responses', responses), expected, `responses, ${status}: ${text}`)
      }
    }
  })
}
