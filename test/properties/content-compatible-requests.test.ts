import t from 'tap'
import { readGoogleChat } from '../../ops/emulator/google/read.ts'
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
import { contentCompatibleFace } from '../../worker/protocols/content/provider/face.ts'
import * as fc from '../support/properties.ts'
import { options } from '../worker/protocols/content/provider/support.ts'
import { makeRequest } from '../worker/protocols/native/support.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const jsonObject = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
  .map(value => JSON.parse(JSON.stringify(value)) as JsonObject)
const toolName = fc.oneof(
  fc.constantFrom('f', 'g', 'a.b', 'a_b', 'n__f', '1f', 'ü'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 90 })
)
const namespace = fc.option(fc.constantFrom('n', 'm.m'), { nil: undefined })
const issuedId = fc.uuid().map(nonce => writeToolCallId({ stateId: undefined, name: undefined, callNumber: 0, nonce }))
const callId = fc.option(fc.oneof(fc.constantFrom('c1', 'c2', 'c3', 'call_c1', 'x'.repeat(60)), issuedId), {
  nil: null
})
const state = fc.option(
  fc.oneof(
    text.map(thoughtSignature => ({ content_compatible: { thoughtSignature } })),
    fc.constant({ messages_compatible: { signature: 'foreign' } })
  ),
  { nil: undefined }
)
const withState = <Part extends ContentPart>(part: fc.Arbitrary<Part>) =>
  fc.tuple(part, state).map(([one, state]) => (state === undefined ? one : { ...one, state }))

const part: fc.Arbitrary<ContentPart> = fc.oneof(
  { weight: 3, arbitrary: withState(text.map(text => ({ type: 'text' as const, text }))) },
  withState(text.map(text => ({ type: 'reasoning' as const, text: `hidden ${text}` }))),
  text.map(text => ({ type: 'refusal' as const, text })),
  fc.constant({ type: 'image' as const, source: { kind: 'url' as const, url: 'https://a.test/1' }, path: 'p' }),
  withState(
    fc.record({ id: callId, name: toolName, namespace, arguments: jsonObject }).map(({ namespace, ...call }) => ({
      type: 'tool-call' as const,
      ...call,
      ...(namespace === undefined ? {} : { namespace })
    }))
  ),
  fc
    .record({
      callId,
      name: fc.option(toolName, { nil: undefined }),
      text,
      isError: fc.boolean(),
      hasImage: fc.boolean()
    })
    .map(({ callId, name, text, isError, hasImage }) => ({
      type: 'tool-result' as const,
      callId,
      content: [
        { type: 'text' as const, text },
        ...(hasImage
          ? [
              {
                type: 'image' as const,
                source: { kind: 'bytes' as const, mediaType: 'image/png', base64: 'aGk=' },
                path: 'p'
              }
            ]
          : [])
      ],
      isError,
      path: 'messages[0].tool_call_id',
      ...(name === undefined ? {} : { name })
    }))
)

const form = fc.constantFrom<NormalizedMessage['form']>('text', 'pieces', 'null', undefined)
const message: fc.Arbitrary<NormalizedMessage> = fc
  .record({
    role: fc.constantFrom<NormalizedMessage['role']>('system', 'developer', 'user', 'assistant', 'tool'),
    content: fc.array(part, { maxLength: 4 }),
    form,
    state
  })
  .map(({ form, role, content, state }) => {
    const fitting = role === 'assistant' ? content : content.filter(({ type }) => type !== 'tool-call')
    return {
      role,
      content: fitting,
      ...(form === undefined ? {} : { form }),
      ...(state === undefined ? {} : { state })
    }
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
    toolChoice: fc.option(choice, { nil: undefined })
  })
  .map(members => {
    const given = Object.entries(members).filter(([, value]) => value !== undefined)
    return makeRequest(Object.fromEntries(given) as Partial<NormalizedRequest>)
  })

interface WirePart {
  text?: string
  thought?: boolean
  thoughtSignature?: string
  functionCall?: { id?: string; name: string; args: object }
  functionResponse?: { id?: string; name: string; response: object }
}

