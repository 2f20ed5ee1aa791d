// State that a provider wants back survives the response, the echo of the client's SDK and the next
// request, through every client protocol, whole and streamed, for every kind of provider
// (decisions.md 30).

import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream'
import { Stream as MessagesSdkStream } from '@anthropic-ai/sdk/streaming'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import { Stream } from 'openai/streaming'
import t from 'tap'
import {
  accumulateEvents,
  type ContentPart,
  findCarriedState,
  type JsonObject,
  type JsonValue,
  type NormalizedEvent,
  type ProviderState,
  writeToolCallId
} from '../../../worker/normalized/index.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { joinFrames } from '../../../worker/protocols/shared/stream/stream-frames.ts'

type Protocol = keyof typeof clientFaces

/** What an SDK accumulates from a whole response or a stream, as the items that it sends back. */
interface Client {
  first: JsonObject
  ofWhole(response: JsonObject): JsonValue[]
  ofStream(text: string): Promise<JsonValue[]>
  next(turn: JsonValue[]): JsonObject
}

const hi = { role: 'user', content: 'hi' }

function toJson<Value>(value: Value): JsonObject {
  return JSON.parse(JSON.stringify(value))
}

const clients: Record<Protocol, Client> = {
  completions: {
    first: { messages: [hi] },
    ofWhole: ({ choices }) => [(choices as Array<{ message: JsonObject }>)[0]?.message ?? null],
    async ofStream(text) {
      const stream = Stream.fromSSEResponse(new Response(text), new AbortController())
      const { choices } = await ChatCompletionStream.fromReadableStream(stream.toReadableStream()).finalChatCompletion()
      return [toJson(choices[0]?.message)]
    },
    next: turn => ({ messages: [hi, ...turn] })
  },
  messages: {
    first: { model: 'a', max_tokens: 5, messages: [hi] },
    ofWhole: ({ content }) => content as JsonValue[],
    async ofStream(text) {
      const stream = MessagesSdkStream.fromSSEResponse(new Response(text), new AbortController())
      const { content } = await MessageStream.fromReadableStream(stream.toReadableStream()).finalMessage()
      return content.map(toJson)
    },
    next(turn) {
      const results = (turn as JsonObject[]).flatMap(({ type, id }) =>
        type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] : []
      )
      const messages = [hi, { role: 'assistant', content: turn }, { role: 'user', content: results }]
      return { model: 'a', max_tokens: 5, messages } as JsonObject
    }
  },
  responses: {
    first: { input: 'hi' },
    ofWhole: ({ output }) => output as JsonValue[],
    async ofStream(text) {
      const stream = Stream.fromSSEResponse(new Response(text), new AbortController())
      const { output } = await ResponseStream.fromReadableStream(stream.toReadableStream()).finalResponse()
      return output.map(toJson)
    },
    next: turn => ({ input: [hi as JsonValue, ...turn] })
  },
  content: {
    first: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    ofWhole: ({ candidates }) => [(candidates as Array<{ content: JsonObject }>)[0]?.content ?? null],
    async ofStream(text) {
      const frames = text.split('\n\n').filter(frame => frame !== '')
      return frames.flatMap(frame => this.ofWhole(JSON.parse(frame.slice('data: '.length))))
    },
    next: turn => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }, ...turn] })
  }
}

interface Given {
  ofReasoning: ProviderState
  ofCall: ProviderState
  ofText?: ProviderState
}

/** State as each kind of provider issues it. */
const kinds: Record<'chat_compatible' | 'messages_compatible' | 'content_compatible', Given> = {
  chat_compatible: {
    ofReasoning: { chat_compatible: { reasoningDetails: '[{"type":"reasoning.encrypted","data":"x"}]' } },
    ofCall: { chat_compatible: { extraContent: '{"google":{"thought_signature":"abc=="}}' } }
  },
  messages_compatible: {
    ofReasoning: { messages_compatible: { signature: 'c2ln' } },
    ofCall: { messages_compatible: { signature: 'Y2FsbA==' } }
  },
  content_compatible: {
    ofReasoning: { content_compatible: { thoughtSignature: 'dGhvdWdodA==' } },
    ofCall: { content_compatible: { thoughtSignature: 'Y2FsbA==' } },
    ofText: { content_compatible: { thoughtSignature: 'dGV4dA==' } }
  }
}

