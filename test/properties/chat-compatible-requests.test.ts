import t from 'tap'
import { readOpenAiChat } from '../../ops/emulator/openai/read.ts'
import {
  type ContentPart,
  GatewayError,
  type JsonObject,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type ToolChoice,
  writeToolCallId
} from '../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../worker/protocols/completions/provider/face.ts'
import * as fc from '../support/properties.ts'
import { options } from '../worker/protocols/completions/provider/support.ts'
import { makeRequest } from '../worker/protocols/native/support.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const jsonObject = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
  .map(value => JSON.parse(JSON.stringify(value)) as JsonObject)
const toolName = fc.oneof(
  fc.constantFrom('f', 'g', 'a.b', 'a_b', 'n__f'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 90 })
)
const namespace = fc.option(fc.constantFrom('n', 'm.m'), { nil: undefined })
const issuedId = fc.uuid().map(nonce => writeToolCallId({ stateId: undefined, name: undefined, callNumber: 0, nonce }))
const callId = fc.option(fc.oneof(fc.constantFrom('c1', 'c2', 'c3', 'call_c1', 'x'.repeat(60), 'f.g:0'), issuedId), {
  nil: null
})

const part: fc.Arbitrary<ContentPart> = fc.oneof(
  { weight: 3, arbitrary: text.map(text => ({ type: 'text' as const, text })) },
  text.map(text => ({ type: 'reasoning' as const, text: `hidden ${text}` })),
  text.map(text => ({ type: 'refusal' as const, text })),
  fc.constant({ type: 'image' as const, source: { kind: 'url' as const, url: 'https://a.test/1' }, path: 'p' }),
  fc.record({ id: callId, name: toolName, namespace, arguments: jsonObject }).map(({ namespace, ...call }) => ({
    type: 'tool-call' as const,
    ...call,
    ...(namespace === undefined ? {} : { namespace })
  })),
  fc
    .record({ callId, name: fc.option(toolName, { nil: undefined }), text, isError: fc.boolean(), marks: fc.boolean() })
    .map(({ callId, name, text, isError, marks }) => ({
      type: 'tool-result' as const,
      callId,
      content: [{ type: 'text' as const, text }],
      isError,
      path: 'messages[0].tool_call_id',
      ...(name === undefined ? {} : { name }),
      ...(marks ? { hasErrorFlag: true as const } : {})
    }))
)

const form = fc.constantFrom<NormalizedMessage['form']>('text', 'pieces', 'null', undefined)
const message: fc.Arbitrary<NormalizedMessage> = fc
  .record({
    role: fc.constantFrom<NormalizedMessage['role']>('system', 'developer', 'user', 'assistant', 'tool'),
    content: fc.array(part, { maxLength: 4 }),
    form
  })
  .map(({ form, role, content }) => {
    const fitting = role === 'assistant' ? content : content.filter(({ type }) => type !== 'tool-call')
    return { role, content: fitting, ...(form === undefined ? {} : { form }) }
  })

const tool: fc.Arbitrary<NormalizedTool> = fc
  .record({ name: toolName, namespace, parameters: jsonObject })
  .map(({ namespace, ...tool }) => ({
    type: 'function' as const,
    ...tool,
    ...(namespace === undefined ? {} : { namespace })
  }))
const choice: fc.Arbitrary<ToolChoice> = fc.oneof(
  fc.constantFrom<ToolChoice>({ type: 'auto' }, { type: 'none' }, { type: 'required' }),
  toolName.map(name => ({ type: 'function' as const, name })),
  fc.record({
    type: fc.constant('allowed' as const),
    mode: fc.constantFrom('auto', 'required'),
    names: fc.array(toolName, { maxLength: 3 })
  })
)

const request = fc
  .record({
    isStream: fc.boolean(),
    messages: fc.array(message, { minLength: 1, maxLength: 8 }),
    tools: fc.array(tool, { maxLength: 4 }),
    toolChoice: fc.option(choice, { nil: undefined }),
    parallelToolCalls: fc.option(fc.constantFrom('requested', 'refused'), { nil: undefined })
  })
  .map(members => {
    const given = Object.entries(members).filter(([, value]) => value !== undefined)
    return makeRequest(Object.fromEntries(given) as Partial<NormalizedRequest>)
  })

interface WireMessage {
  role: string
  content: unknown
  tool_calls?: Array<{ id: string; function: { name: string; arguments: string } }>
  tool_call_id?: string
  name?: string
}

/** The rules of a strict server: each call of a turn has its one result directly behind it, except in the last turn. */
function assertOrdered(messages: readonly WireMessage[]): void {
  let waiting = new Set<string>()
  for (const { role, content, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === 'tool') {
      if (!waiting.delete(id ?? '')) throw new Error(`the result ${id} has no call before it`)
      if (typeof content !== 'string') throw new Error('a result is no text')
      continue
    }
    if (waiting.size > 0) throw new Error(`no result for ${[...waiting].join()}`)
    if (calls === undefined) {
      if (content === null) throw new Error('a message is empty')
      continue
    }
    waiting = new Set(calls.map(call => call.id))
    if (waiting.size !== calls.length || calls.length === 0) throw new Error('two calls have one id')
    for (const call of calls) {
      if (!/^[a-zA-Z0-9_-]{1,40}$/.test(call.id)) throw new Error(`the id ${call.id}`)
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(call.function.name)) throw new Error(`the name ${call.function.name}`)
      JSON.parse(call.function.arguments)
    }
  }
}

t.test('any conversation becomes one that a strict server accepts, or is refused', async t => {
  fc.assert(
    fc.property(request, request => {
      let body: JsonObject
      try {
        body = chatCompatibleFace.writeChat(request, { upstreamModel: 'm' }, options).body
      } catch (thrown) {
        if (!GatewayError.is(thrown)) throw thrown
        if (thrown.param === undefined || thrown.status !== 400) throw new Error('an error without a field')
        return
      }
      const sent = JSON.parse(JSON.stringify(body)) as { messages: WireMessage[] }
      // Whether calls at the end may still be open is for the provider to say; the emulator refuses them.
      const endsWithCalls = sent.messages.at(-1)?.tool_calls !== undefined
      if (sent.messages.length > 0 && !endsWithCalls) readOpenAiChat(sent, {} as never)
      assertOrdered(sent.messages)
      const written = JSON.stringify(sent.messages)
      if (written.includes('hidden ')) throw new Error('reasoning was sent')
      for (const { role, content } of request.messages) {
        if (role !== 'user' || content.some(({ type }) => type === 'tool-result')) continue
        for (const part of content) {
          if (part.type === 'text' && !written.includes(JSON.stringify(part.text).slice(1, -1))) throw new Error('lost')
        }
      }
    }),
    { numRuns: 3000 }
  )
  t.pass()
})
