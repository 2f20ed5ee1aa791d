// Reasoning with its encrypted content, and the phase of a message, travel through every client protocol and come back unchanged
// (field-lessons.md C3): without them a model thinks anew in every turn.

import t from 'tap'
import { accumulateEvents, type JsonObject, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import type { ResponseContext } from '../../../../../worker/protocols/client-face.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'
import { joinFrames } from '../../../../../worker/protocols/shared/stream/stream-frames.ts'
import {
  added,
  answer,
  call,
  done,
  emptyMessage,
  functionCall,
  message,
  type Protocol,
  readRequest,
  readStream,
  readWhole,
  stream,
  summaryDelta,
  textDelta,
  write
} from './support.ts'

const reasoning = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'Let me ' },
    { type: 'summary_text', text: 'look.' }
  ],
  encrypted_content: 'gAAAAABo'
}
const silent = { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAAAABp' }
const said = message('I look.', { phase: 'commentary' })
const used = functionCall('call_01A', '{"a":1}')
const output = [reasoning, silent, said, used]

const whole = readWhole(answer(output))
const streamed = readStream([
  stream(
    [
      added(0, { type: 'reasoning', id: 'rs_1', summary: [] }),
      summaryDelta(0, 'Let me '),
      summaryDelta(0, 'look.', 1),
      done(0, reasoning),
      added(1, { type: 'reasoning', id: 'rs_2', summary: [] }),
      done(1, silent),
      added(2, { ...emptyMessage, phase: 'commentary' }),
      textDelta(2, 'I look.'),
      done(2, said),
      ...call(3, 'call_01A', '{"a":', '1}')
    ],
    output
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
    { role: 'user', parts: [{ functionResponse: { name: 'f', id: 'call_01A', response: { r: 1 } } }] }
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
      const result = { role: 'tool', tool_call_id: 'call_01A', content: 'r' }
      return { model: 'm', messages: [hi, message ?? null, result], tools: chatTools }
    }
  },
  responses: {
    protocol: 'responses',
    first: { model: 'm', input: [hi] },
    next: ({ response, frames }) => {
      const completed = readFrames(frames).find(({ type }) => type === 'response.completed')?.response as JsonObject
      const output = (frames === '' ? response : completed).output as JsonObject[]
      const result = { type: 'function_call_output', call_id: 'call_01A', output: 'r' }
      const tools = [{ type: 'function', ...tool, parameters }]
      return { model: 'm', input: [hi, ...output, result], tools }
    }
  },
  messages: {
    protocol: 'messages',
    first: { model: 'm', max_tokens: 9, messages: [hi] },
    next: ({ response, frames }) => {
      const blocks = frames === '' ? response.content : joinBlocks(frames)
      const result = { type: 'tool_result', tool_use_id: 'call_01A', content: 'r' }
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
    t.test(
      `${name}: reasoning comes back as the provider sent it, ${isStream ? 'streamed' : 'whole'} (C3)`,
      async t => {
        const events: NormalizedEvent[] = isStream ? streamed : whole
        const face = clientFaces[client.protocol]
        const request = readRequest(client.protocol, client.first, isStream)
        const context: ResponseContext = { requestId: 'r', createdAt: 1, model: 'alias', request }
        const next = isStream
          ? client.next({ response: {}, frames: joinFrames(face.createStreamWriter(context).write(events)) })
          : client.next({ response: face.writeResponse(accumulateEvents(events), context), frames: '' })
        // What a client sends is text, so nothing else than JSON may carry the state.
        const { body } = write(client.protocol, JSON.parse(JSON.stringify(next)))
        t.same((body.input as JsonObject[]).slice(1), [
          reasoning,
          silent,
          {
            type: 'message',
            role: 'assistant',
            content: [{ type: 'output_text', text: 'I look.' }],
            phase: 'commentary'
          },
          { type: 'function_call', call_id: 'call_01A', name: 'f', arguments: '{"a":1}' },
          { type: 'function_call_output', call_id: 'call_01A', output: client.protocol === 'content' ? '{"r":1}' : 'r' }
        ])
      }
    )
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
    const { body } = write('messages', { model: 'm', max_tokens: 50, messages: [hi, turn(state) as never, hi] })
    t.same((body.input as JsonObject[])[1], {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'ok' }]
    })
  }
})
