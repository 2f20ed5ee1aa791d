// A turn with calls and their results as each client protocol sends it, and what arrived of both on the wire of each provider kind.

import type { Loose } from './families.ts'

export interface AnsweredCall {
  id: string
  name: string
  arguments: object
  /** As the client sends it; the content protocol, whose results are objects, sends it as the member `output`. */
  result: string
}

/** The path and body with which a client repeats one question, these calls in one turn, and their results. */
type WriteHistory = (model: string, calls: readonly AnsweredCall[]) => { path: string; body: object }

/** Of every client protocol, under a prefix that selects this contract of the native upstream. */
export const histories: Record<'completions' | 'responses' | 'messages' | 'content', WriteHistory> = {
  completions: (model, calls) => ({
    path: '/chat/completions',
    body: {
      model,
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          content: null,
          tool_calls: calls.map(({ id, name, arguments: args }) => ({
            id,
            type: 'function',
            function: { name, arguments: JSON.stringify(args) }
          }))
        },
        ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result }))
      ]
    }
  }),
  responses: (model, calls) => ({
    path: '/responses',
    body: {
      model,
      input: [
        { role: 'user', content: 'q' },
        ...calls.map(({ id, name, arguments: args }) => ({
          type: 'function_call',
          call_id: id,
          name,
          arguments: JSON.stringify(args)
        })),
        ...calls.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result }))
      ]
    }
  }),
  messages: (model, calls) => ({
    path: '/messages',
    body: {
      model,
      max_tokens: 100,
      tools: [...new Set(calls.map(({ name }) => name))].map(name => ({ name, input_schema: { type: 'object' } })),
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          content: calls.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input }))
        },
        {
          role: 'user',
          content: calls.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result }))
        }
      ]
    }
  }),
  content: (model, calls) => ({
    path: `/v1beta/models/${model}:generateContent`,
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'q' }] },
        { role: 'model', parts: calls.map(({ id, name, arguments: args }) => ({ functionCall: { id, name, args } })) },
        {
          role: 'user',
          parts: calls.map(({ id, name, result }) => ({
            functionResponse: { id, name, response: { output: result } }
          }))
        }
      ]
    }
  })
}

export interface ReceivedCall {
  arguments: unknown
  /** The object or the text that the wire has. */
  result: unknown
}

/** Reads every call of a request together with the result that the provider takes for its own. */
type ReadCalls = (body: Loose) => ReceivedCall[]

export const wires: Record<'native v1' | 'native v2' | 'chat' | 'messages' | 'content', ReadCalls> = {
  'native v1': ({ messages }) =>
    messages.flatMap(({ function_call: call }: Loose, index: number) =>
      // The result follows its call, because this wire has no ids.
      call === undefined ? [] : [{ arguments: call.arguments, result: JSON.parse(messages[index + 1].content) }]
    ),
  'native v2': ({ messages }) => {
    const parts: Loose[] = messages.flatMap(({ content }: Loose) => content)
    const results = parts.flatMap(({ function_result: result }) => (result === undefined ? [] : [result.result]))
    const calls = parts.flatMap(({ function_call: call }) => (call === undefined ? [] : [call.arguments]))
    return calls.map((args, index) => ({ arguments: args, result: results[index] }))
  },
  chat: ({ messages }) =>
    messages
      .flatMap(({ tool_calls: calls = [] }: Loose) => calls)
      .map(({ id, function: { arguments: text } }: Loose) => {
        const results = messages.filter((message: Loose) => message.tool_call_id === id)
        return { arguments: JSON.parse(text), result: onlyOne(results).content }
      }),
  messages: ({ messages }) => {
    const blocks: Loose[] = messages.flatMap(({ content }: Loose) => (typeof content === 'string' ? [] : content))
    const uses = blocks.filter(({ type }) => type === 'tool_use')
    return uses.map(({ id, input }) => ({
      arguments: input,
      result: onlyOne(blocks.filter(({ tool_use_id: answered }) => answered === id)).content
    }))
  },
  content: ({ contents }) => {
    const parts: Loose[] = contents.flatMap((content: Loose) => content.parts)
    const calls = parts.flatMap(({ functionCall: call }) => (call === undefined ? [] : [call]))
    const results = parts.flatMap(({ functionResponse: result }) => (result === undefined ? [] : [result]))
    // Calls and results are in the same order, and have the same id where they have one.
    return calls.map(({ id, args }, index) => ({
      arguments: args,
      result: results[index]?.id === id ? results[index]?.response : undefined
    }))
  }
}

function onlyOne(found: Loose[]): Loose {
  if (found.length !== 1) throw new Error(`There are ${found.length} results of one call.`)
  return found[0]
}
