// Thinking with its signatures travels through every client protocol and comes back unchanged
// (field-lessons.md C3): the service refuses thinking whose text or signature is altered.

import t from 'tap'
import { accumulateEvents, type JsonObject, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import type { ResponseContext } from '../../../../../worker/protocols/client-face.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'
import { joinFrames } from '../../../../../worker/protocols/shared/stream/stream-frames.ts'
import {
  answer,
  call,
  delta,
  type Protocol,
  readRequest,
  readStream,
  readWhole,
  start,
  stop,
  stream,
  text,
  write
} from './support.ts'

const thinking = { type: 'thinking', thinking: 'Let me look.', signature: 'EqQBCgIYAhIM' }
const redacted = { type: 'redacted_thinking', data: 'EmwKAhgBEgy3' }
const used = { type: 'tool_use', id: 'toolu_01A', name: 'f', input: { a: 1 } }
const content = [thinking, redacted, { type: 'text', text: 'I look.' }, used]

const whole = readWhole(answer(content, 'tool_use'))
const streamed = readStream([
  stream(
    [
      start(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Let me ' }),
      delta(0, { type: 'thinking_delta', thinking: 'look.' }),
      delta(0, { type: 'signature_delta', signature: thinking.signature }),
      stop(0),
      start(1, redacted),
      stop(1),
      ...text(2, 'I ', 'look.'),
      ...call(3, { id: 'toolu_01A' }, '{"a":', '1}')
    ],
    'tool_use'
  )
])

const hi = { role: 'user', content: 'hi' }
const tool = { name: 'f', description: 'd' }

/** A client of each protocol: its first request, and its next one for a response. */
interface Client {
  protocol: Protocol
  first: JsonObject
  next(given: { response: JsonObject; frames: string }): JsonObject
}

const parameters = { type: 'object', properties: {} }
const chatTools = [{ type: 'function', function: { ...tool, parameters } }]

function readFrames(frames: string): JsonObject[] {
  return frames
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice(6)) as JsonObject)
}

/** The message that the official SDK's helper makes of a completions stream: lists are joined, texts are added. */
function joinDeltas(frames: string): JsonObject {
  const message: JsonObject = { role: 'assistant', content: '' }
  const calls: Array<{ id?: string; type?: string; function: { name: string; arguments: string } }> = []
  for (const frame of readFrames(frames)) {
    const [choice] = (frame.choices ?? []) as Array<{ delta: JsonObject }>
    if (choice === undefined) continue
    const { content, reasoning_content: reasoning, reasoning_details: details, tool_calls } = choice.delta
    if (typeof content === 'string') message.content = `${message.content}${content}`
    if (typeof reasoning === 'string') message.reasoning_content = `${message.reasoning_content ?? ''}${reasoning}`
    if (details !== undefined) message.reasoning_details = details
    for (const piece of (tool_calls ?? []) as Array<JsonObject & { index: number; function: JsonObject }>) {
      const known = calls[piece.index] ?? { function: { name: '', arguments: '' } }
      calls[piece.index] = known
      const { index: _, function: definition, ...head } = piece
      Object.assign(known, head)
      known.function.name += definition.name ?? ''
      known.function.arguments += definition.arguments ?? ''
    }
  }
  return { ...message, tool_calls: calls as never }
}

/** The blocks that the official SDK makes of a messages stream. */
function joinBlocks(frames: string): JsonObject[] {
  const blocks: JsonObject[] = []
  const inputs = new Map<number, string>()
  for (const frame of readFrames(frames)) {
    const index = frame.index as number
    if (frame.type === 'content_block_start') blocks[index] = { ...(frame.content_block as JsonObject) }
    if (frame.type !== 'content_block_delta') continue
    const block = blocks[index] as JsonObject
    const piece = frame.delta as JsonObject
    if (piece.type === 'text_delta') block.text = `${block.text}${piece.text}`
    if (piece.type === 'thinking_delta') block.thinking = `${block.thinking}${piece.thinking}`
    if (piece.type === 'signature_delta') block.signature = piece.signature
    if (piece.type === 'input_json_delta') inputs.set(index, `${inputs.get(index) ?? ''}${piece.partial_json}`)
  }
  for (const [index, input] of inputs) (blocks[index] as JsonObject).input = JSON.parse(input)
  return blocks
}