/** The state of a call comes with its start, or behind its arguments. */
type Arrival = 'early' | 'late'

function writeEvents({ ofReasoning, ofCall, ofText }: Given, arrival: Arrival, arguments_ = '{"a":1}') {
  const early = arrival === 'early' ? { state: ofCall } : {}
  const late = arrival === 'late' ? { state: ofCall } : {}
  const id = writeToolCallId({ stateId: undefined, name: undefined, callNumber: 0, nonce: 'n' })
  const events: NormalizedEvent[] = [
    { type: 'start', providerModel: null, metadata: {} },
    { type: 'reasoning-start' },
    { type: 'reasoning-delta', text: 'hm' },
    { type: 'reasoning-end', state: ofReasoning },
    { type: 'text-start' },
    { type: 'text-delta', text: 'I look.' },
    { type: 'text-end', ...(ofText === undefined ? {} : { state: ofText }) },
    { type: 'tool-call-start', index: 0, id, name: 'f', ...early },
    ...(arguments_ === '' ? [] : [{ type: 'tool-call-delta', index: 0, arguments: arguments_ } as const]),
    { type: 'tool-call-end', index: 0, ...late },
    { type: 'tool-call-start', index: 1, id: 'c1', name: 'g' },
    { type: 'tool-call-delta', index: 1, arguments: '{}' },
    { type: 'tool-call-end', index: 1 },
    { type: 'finish', reason: 'tool-calls', providerReason: null, metadata: {} }
  ]
  return events
}

function read(protocol: Protocol, body: JsonObject) {
  const path = protocol === 'content' ? { path: { model: 'alias', isStream: false } } : {}
  return clientFaces[protocol].readRequest(body, { requestId: 'r', ...path })
}

function contextOf(protocol: Protocol) {
  return { requestId: 'r', createdAt: 1, model: 'alias', request: read(protocol, clients[protocol].first) }
}

async function answer(protocol: Protocol, events: NormalizedEvent[], isStream: boolean): Promise<JsonValue[]> {
  const face = clientFaces[protocol]
  if (isStream)
    return clients[protocol].ofStream(joinFrames(face.createStreamWriter(contextOf(protocol)).write(events)))
  return clients[protocol].ofWhole(toJson(face.writeResponse(accumulateEvents(events), contextOf(protocol))))
}

/** The parts of the assistant in the next request, and the state of the message. */
function readBack(protocol: Protocol, turn: JsonValue[]) {
  const said = read(protocol, clients[protocol].next(turn)).messages.filter(({ role }) => role === 'assistant')
  const parts = said.flatMap(({ content }) => content)
  return { parts, states: said.flatMap(({ state }) => (state === undefined ? [] : [state])) }
}

function findStates(parts: readonly ContentPart[], type: ContentPart['type']): Array<ProviderState | undefined> {
  // What looks like an id of the native upstream may be read as one.
  return parts.flatMap(part => (part.type === type ? [findCarriedState(part.state)] : []))
}

for (const protocol of Object.keys(clients) as Protocol[]) {
  for (const [kind, given] of Object.entries(kinds)) {
    for (const isStream of [false, true]) {
      for (const arrival of ['early', 'late'] as const) {
        const title = `${protocol}: ${isStream ? 'a stream' : 'a whole response'} brings ${arrival} state of ${kind} back`
        t.test(title, async t => {
          const { parts, states } = readBack(protocol, await answer(protocol, writeEvents(given, arrival), isStream))
          t.strictSame(findStates(parts, 'tool-call'), [given.ofCall, undefined], 'of the calls')
          const ofReasoning = [...findStates(parts, 'reasoning'), ...states]
          t.strictSame(
            ofReasoning.filter(state => state !== undefined),
            [given.ofReasoning],
            'of the reasoning'
          )
          const ofText = findStates(parts, 'text').filter(state => state !== undefined)
          t.strictSame(ofText, given.ofText === undefined ? [] : [given.ofText], 'of the text')
          const thoughts = parts.flatMap(part => (part.type === 'reasoning' && part.text !== '' ? [part.text] : []))
          // A content client sees thoughts only when it asks for them; a provider that signs their text gets it back all the same.
          const isLost = protocol === 'content' && kind !== 'messages_compatible'
          t.strictSame(thoughts, isLost ? [] : ['hm'])
        })
      }
    }
  }
}

