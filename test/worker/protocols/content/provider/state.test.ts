// Signatures that a provider of this kind issued come back to it on the parts they came with,
// through every client protocol (field-lessons.md C3).

import t from 'tap'
import { accumulateEvents, type JsonObject, type JsonValue } from '../../../../../worker/normalized/index.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'
import { chunk, type Protocol, readRequest, readStream, write, writeFrames } from './support.ts'

const upstreamModel = 'gemini-3-pro-preview'

/** A turn as the service streams it: a signed text, then calls of which only the first is signed. */
const events = readStream([
  writeFrames([
    chunk([{ text: 'Hm.', thought: true, thoughtSignature: 'dGhvdWdodA==' }]),
    chunk([{ text: 'I ' }]),
    chunk([{ text: 'look.' }, { text: '', thoughtSignature: 'dGV4dA==' }]),
    chunk([{ functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'Y2FsbA==' }]),
    chunk([{ functionCall: { id: 'c2', name: 'g', args: {} } }], 'STOP')
  ])
])

const hi = { role: 'user', content: 'hi' }
const textContent = { role: 'user', parts: [{ text: 'hi' }] }
const seesThoughts = { generationConfig: { thinkingConfig: { includeThoughts: true } } }

interface Client {
  first: JsonObject
  /** The request of the next turn, with the results of both calls. */
  next(response: JsonObject): JsonObject
}

const clients: Record<Protocol, Client> = {
  completions: {
    first: { messages: [hi] },
    next({ choices }) {
      const [choice] = choices as Array<{ message: JsonObject }>
      const calls = choice?.message.tool_calls as Array<{ id: string }>
      const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'r' }))
      return { messages: [hi, choice?.message ?? null, ...results] }
    }
  },
  messages: {
    first: { max_tokens: 5, messages: [hi] },
    next({ content }) {
      const calls = (content as Array<{ type: string; id: string }>).filter(({ type }) => type === 'tool_use')
      const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'r' }))
      const messages = [hi, { role: 'assistant', content: content ?? null }, { role: 'user', content: results }]
      return { max_tokens: 5, messages }
    }
  },
  responses: {
    first: { input: 'hi', include: ['reasoning.encrypted_content'] },
    next({ output }) {
      const items = output as JsonObject[]
      const results = items.flatMap(({ type, call_id: id }) =>
        type === 'function_call' ? [{ type: 'function_call_output', call_id: id ?? null, output: 'r' }] : []
      )
      return { input: [hi, ...items, ...results] as JsonValue[] }
    }
  },
  content: {
    first: { contents: [textContent], ...seesThoughts },
    next({ candidates }) {
      const [candidate] = candidates as Array<{ content: { parts: Array<{ functionCall?: JsonObject }> } }>
      const results = candidate?.content.parts.flatMap(({ functionCall: call }) =>
        call === undefined
          ? []
          : [{ functionResponse: { id: call.id ?? null, name: call.name ?? null, response: { result: 'r' } } }]
      )
      return {
        contents: [textContent, candidate?.content ?? null, { role: 'user', parts: results ?? [] }]
      } as JsonObject
    }
  }
}

const result = { result: 'r' }

for (const [protocol, { first, next }] of Object.entries(clients) as Array<[Protocol, Client]>) {
  t.test(`${protocol}: the next request has the signatures on their parts`, async t => {
    const request = readRequest(protocol, first)
    const context = { requestId: 'r', createdAt: 1, model: 'alias', request }
    const response = clientFaces[protocol].writeResponse(accumulateEvents(events), context)
    const { body } = write(protocol, next(JSON.parse(JSON.stringify(response))), { upstreamModel })
    t.strictSame(body.contents, [
      textContent,
      {
        role: 'model',
        parts: [
          { text: 'Hm.', thought: true, thoughtSignature: 'dGhvdWdodA==' },
          { text: 'I look.', thoughtSignature: 'dGV4dA==' },
          // The provider gave this call no id.
          { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'Y2FsbA==' },
          { functionCall: { id: 'c2', name: 'g', args: {} } }
        ]
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: result } },
          { functionResponse: { id: 'c2', name: 'g', response: result } }
        ]
      }
    ])
  })
}