const contentTurn = (parts: JsonObject[], generationConfig: JsonObject) => ({
  contents: [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts },
    { role: 'user', parts: [{ functionResponse: { name: 'f', id: 'toolu_01A', response: { r: 1 } } }] }
  ] as never,
  tools: [{ functionDeclarations: [tool] }] as never,
  generationConfig
})

function contentClient(generationConfig: JsonObject): Client {
  return {
    protocol: 'content',
    first: { contents: [{ parts: [{ text: 'hi' }] }], generationConfig },
    next: ({ response, frames }) => {
      const chunks = frames === '' ? [response] : readFrames(frames)
      const parts = chunks.flatMap(({ candidates }) => {
        const [candidate] = candidates as Array<{ content?: { parts?: JsonObject[] } }>
        return candidate?.content?.parts ?? []
      })
      return contentTurn(parts, generationConfig)
    }
  }
}

const clients: Record<string, Client> = {
  completions: {
    protocol: 'completions',
    first: { model: 'm', messages: [hi] },
    next: ({ response, frames }) => {
      const [choice] = (response.choices ?? []) as Array<{ message: JsonObject }>
      const message = frames === '' ? choice?.message : joinDeltas(frames)
      const result = { role: 'tool', tool_call_id: 'toolu_01A', content: 'r' }
      return { model: 'm', messages: [hi, message ?? null, result], tools: chatTools }
    }
  },
  responses: {
    protocol: 'responses',
    first: { model: 'm', input: [hi] },
    next: ({ response, frames }) => {
      const completed = readFrames(frames).find(({ type }) => type === 'response.completed')?.response as JsonObject
      const output = (frames === '' ? response : completed).output as JsonObject[]
      const result = { type: 'function_call_output', call_id: 'toolu_01A', output: 'r' }
      const tools = [{ type: 'function', ...tool, parameters }]
      return { model: 'm', input: [hi, ...output, result], tools }
    }
  },
  messages: {
    protocol: 'messages',
    first: { model: 'm', max_tokens: 9, messages: [hi] },
    next: ({ response, frames }) => {
      const blocks = frames === '' ? response.content : joinBlocks(frames)
      const result = { type: 'tool_result', tool_use_id: 'toolu_01A', content: 'r' }
      const turn = { role: 'assistant', content: blocks as never }
      const tools = [{ ...tool, input_schema: parameters }]
      return { model: 'm', max_tokens: 9, messages: [hi, turn, { role: 'user', content: [result] }], tools }
    }
  },
  content: contentClient({}),
  'content with thoughts': contentClient({ thinkingConfig: { includeThoughts: true } })
}