interface WireContent {
  role: string
  parts: WirePart[]
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/

/**
 * The rules of a strict server: contents in turn, and all results of a turn directly behind its calls, in their order and in a content
 * of their own, behind which another of the user may follow (decisions.md 83).
 */
function assertOrdered(contents: readonly WireContent[], isSigned: boolean): void {
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== 'user' && role !== 'model') throw new Error(`the role ${role}`)
    const isBehindResults = role === 'user' && hasResult(contents[index - 1]) && !parts.some(isResult)
    if (contents[index - 1]?.role === role && !isBehindResults) throw new Error('two contents of one side')
    if (parts.length === 0) throw new Error('a content without parts')
    if (parts.some(({ text, thoughtSignature }) => text === '' && thoughtSignature === undefined)) {
      throw new Error('an empty text')
    }
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
    const before = contents[index - 1]?.parts.flatMap(({ functionCall }) => functionCall ?? []) ?? []
    const results = parts.flatMap(({ functionResponse }) => functionResponse ?? [])
    if (role === 'user' && calls.length > 0) throw new Error('a call of the user')
    if (role === 'model' && results.length > 0) throw new Error('a result of the model')
    for (const { name } of [...calls, ...results]) if (!NAME.test(name)) throw new Error(`the name ${name}`)
    const isCallSigned = parts.some(part => part.functionCall !== undefined && part.thoughtSignature !== undefined)
    if (calls.length > 0 && isSigned && !isCallSigned) throw new Error('calls without a signature')
    if (role !== 'user') continue
    const head = ({ id, name }: { id?: string; name: string }) => `${id} ${name}`
    if (results.map(head).join() !== before.map(head).join()) throw new Error('results that do not fit their calls')
    if (results.length > 0 && !parts.every(isResult)) throw new Error('results beside other parts')
  }
}

function isResult(part: WirePart): boolean {
  return part.functionResponse !== undefined
}

function hasResult(content: WireContent | undefined): boolean {
  return content?.parts.some(isResult) === true
}

function hasCall(content: WireContent | undefined): boolean {
  return content?.parts.some(part => part.functionCall !== undefined) === true
}

/** The same request of a client that did not keep the signatures. */
function withoutSignatures(sent: { contents: WireContent[] }): { contents: WireContent[] } {
  const contents = sent.contents.flatMap(({ role, parts }) => {
    const kept = parts.flatMap(({ thoughtSignature: _, ...part }) => (part.text === '' ? [] : [part]))
    return kept.length === 0 ? [] : [{ role, parts: kept }]
  })
  return { ...sent, contents: contents.length === 0 ? [{ role: 'user', parts: [{ text: 'hi' }] }] : contents }
}

t.test('any conversation becomes one that a strict server accepts, or is refused', async t => {
  const models = fc.constantFrom('gemini-2.5-pro', 'gemini-3-pro', 'other')
  fc.assert(
    fc.property(request, models, (request, upstreamModel) => {
      let body: JsonObject
      try {
        body = contentCompatibleFace.writeChat(request, { upstreamModel }, options).body
      } catch (thrown) {
        if (!GatewayError.is(thrown)) throw thrown
        if (thrown.param === undefined || thrown.status !== 400) throw new Error('an error without a field')
        return
      }
      const sent = JSON.parse(JSON.stringify(body)) as { contents: WireContent[] }
      assertOrdered(sent.contents, upstreamModel === 'gemini-3-pro')
      // Whether a conversation may begin with the model or end with open calls is for the provider to say; the emulator refuses both, and
      // signatures that it did not make. Without its signature an empty text is left out, so what is left may begin with the model.
      const unsigned = withoutSignatures(sent)
      const isUsual = unsigned.contents[0]?.role === 'user' && !hasCall(unsigned.contents.at(-1))
      if (isUsual) readGoogleChat(unsigned, { model: 'gemini-2.5-pro', isStream: false })
      const written = JSON.stringify(body)
      if (written.includes('foreign')) throw new Error('state of another kind was sent')
      for (const { parts } of sent.contents) {
        const isShown = parts.some(part => part.text?.startsWith('hidden ') && part.thoughtSignature === undefined)
        if (isShown) throw new Error('unsigned reasoning was sent')
      }
      for (const { role, content } of request.messages) {
        if (role !== 'user') continue
        for (const part of content) {
          if (part.type === 'text' && !written.includes(JSON.stringify(part.text).slice(1, -1))) throw new Error('lost')
        }
      }
    }),
    { numRuns: 3000 }
  )
  t.pass()
})
