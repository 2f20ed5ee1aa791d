// What the gateway returned on a route is history on every other one: each kind of response, in each client family's own form, whole and
// streamed, goes to every provider wire, with its calls and their results (decisions.md 75).

import t from 'tap'
import {
  accumulateEvents,
  EventAssembler,
  type JsonObject,
  type NormalizedEvent,
  writeToolCallId
} from '../../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../../worker/protocols/completions/provider/face.ts'
import { contentCompatibleFace } from '../../../worker/protocols/content/provider/face.ts'
import { messagesCompatibleFace } from '../../../worker/protocols/messages/provider/face.ts'
import { nativeV1Face } from '../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../worker/protocols/native/v2/face.ts'
import type { ProviderFace } from '../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { responsesCompatibleFace } from '../../../worker/protocols/responses/provider/face.ts'
import { joinFrames } from '../../../worker/protocols/shared/stream/stream-frames.ts'
import { addUpBlocks, addUpDeltas } from '../../end-to-end/tool-loops/families.ts'
import { plainOptions } from '../../support/native-route.ts'

type Protocol = keyof typeof clientFaces
type Loose = JsonObject & { [name: string]: Loose } & Loose[]

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const end = { providerReason: null, metadata: {} }
const ownId = writeToolCallId({ stateId: 'ts-1', name: undefined, callNumber: 0, nonce: 'n' })

function respond(fill: (assembler: EventAssembler) => void, reason: 'stop' | 'tool-calls' | 'length' = 'stop') {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: null, metadata: {} })
  fill(assembler)
  assembler.finish({ reason, ...end }, null)
  return assembler.take()
}

function reason(assembler: EventAssembler, state: JsonObject): void {
  assembler.reasoning('because')
  assembler.blockState(state as never)
  assembler.closeBlock()
}

/** The kinds of responses, by what the providers send. */
const responses: Record<string, NormalizedEvent[]> = {
  text: respond(a => a.text('Hello')),
  'a native call': respond(
    a => a.toolCall({ id: ownId, name: 'f', state: { native: { toolStateId: 'ts-1' } } }, '{"a":"x"}'),
    'tool-calls'
  ),
  'two calls behind text': respond(a => {
    a.text('I look.')
    a.toolCall({ id: 'call_1', name: 'f' }, '{"a":"x"}')
    a.toolCall({ id: 'call_2', name: 'f' }, '')
  }, 'tool-calls'),
  'reasoning of a chat provider and a call': respond(a => {
    reason(a, { chat_compatible: { reasoningName: 'reasoning_content' } })
    a.toolCall({ id: 'call_1', name: 'f' }, '{}')
  }, 'tool-calls'),
  'signed thinking and a call': respond(a => {
    reason(a, { messages_compatible: { signature: 'c2ln' } })
    a.opaqueReasoning({ messages_compatible: { redacted: 'cmVk' } })
    a.toolCall({ id: 'toolu_1', name: 'f' }, '{"a":"x"}')
  }, 'tool-calls'),
  'a signed call of the content wire': respond(
    a => a.toolCall({ id: 'call_1', name: 'f', state: { content_compatible: { thoughtSignature: 'c2ln' } } }, '{}'),
    'tool-calls'
  ),
  'broken arguments': respond(a => a.toolCall({ id: 'call_1', name: 'f' }, '{"city": oops}'), 'tool-calls'),
  'a hosted run with sources': respond(a => {
    const run = a.startHostedTool({ kind: 'web_search', name: 'web_search' })
    a.endHostedTool(run, {
      status: 'completed',
      query: 'q',
      sources: [{ id: '1', url: 'https://a.test/', title: 'A' }]
    })
    a.text('It is cold.')
    a.citation({ type: 'url-citation', startIndex: 0, endIndex: 5, url: 'https://a.test/', title: 'A' })
  }),
  'a picture': respond(a => {
    a.text('Here.')
    a.file({ fileId: 'f1', mediaType: 'image/png', target: 'image', base64: png })
  }),
  'a refusal': respond(a => a.refusal('I cannot.')),
  'a text that is cut by length': respond(a => a.text('half an'), 'length'),
  'a call that is cut by length': respond(a => {
    a.text('I look.')
    a.toolCall({ id: 'call_1', name: 'f' }, '{"a": "x')
  }, 'length'),
  nothing: respond(() => undefined)
}

const families: Record<Protocol, { first: JsonObject; tools: JsonObject }> = {
  completions: {
    first: { model: 'a', messages: [{ role: 'user', content: 'hi' }] },
    tools: { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] }
  },
  responses: {
    first: { model: 'a', input: [{ role: 'user', content: 'hi' }] },
    tools: { tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }] }
  },
  messages: {
    first: { model: 'a', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    tools: { tools: [{ name: 'f', input_schema: { type: 'object' } }] }
  },
  content: {
    first: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    tools: { tools: [{ functionDeclarations: [{ name: 'f' }] }] }
  }
}

function read(protocol: Protocol, body: JsonObject) {
  const path = protocol === 'content' ? { path: { model: 'a', isStream: false } } : {}
  return clientFaces[protocol].readRequest(body, { requestId: 'r', ...path })
}

function contextOf(protocol: Protocol) {
  const request = read(protocol, { ...families[protocol].first, ...families[protocol].tools })
  return { requestId: '6f3f0f0e-9d5e-4c1b-8a53-1f2b7f6c0d11', createdAt: 1, model: 'a', request, now: () => 1 }
}