t.test('late state of a call without arguments is not lost', async t => {
  const { ofCall, ofReasoning } = kinds.chat_compatible
  for (const protocol of Object.keys(clients) as Protocol[]) {
    const turn = await answer(protocol, writeEvents({ ofCall, ofReasoning }, 'late', ''), true)
    t.strictSame(findStates(readBack(protocol, turn).parts, 'tool-call'), [ofCall, undefined], protocol)
  }
})

t.test('a response without calls ends with its text, also with state behind it', async t => {
  const events: NormalizedEvent[] = [
    { type: 'start', providerModel: null, metadata: {} },
    { type: 'text-start' },
    { type: 'text-delta', text: 'Hello.' },
    { type: 'text-end', state: { content_compatible: { thoughtSignature: 'dGV4dA==' } } },
    { type: 'finish', reason: 'stop', providerReason: null, metadata: {} }
  ]
  for (const isStream of [false, true]) {
    t.match((await answer('messages', events, isStream)).at(-1), { type: 'text', text: 'Hello.' })
    t.match((await answer('responses', events, isStream)).at(-1), { type: 'message' })
    for (const protocol of ['completions', 'content'] as const) {
      const { parts } = readBack(protocol, await answer(protocol, events, isStream))
      t.match(findStates(parts, 'text').at(-1), { content_compatible: { thoughtSignature: 'dGV4dA==' } }, protocol)
    }
  }
})

t.test('state of the native upstream is in the ids and nowhere else', async t => {
  const native = { native: { toolStateId: 'secret-state' } }
  const events = writeEvents({ ofCall: native, ofReasoning: native, ofText: native }, 'early')
  for (const protocol of Object.keys(clients) as Protocol[]) {
    for (const isStream of [false, true]) {
      const text = JSON.stringify(await answer(protocol, events, isStream))
      const decoded = text.replaceAll(/[A-Za-z0-9+/]{16,}={0,2}/g, word => Buffer.from(word, 'base64').toString())
      t.notMatch(text + decoded, 'secret-state', protocol)
    }
  }
})

t.test('state whose part the client left out is dropped', async t => {
  const { ofCall, ofReasoning } = kinds.content_compatible
  for (const arrival of ['early', 'late'] as const) {
    for (const [protocol, type] of [
      ['messages', 'tool_use'],
      ['responses', 'function_call']
    ] as const) {
      const turn = (await answer(protocol, writeEvents({ ofCall, ofReasoning }, arrival), true)) as JsonObject[]
      const [first] = turn.filter(item => item.type === type)
      const { parts } = readBack(
        protocol,
        turn.filter(item => item !== first)
      )
      t.strictSame(findStates(parts, 'tool-call'), [arrival === 'early' ? ofCall : undefined], protocol)
    }
  }
})

t.test('responses: state alone at the end of a history asks nothing of a provider', async t => {
  const { ofCall, ofReasoning } = kinds.content_compatible
  const turn = (await answer('responses', writeEvents({ ofCall, ofReasoning }, 'early'), false)) as JsonObject[]
  const reasoning = turn.filter(item => item.type === 'reasoning')
  t.equal(reasoning.length, 2)
  const { messages } = read('responses', { input: [hi, ...reasoning] })
  t.strictSame(
    messages.map(({ role }) => role),
    ['user']
  )
})
