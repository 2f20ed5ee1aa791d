import t from 'tap'
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
import { messagesCompatibleFace } from '../../worker/protocols/messages/provider/face.ts'
import * as fc from '../support/properties.ts'
import { options } from '../worker/protocols/messages/provider/support.ts'
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
const state = fc.constantFrom(
  undefined,
  { messages_compatible: { signature: 'own' } },
  { messages_compatible: { redacted: 'own' } },
  { content_compatible: { thoughtSignature: 'foreign' } },
  { native: { toolStateId: 'foreign' } }
)

const part: fc.Arbitrary<ContentPart> = fc.oneof(
  { weight: 3, arbitrary: text.map(text => ({ type: 'text' as const, text })) },
  fc.record({ text, state }).map(({ text, state }) => ({
    type: 'reasoning' as const,
    text: `hidden ${text}`,
    ...(state === undefined ? {} : { state })
  })),
  text.map(text => ({ type: 'refusal' as const, text })),
  fc.constant({ type: 'image' as const, source: { kind: 'url' as const, url: 'https://a.test/1' }, path: 'p' }),
  fc.record({ id: callId, name: toolName, namespace, arguments: jsonObject }).map(({ namespace, ...call }) => ({
    type: 'tool-call' as const,
    ...call,
    ...(namespace === undefined ? {} : { namespace })
  })),
  fc
    .record({ callId, name: fc.option(toolName, { nil: undefined }), text, isError: fc.boolean() })
    .map(({ callId, name, text, isError }) => ({
      type: 'tool-result' as const,
      callId,
      content: [{ type: 'text' as const, text }],
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
    form
  })
  .map(({ form, role, content }) => {
    const isPrompt = role === 'user' || role === 'tool'
    const fitting = content.filter(({ type }) => {
      if (type === 'tool-call' || type === 'reasoning') return role === 'assistant'
      return type === 'image' || type === 'tool-result' ? isPrompt : true
    })
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
    parallelToolCalls: fc.option(fc.constantFrom('requested', 'refused'), { nil: undefined }),
    sampling: fc.constantFrom({}, { maxOutputTokens: 500 }, { maxOutputTokens: 5000 }),
    reasoning: fc.option(
      fc.record({ budgetTokens: fc.constantFrom(-1, 0, 5, 2000, 100_000), isVisible: fc.boolean() }),
      { nil: undefined }
    )
  })
  .map(members => {
    const given = Object.entries(members).filter(([, value]) => value !== undefined)
    return makeRequest(Object.fromEntries(given) as Partial<NormalizedRequest>)
  })

interface WireBody {
  max_tokens: number
  system?: string | JsonObject[]
  messages: Array<{ role: string; content: string | JsonObject[] }>
  tools?: Array<{ name: string; input_schema: JsonObject }>
  tool_choice?: { type: string; name?: string }
  thinking?: { type: string; budget_tokens?: number }
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/

function listBlocks(content: string | JsonObject[]): JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The rules of the service for one message. */
function assertMessage({ role, content }: WireBody['messages'][number], isLast: boolean): void {
  const blocks = listBlocks(content)
  if (blocks.length === 0) throw new Error('a message is empty')
  for (const block of blocks) {
    if (block.type === 'text' && (block.text as string).trim() === '') throw new Error('a text is blank')
    const isOfAssistant = block.type === 'tool_use' || String(block.type).endsWith('thinking')
    if (isOfAssistant !== (role === 'assistant') && block.type !== 'text') throw new Error(`${block.type} of ${role}`)
  }
  const last = blocks.at(-1)
  if (role === 'assistant' && String(last?.type).endsWith('thinking')) throw new Error('thinking ends a turn')
  if (isLast && role === 'assistant' && /\s$/.test(String(last?.text ?? ''))) throw new Error('white space at the end')
}

/** The rules of the service for calls: each has its one result at the start of the next message, and ids are unique. */
function assertPaired(messages: WireBody['messages']): void {
  const ids = new Set<unknown>()
  let waiting = new Set<unknown>()
  let lastRole = ''
  for (const { role, content } of messages) {
    if (role === lastRole) throw new Error('two messages of one role')
    lastRole = role
    const blocks = listBlocks(content)
    const results = blocks.filter(({ type }) => type === 'tool_result')
    for (const [at, block] of results.entries()) {
      if (blocks[at] !== block) throw new Error('a result behind other blocks')
      if (!waiting.delete(block.tool_use_id)) throw new Error('a result without its call')
    }
    if (waiting.size > 0) throw new Error(`no result for ${[...waiting].join()}`)
    const calls = blocks.filter(({ type }) => type === 'tool_use')
    waiting = new Set(calls.map(({ id }) => id))
    for (const { id, name, input } of calls) {
      if (ids.has(id)) throw new Error('two calls have one id')
      ids.add(id)
      if (!/^[a-zA-Z0-9_-]{1,40}$/.test(String(id))) throw new Error(`the id ${id}`)
      if (!NAME.test(String(name))) throw new Error(`the name ${name}`)
      if (typeof input !== 'object' || Array.isArray(input)) throw new Error('arguments that are no object')
    }
  }
  if (waiting.size > 0) throw new Error('calls without results at the end')
}

function assertTools({ tools = [], tool_choice: choice, messages }: WireBody): void {
  const names = new Set(tools.map(({ name }) => name))
  if (names.size !== tools.length || ![...names].every(name => NAME.test(name))) throw new Error('names of tools')
  if (!tools.every(tool => 'type' in tool.input_schema)) throw new Error('a schema without a type')
  if (choice !== undefined && tools.length === 0) throw new Error('a choice without tools')
  if (choice?.name !== undefined && !names.has(choice.name)) throw new Error('the choice of an unknown tool')
  const hasCall = messages.some(({ content }) => listBlocks(content).some(({ type }) => type === 'tool_use'))
  if (hasCall && tools.length === 0) throw new Error('calls without tools')
}

function assertThinking({ thinking, max_tokens: max, tool_choice: choice, messages }: WireBody): void {
  if (thinking === undefined || thinking.type === 'disabled') return
  if (choice?.type === 'any' || choice?.type === 'tool') throw new Error('thinking beside a forced tool')
  if (messages.at(-1)?.role === 'assistant') throw new Error('thinking beside a text to continue')
  if (thinking.type !== 'enabled') return
  const { budget_tokens: budget = 0 } = thinking
  if (budget < 1024 || budget >= max) throw new Error(`a budget of ${budget} within ${max}`)
  const [turn, results] = messages.slice(-2)
  const isLoop = results !== undefined && listBlocks(results.content)[0]?.type === 'tool_result'
  if (isLoop && turn !== undefined && !String(listBlocks(turn.content)[0]?.type).endsWith('thinking')) {
    throw new Error('a budget behind a turn without thinking')
  }
}

t.test('any conversation becomes one that the service accepts, or is refused', async t => {
  fc.assert(
    fc.property(request, request => {
      let body: JsonObject
      try {
        body = messagesCompatibleFace.writeChat(request, { upstreamModel: 'm' }, options).body
      } catch (thrown) {
        if (!GatewayError.is(thrown)) throw thrown
        if (thrown.param === undefined || thrown.status !== 400) throw new Error('an error without a field')
        return
      }
      const sent = JSON.parse(JSON.stringify(body)) as WireBody
      for (const [index, message] of sent.messages.entries()) {
        assertMessage(message, index === sent.messages.length - 1)
      }
      assertPaired(sent.messages)
      assertTools(sent)
      assertThinking(sent)
      for (const block of listBlocks(sent.system ?? 'x')) {
        if ((block.text as string).trim() === '') throw new Error('a blank instruction')
      }
      const written = JSON.stringify([sent.system, sent.messages])
      if (written.includes('foreign')) throw new Error('state of another kind was sent')
      const blocks = sent.messages.flatMap(({ content }) => listBlocks(content))
      const spoken = blocks.filter(({ type }) => type !== 'thinking')
      if (JSON.stringify(spoken).includes('hidden ')) throw new Error('reasoning was sent as text')
      if (blocks.some(({ type, signature }) => type === 'thinking' && signature !== 'own')) throw new Error('unsigned')
      for (const { role, content } of request.messages) {
        if (role !== 'user') continue
        for (const part of content) {
          if (part.type !== 'text' || part.text.trim() === '') continue
          if (!written.includes(JSON.stringify(part.text).slice(1, -1))) throw new Error('a text was lost')
        }
      }
    }),
    { numRuns: 3000 }
  )
  t.pass()
})