/** The turn of the model as the client keeps it: messages, items or contents. */
function readTurn(protocol: Protocol, response: Loose): Loose[] {
  switch (protocol) {
    case 'completions':
      return [response.choices?.[0]?.message as Loose]
    case 'responses':
      return [...(response.output as Loose[])]
    case 'messages':
      return [{ role: 'assistant', content: response.content } as unknown as Loose]
    case 'content':
      return [response.candidates?.[0]?.content as Loose]
  }
}

/** The same of a stream, as the client adds it up. */
function readStreamedTurn(protocol: Protocol, frames: string): Loose[] {
  const events: Loose[] = frames
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice('data: '.length)))
  if (protocol === 'responses') {
    const last = events.findLast(({ type }) => String(type).match(/^response\.(?:completed|incomplete)$/))
    return [...((last?.response?.output ?? []) as Loose[])]
  }
  if (protocol === 'completions') return [addUpDeltas(events)]
  if (protocol === 'messages') return [{ role: 'assistant', content: addUpBlocks(events) } as unknown as Loose]
  return events.flatMap(({ candidates }) =>
    candidates?.[0]?.content === undefined ? [] : [candidates[0].content as Loose]
  )
}

/** The next request: the turn, the results of its calls, and a further question. */
function writeNext(protocol: Protocol, turn: Loose[]): { body: JsonObject; callCount: number } {
  const { first, tools } = families[protocol]
  const list = protocol === 'responses' ? 'input' : protocol === 'content' ? 'contents' : 'messages'
  const results: JsonObject[] = []
  let callCount = 0
  for (const entry of turn) {
    const calls =
      protocol === 'completions'
        ? ((entry.tool_calls as Loose[] | undefined) ?? []).map(({ id }) => ({ id }))
        : protocol === 'responses'
          ? (entry.type as unknown) === 'function_call'
            ? [{ id: entry.call_id }]
            : []
          : protocol === 'messages'
            ? (entry.content as Loose[]).filter(({ type }) => (type as unknown) === 'tool_use')
            : (entry.parts as Loose[]).flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]))
    for (const { id, name } of calls as Array<{ id: unknown; name?: unknown }>) {
      callCount++
      if (protocol === 'completions') results.push({ role: 'tool', tool_call_id: id as string, content: 'done' })
      else if (protocol === 'responses') {
        results.push({ type: 'function_call_output', call_id: id as string, output: 'done' })
      } else if (protocol === 'messages') {
        results.push({
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: id as string, content: 'done' }]
        })
      } else {
        const response = { result: 'done' }
        const part = { functionResponse: { id: id as string, name: name as string, response } }
        results.push({ role: 'user', parts: [part] })
      }
    }
  }
  const question =
    protocol === 'content' ? { role: 'user', parts: [{ text: 'and now?' }] } : { role: 'user', content: 'and now?' }
  const entries = [...(first[list] as JsonObject[]), ...turn, ...results, question]
  return { body: { ...first, ...tools, [list]: entries }, callCount }
}

const options = { chatPath: '/chat/completions', messagesPath: '/messages', modelsPath: '/models' }
const routes: Record<string, [ProviderFace, object]> = {
  'native v1': [nativeV1Face as ProviderFace, plainOptions],
  'native v2': [nativeV2Face as ProviderFace, plainOptions],
  chat: [chatCompatibleFace as ProviderFace, options],
  messages: [messagesCompatibleFace as ProviderFace, options],
  content: [contentCompatibleFace as ProviderFace, options],
  responses: [responsesCompatibleFace as ProviderFace, options]
}

/** How often each wire writes a call and a result. */
const marks: Record<string, [call: RegExp, result: RegExp]> = {
  'native v1': [/"function_call":\{"name"/g, /"role":"function"/g],
  'native v2': [/"function_call":\{"name"/g, /"function_result":/g],
  chat: [/"type":"function","function":\{"name":"f","arguments"/g, /"role":"tool"/g],
  messages: [/"type":"tool_use"/g, /"type":"tool_result"/g],
  content: [/"functionCall":/g, /"functionResponse":/g],
  responses: [/"type":"function_call"/g, /"type":"function_call_output"/g]
}

function check(name: string, protocol: Protocol, turn: Loose[]): void {
  const { body, callCount } = writeNext(protocol, JSON.parse(JSON.stringify(turn)))
  for (const [route, [face, faceOptions]] of Object.entries(routes)) {
    for (const features of [undefined, ['text']]) {
      const request = read(protocol, body)
      t.equal(request.refusal, undefined)
      const written = face.writeChat(request, { upstreamModel: 'm', features }, faceOptions)
      const text = JSON.stringify(written.body.messages ?? written.body.contents ?? written.body.input)
      const [call, result] = marks[route] as [RegExp, RegExp]
      t.strictSame(
        [text.match(call)?.length ?? 0, text.match(result)?.length ?? 0],
        [callCount, callCount],
        `${name}, ${protocol}, ${route}: calls and results`
      )
      t.match(text, 'and now?')
    }
  }
}

for (const protocol of Object.keys(families) as Protocol[]) {
  t.test(`${protocol}: every response is history on every route`, async () => {
    for (const [name, events] of Object.entries(responses)) {
      const face = clientFaces[protocol]
      const context = contextOf(protocol)
      check(name, protocol, readTurn(protocol, face.writeResponse(accumulateEvents(events), context) as Loose))
      const frames = joinFrames(face.createStreamWriter(context).write(events))
      check(`${name}, streamed`, protocol, readStreamedTurn(protocol, frames))
    }
  })
}