for (const [name, client] of Object.entries(clients)) {
  for (const isStream of [false, true]) {
    t.test(`${name}: thinking comes back as the provider sent it, ${isStream ? 'streamed' : 'whole'} (C3)`, async t => {
      const events: NormalizedEvent[] = isStream ? streamed : whole
      const face = clientFaces[client.protocol]
      const request = readRequest(client.protocol, client.first, isStream)
      const context: ResponseContext = { requestId: 'r', createdAt: 1, model: 'alias', request }
      const next = isStream
        ? client.next({ response: {}, frames: joinFrames(face.createStreamWriter(context).write(events)) })
        : client.next({ response: face.writeResponse(accumulateEvents(events), context), frames: '' })
      // What a client sends is text, so nothing else than JSON may carry the state.
      const { body } = write(client.protocol, JSON.parse(JSON.stringify(next)))
      const messages = body.messages as Array<{ role: string; content: JsonObject[] }>
      t.same(messages[1], { role: 'assistant', content })
      t.match(messages[2], { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_01A' }] })
      t.equal(messages.length, 3)
    })
  }
}

t.test('state of other kinds is never sent', async t => {
  const turn = (state: JsonObject) => ({
    role: 'assistant',
    content: [
      {
        type: 'thinking',
        thinking: 'why',
        signature: Buffer.from(`gateway-state:${JSON.stringify(state)}`).toString('base64')
      },
      { type: 'text', text: 'ok' }
    ]
  })
  const foreign = [
    { content_compatible: { thoughtSignature: 's' } },
    { chat_compatible: { reasoningDetails: '[]' } },
    { native: { toolStateId: 's' } }
  ]
  for (const state of foreign) {
    const { body } = write('messages', { model: 'm', max_tokens: 5, messages: [hi, turn(state) as never, hi] })
    t.same((body.messages as JsonObject[])[1], { role: 'assistant', content: 'ok' })
  }
})

t.test('thinking that stood between calls comes back there (decisions.md 82)', async t => {
  const blocks = [
    { type: 'thinking', thinking: 'A', signature: 'SIGA' },
    { type: 'tool_use', id: 'toolu_01A', name: 'f', input: { a: 1 } },
    { type: 'redacted_thinking', data: 'RED==' },
    { type: 'thinking', thinking: 'B', signature: 'SIGB' },
    { type: 'tool_use', id: 'toolu_01B', name: 'f', input: { a: 2 } }
  ]
  const frames = [
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'A' }),
    delta(0, { type: 'signature_delta', signature: 'SIGA' }),
    stop(0),
    ...call(1, { id: 'toolu_01A' }, '{"a":1}'),
    start(2, { type: 'redacted_thinking', data: 'RED==' }),
    stop(2),
    start(3, { type: 'thinking', thinking: 'B', signature: 'SIGB' }),
    stop(3),
    ...call(4, { id: 'toolu_01B' }, '{"a":2}')
  ]
  const results: Record<string, (id: string) => JsonObject> = {
    completions: id => ({ role: 'tool', tool_call_id: id, content: 'r' }),
    responses: id => ({ type: 'function_call_output', call_id: id, output: 'r' }),
    messages: id => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'r' }] })
  }
  for (const [name, client] of Object.entries(clients)) {
    for (const isStream of [false, true]) {
      const events = isStream ? readStream([stream(frames, 'tool_use')]) : readWhole(answer(blocks, 'tool_use'))
      const face = clientFaces[client.protocol]
      const context: ResponseContext = {
        requestId: 'r',
        createdAt: 1,
        model: 'alias',
        request: readRequest(client.protocol, client.first, isStream)
      }
      const next = isStream
        ? client.next({ response: {}, frames: joinFrames(face.createStreamWriter(context).write(events)) })
        : client.next({ response: face.writeResponse(accumulateEvents(events), context), frames: '' })
      const body = JSON.parse(JSON.stringify(next)) as Record<string, JsonObject[]>
      const second = results[client.protocol]?.('toolu_01B')
      if (second === undefined) {
        const response = { functionResponse: { name: 'f', id: 'toolu_01B', response: { r: 1 } } }
        const last = body.contents?.at(-1) as { parts: JsonObject[] }
        last.parts.push(response)
      } else (body.messages ?? body.input)?.push(second)
      const [, turn] = write(client.protocol, body as never).body.messages as Array<{ content: JsonObject[] }>
      t.same(turn?.content, blocks, `${name}, ${isStream ? 'streamed' : 'whole'}`)
    }
  }
})

t.test('unsigned thinking of a provider comes back to it (decisions.md 82)', async t => {
  const blocks = [
    { type: 'thinking', thinking: 'I must look', signature: '' },
    { type: 'tool_use', id: 'toolu_01A', name: 'f', input: { a: 1 } }
  ]
  for (const [name, client] of Object.entries(clients)) {
    const face = clientFaces[client.protocol]
    const context = {
      requestId: 'r',
      createdAt: 1,
      model: 'alias',
      request: readRequest(client.protocol, client.first)
    }
    // A messages client gets the provider's own bytes, and sends them back so.
    if (client.protocol === 'messages') continue
    const response = face.writeResponse(accumulateEvents(readWhole(answer(blocks, 'tool_use'))), context)
    const next = client.next({ response, frames: '' })
    const [, turn] = write(client.protocol, JSON.parse(JSON.stringify(next))).body.messages as Array<JsonObject>
    t.same(turn?.content, blocks, name)
  }
})
