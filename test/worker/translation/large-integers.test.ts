// Integers beyond 2^53 in arguments and results of calls keep their digits through every client protocol on every wire: in the history that a
// client sends, and in responses, whole and streamed.

import t from 'tap'
import { asBuffer, joinBytes } from '../../../shared/bytes.ts'
import { accumulateEvents, type ClientProtocol, type JsonObject } from '../../../worker/normalized/index.ts'
import { nativeV1Face } from '../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../worker/protocols/native/v2/face.ts'
import type { ApiMode, ResponseReader } from '../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { joinFrames } from '../../../worker/protocols/shared/stream/stream-frames.ts'
import { translateChat, writeChatResponse } from '../../../worker/translation/chat.ts'
import { requestId } from '../../support/codec.ts'
import { EDGE, environment } from '../debug/support.ts'
import { openReader as openChatReader } from '../protocols/completions/provider/support.ts'
import { openReader as openNativeReader } from '../protocols/native/support.ts'

const digits = '12345678901234567890'
const args = `{"id":${digits},"list":[-${digits},1.5,7]}`
const result = `{"next":${digits}}`
const inText = JSON.stringify

const call = { name: '"name":"f"', id: '"id":"c"' }
/** The history of each protocol, with `MODEL` and whether it streams. */
const bodies: Readonly<Record<ClientProtocol, string>> = {
  completions: `{"model":"MODEL","messages":[{"role":"user","content":"hi"},
    {"role":"assistant","content":null,"tool_calls":[{${call.id},"type":"function","function":{${call.name},"arguments":${inText(args)}}}]},
    {"role":"tool","tool_call_id":"c","content":${inText(result)}}]}`,
  responses: `{"model":"MODEL","input":[{"role":"user","content":"hi"},
    {"type":"function_call","call_id":"c",${call.name},"arguments":${inText(args)}},
    {"type":"function_call_output","call_id":"c","output":${inText(result)}}]}`,
  messages: `{"model":"MODEL","max_tokens":5,"messages":[{"role":"user","content":"hi"},
    {"role":"assistant","content":[{"type":"tool_use",${call.id},${call.name},"input":${args}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":${inText(result)}}]}]}`,
  content: `\ufeff{"contents":[{"role":"user","parts":[{"text":"hi"}]},
    {"role":"model","parts":[{"functionCall":{${call.id},${call.name},"args":${args}}}]},
    {"role":"user","parts":[{"functionResponse":{${call.id},${call.name},"response":${result}}}]}]}`
}

interface Wire {
  model: string
  apiMode: ApiMode
  openReader(): ResponseReader
  whole: string
  stream: string
}

const nativeCall = `"function_call":{"name":"f","arguments":${args}}`
const chatCall = `"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":${inText(args)}}}]`
const chatHead = '"id":"chatcmpl-1","created":1,"model":"exact-model"'
const message = `{"role":"assistant","tool_state_id":"s","content":[{${nativeCall}}]}`

const wires: Readonly<Record<string, Wire>> = {
  'native v1': {
    model: 'GigaChat-2-Max',
    apiMode: 'v1',
    openReader: () => openNativeReader(nativeV1Face),
    whole: `{"choices":[{"message":{"role":"assistant",${nativeCall}},"finish_reason":"function_call"}]}`,
    stream: `data: {"choices":[{"delta":{${nativeCall}},"finish_reason":"function_call"}]}\n\ndata: [DONE]\n\n`
  },
  'native v2': {
    model: 'GigaChat-2-Max',
    apiMode: 'v2',
    openReader: () => openNativeReader(nativeV2Face),
    whole: `{"messages":[${message}],"finish_reason":"function_call"}`,
    stream: `event: response.message.delta\ndata: {"messages":[${message}]}\n\nevent: response.message.done\ndata: {"finish_reason":"function_call"}\n\n`
  },
  chat_compatible: {
    model: EDGE,
    apiMode: 'v1',
    openReader: () => openChatReader(),
    whole: `{${chatHead},"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,${chatCall}},"finish_reason":"tool_calls"}]}`,
    stream: `data: {${chatHead},"choices":[{"index":0,"delta":{${chatCall}},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n`
  }
}

const notUsed = () => {
  throw new Error('nothing is counted or decoded here')
}
const taskEnvironment = { ...environment, decodeTokens: notUsed, estimateTokens: notUsed }

function translate(protocol: ClientProtocol, { model, apiMode }: Wire) {
  const path = protocol === 'content' ? { path: { model, isStream: false } } : {}
  const bytes = Buffer.from(bodies[protocol].replace('MODEL', model))
  return translateChat({ protocol, apiMode, bytes, context: { requestId, ...path } }, taskEnvironment)
}

/** A text with the texts in it, as many times as JSON was put into JSON. */
function unfold(json: string): string {
  return json.replaceAll('\\', '')
}

for (const protocol of Object.keys(bodies) as ClientProtocol[]) {
  for (const [name, wire] of Object.entries(wires)) {
    t.test(`${protocol} on ${name}: the history is sent with its digits`, async t => {
      const sent = unfold(asBuffer(joinBytes(translate(protocol, wire).body)).toString())
      t.match(sent, args)
      t.match(sent, result)
    })

    t.test(`${protocol} on ${name}: a response is written with its digits, whole and streamed`, async t => {
      const { request } = translate(protocol, wire)
      const context = { requestId, createdAt: 1, model: 'm', request }
      const response = accumulateEvents(structuredClone(wire.openReader().readBody(Buffer.from(wire.whole))))
      const { body } = writeChatResponse({ protocol, response, context, completedAt: 1 })
      t.match(unfold(Buffer.from(body).toString()), args)
      const reader = wire.openReader()
      const events = structuredClone([...reader.push(Buffer.from(wire.stream)), ...reader.end()])
      t.match(unfold(joinFrames(clientFaces[protocol].createStreamWriter(context).write(events))), args)
    })
  }
}

t.test('a request without large integers is read from its parsed body alone', async t => {
  for (const protocol of ['messages', 'content'] as const) {
    const text = bodies[protocol].replaceAll(digits, '9007199254740991')
    const path = protocol === 'content' ? { path: { model: 'm', isStream: false } } : {}
    const read = (bytes: Uint8Array) =>
      clientFaces[protocol].readRequest(JSON.parse(text.replace('\ufeff', '')) as JsonObject, {
        requestId,
        bytes,
        ...path
      })
    // Other bytes would show in the arguments.
    t.same(read(Buffer.from(text)), read(Buffer.from(bodies[protocol])), protocol)
  }
})

t.test('bytes that do not hold the large integers leave the body as it was parsed', async t => {
  const body = JSON.parse(bodies.messages) as JsonObject
  for (const bytes of ['', '{}', '{"messages":[1,2]}', bodies.messages.slice(1)]) {
    const { messages } = clientFaces.messages.readRequest(body, { requestId, bytes: Buffer.from(bytes) })
    t.notMatch(messages[1]?.content[0], { argumentsText: String }, bytes)
  }
})
