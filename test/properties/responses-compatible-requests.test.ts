// Any conversation of any client becomes one that the strict service of the Responses wire accepts.

import t from 'tap'
import { readResponses } from '../../ops/emulator/responses/read.ts'
import { encryptReasoning } from '../../ops/emulator/responses/reasoning.ts'
import { createResponseStore } from '../../ops/emulator/responses/store.ts'
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
import { responsesCompatibleFace } from '../../worker/protocols/responses/provider/face.ts'
import * as fc from '../support/properties.ts'
import { makeRequest } from '../worker/protocols/native/support.ts'
import { options } from '../worker/protocols/responses/provider/support.ts'

function writeReasoning(text: string): string {
  return JSON.stringify({ type: 'reasoning', id: `rs_${text}`, summary: [], encrypted_content: encryptReasoning(text) })
}

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
  fc.constantFrom('one', 'two').map(text => ({
    type: 'reasoning' as const,
    text: 'hidden',
    state: { responses: { reasoningItem: writeReasoning(text) } }
  })),
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

interface WireItem {
  type: string
  call_id?: string
  name?: string
  role?: string
}

t.test('any conversation becomes one that the strict service accepts, or is refused', async t => {
  fc.assert(
    fc.property(request, request => {
      let body: JsonObject
      try {
        body = responsesCompatibleFace.writeChat(request, { upstreamModel: 'm' }, options).body
      } catch (thrown) {
        if (!GatewayError.is(thrown)) throw thrown
        if (thrown.param === undefined || thrown.status !== 400) throw new Error('an error without a field')
        return
      }
      const sent = JSON.parse(JSON.stringify(body)) as { input: WireItem[] }
      const answered = new Set(sent.input.filter(({ type }) => type.endsWith('_output')).map(({ call_id: id }) => id))
      const calls = sent.input.filter(({ type }) => type === 'function_call')
      // Whether calls at the end may still be open is for the provider to say; the emulator refuses them.
      const isOpen = calls.some(({ call_id: id }) => !answered.has(id))
      if (sent.input.length > 0 && !isOpen) readResponses(sent, { responses: createResponseStore() })
      if (new Set(calls.map(({ call_id: id }) => id)).size !== calls.length) throw new Error('two calls have one id')
      const written = JSON.stringify(sent)
      if (written.includes('hidden ')) throw new Error('reasoning of another wire was sent')
      for (const { role, content } of request.messages) {
        if (role !== 'user' || content.some(({ type }) => type === 'tool-result')) continue
        for (const part of content) {
          if (part.type === 'text' && !written.includes(JSON.stringify(part.text).slice(1, -1))) throw new Error('lost')
        }
      }
    })
  )
  t.pass()
})
