import t from 'tap'
import {
  type ContentPart,
  flattenToolName,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type ToolChoice,
  writeToolCallId
} from '../../worker/normalized/index.ts'
import { nativeV1Face } from '../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../worker/protocols/native/v2/face.ts'
import * as fc from '../support/properties.ts'
import { makeRequest, plainOptions } from '../worker/protocols/native/support.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const jsonObject = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
  .map(value => JSON.parse(JSON.stringify(value)) as JsonObject)
const toolName = fc.oneof(
  fc.constantFrom('f', 'g', 'web_search', 'a.b', 'a_b', 'a b', 'image_generate', '__gateway_user_search_web'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 90 })
)
const namespace = fc.option(fc.constantFrom('n', 'n__', 'm.m'), { nil: undefined })
const issuedId = fc
  .record({
    stateId: fc.option(fc.uuid(), { nil: undefined }),
    name: toolName,
    callNumber: fc.nat({ max: 3 }),
    nonce: fc.uuid()
  })
  .map(writeToolCallId)
const callId = fc.option(fc.oneof(fc.constantFrom('c1', 'c2', 'call_c1', 'toolu_1'), issuedId), { nil: null })
const source = fc.oneof(
  fc.record({ kind: fc.constant('url' as const), url: fc.constantFrom('https://a.test/1', 'https://a.test/2') }),
  fc.record({ kind: fc.constant('file-id' as const), fileId: fc.constantFrom('f1', 'f2') }),
  fc.record({ kind: fc.constant('bytes' as const), mediaType: fc.constant('image/png'), base64: fc.constant('QUJD') })
)

const part: fc.Arbitrary<ContentPart> = fc.oneof(
  { weight: 4, arbitrary: text.map(text => ({ type: 'text' as const, text })) },
  text.map(text => ({ type: 'reasoning' as const, text: `hidden ${text}` })),
  text.map(text => ({ type: 'refusal' as const, text })),
  source.map(source => ({ type: 'image' as const, source, path: 'p' })),
  source.map(source => ({ type: 'file' as const, source, path: 'p' })),
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

const plainText = text.map(text => ({ type: 'text' as const, text }))
const message: fc.Arbitrary<NormalizedMessage> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      role: fc.constantFrom('system', 'developer'),
      content: fc.array(plainText, { maxLength: 2 })
    })
  },
  {
    weight: 4,
    arbitrary: fc.record({
      role: fc.constantFrom('user', 'assistant', 'tool'),
      content: fc.array(part, { maxLength: 4 })
    })
  }
)

const tool: fc.Arbitrary<NormalizedTool> = fc.oneof(
  fc
    .record({ name: toolName, namespace, parameters: jsonObject, description: fc.option(text, { nil: undefined }) })
    .map(({ name, namespace, parameters, description }) => ({
      type: 'function' as const,
      name,
      parameters,
      ...(namespace === undefined ? {} : { namespace }),
      ...(description === undefined ? {} : { description })
    })),
  fc.record({
    type: fc.constant('hosted' as const),
    kind: fc.constantFrom('web_search', 'code_interpreter'),
    sentType: fc.constant('x'),
    config: fc.constantFrom({}, { a: 1 }, { b: null })
  })
)

const choice: fc.Arbitrary<ToolChoice> = fc.oneof(
  fc.constantFrom<ToolChoice>({ type: 'auto' }, { type: 'none' }, { type: 'required' }),
  toolName.map(name => ({ type: 'function' as const, name })),
  fc.constant<ToolChoice>({ type: 'hosted', kind: 'web_search' }),
  fc.record({
    type: fc.constant('allowed' as const),
    mode: fc.constantFrom('auto', 'required'),
    names: fc.array(toolName, { maxLength: 3 })
  })
)

const fields = fc.dictionary(
  fc.constantFrom(
    'preset',
    'zz',
    'storage',
    'profanity_check',
    'function_ranker',
    'model_options',
    'stream',
    'flags',
    'reasoning'
  ),
  fc.constantFrom(null, true, false, 7, 'x', {}, { a: 1 }, { a: null }, { thread_id: 'T' }),
  { maxKeys: 5 }
)

const optional = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined })

const request: fc.Arbitrary<NormalizedRequest> = fc
  .record({
    isStream: fc.boolean(),
    messages: fc.array(message, { maxLength: 8 }),
    tools: fc.array(tool, { maxLength: 5 }),
    toolChoice: optional(choice),
    parallelToolCalls: optional(fc.constantFrom('requested', 'refused')),
    output: optional(
      fc.oneof(
        fc.constant({ type: 'text' as const }),
        jsonObject.map(schema => ({ type: 'json-schema' as const, schema }))
      )
    ),
    sampling: fc.constantFrom({}, { temperature: 0 }, { temperature: 1, topP: 0.5 }, { maxOutputTokens: 5 }),
    reasoning: optional(fc.constantFrom({}, { effort: 'none' }, { effort: 'low' })),
    conversation: optional(
      fc.constantFrom({}, { store: true }, { previousResponseId: 'resp_T', storedConversationId: 'T' })
    ),
    fields
  })
  .map(({ fields, ...members }) => {
    const given = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
    return makeRequest({ ...given, additionalFields: fields as JsonObject })
  })

/** Members whose values are JSON of the client: a null in them is kept. */
const OPAQUE = new Set(['parameters', 'return_parameters', 'arguments', 'result', 'schema', 'content'])
/** Additional fields, whose values are kept unchanged. */
const GIVEN = new Set([
  'preset',
  'zz',
  'profanity_check',
  'function_ranker',
  'ranker_options',
  'reasoning',
  'flags',
  'storage',
  'model_options'
])

function findNulls(value: unknown, path: string, depth: number): string[] {
  if (value === null || value === undefined) return [path]
  if (typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, member]) => {
    const isOpaque = (OPAQUE.has(key) && !Array.isArray(member)) || (depth === 0 && GIVEN.has(key))
    if (isOpaque) return member === null || member === undefined ? [`${path}.${key}`] : []
    return findNulls(member, `${path}.${key}`, depth + 1)
  })
}

function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message)
}

/** The written request; undefined when it was refused with a field and a 4xx status. */
function writeOrRefuse<Written>(write: () => Written): Written | undefined {
  try {
    return write()
  } catch (thrown) {
    check(GatewayError.is(thrown), String(thrown))
    const error = thrown as GatewayError
    check(error.status >= 400 && error.status < 500 && error.param !== undefined, `${error.code} ${error.param}`)
    return undefined
  }
}

function checkCommon(body: JsonObject, request: NormalizedRequest, declared: JsonObject[]): void {
  const nulls = findNulls(body, 'body', 0)
  check(nulls.length === 0, nulls.join(', '))
  check(JSON.stringify(body).includes('hidden ') === false, 'reasoning was sent')
  check(body.stream === (request.isStream ? true : undefined), 'stream')
  const functions = request.tools.filter(tool => tool.type === 'function')
  for (const declaration of declared) {
    check(/^[A-Za-z0-9_-]{1,64}$/.test(String(declaration.name)), `name ${declaration.name}`)
    const isKnown = functions.some(tool => JSON.stringify(tool.parameters) === JSON.stringify(declaration.parameters))
    check(isKnown, 'a schema was changed')
  }
  check(new Set(declared.map(declaration => declaration.name)).size === declared.length, 'two functions of one name')
}

function checkNames(
  reading: { toolNames: ReadonlyMap<string, { name: string; namespace?: string }> },
  declared: JsonObject[],
  request: NormalizedRequest
): void {
  const clientNames = new Set(request.tools.flatMap(tool => (tool.type === 'function' ? [flattenToolName(tool)] : [])))
  const back = declared.map(({ name }) => {
    const known = reading.toolNames.get(String(name))
    return known === undefined ? String(name) : flattenToolName(known)
  })
  for (const name of back) check(clientNames.has(name), `${name} is no name of the client`)
  check(new Set(back).size === back.length, 'two functions came back as one')
}

t.test('the v1 body of any request obeys the contract', async t => {
  fc.assert(
    fc.property(request, request => {
      const written = writeOrRefuse(() => nativeV1Face.writeChat(request, { upstreamModel: 'm' }, plainOptions))
      if (written === undefined) return
      const { body, reading } = written
      const declared = (body.functions ?? []) as JsonObject[]
      checkCommon(body, request, declared)
      checkNames(reading, declared, request)
      for (const [index, message] of (body.messages as JsonObject[]).entries()) {
        check(typeof message.content === 'string', 'content is no text')
        check(message.role !== 'system' || index === 0, 'a system message inside')
        check(!JSON.stringify(Object.keys(message)).includes('state_id'), 'a state id')
        if (message.role === 'function') {
          check(isJsonObject(JSON.parse(String(message.content))), 'a result that is no object')
          check(typeof message.name === 'string', 'a result without a name')
        }
        if (isJsonObject(message.function_call)) check(isJsonObject(message.function_call.arguments), 'arguments')
      }
    }),
    { numRuns: 500 }
  )
  t.pass()
})

t.test('the v2 body of any request obeys the contract', async t => {
  fc.assert(
    fc.property(request, request => {
      const model = 'GigaChat-2-Max'
      const written = writeOrRefuse(() => nativeV2Face.writeChat(request, { upstreamModel: model }, plainOptions))
      if (written === undefined) return
      const { body, reading } = written
      const entries = (body.tools ?? []) as JsonObject[]
      for (const entry of entries) check(Object.keys(entry).length === 1, 'a tool entry with more than one key')
      const kinds = entries.flatMap(entry => Object.keys(entry))
      check(new Set(kinds).size === kinds.length, 'a tool kind twice')
      const functions = entries.find(entry => entry.functions !== undefined)?.functions
      check(functions === undefined || kinds.at(-1) === 'functions', 'functions are not last')
      const declared = isJsonObject(functions) ? (functions.specifications as JsonObject[]) : []
      checkCommon(body, request, declared)
      checkNames(reading, declared, request)
      for (const [index, message] of (body.messages as JsonObject[]).entries()) {
        check(['system', 'user', 'assistant', 'tool'].includes(String(message.role)), `role ${message.role}`)
        check(Array.isArray(message.content) && message.content.length > 0, 'content')
        check(message.role !== 'system' || index === 0, 'a system message inside')
      }
      check(reading.buffersToolCalls === (body.parallel_tool_calls === true), 'buffering')
      if (isJsonObject(body.storage) && body.storage.thread_id !== undefined) check(!('model' in body), 'model')
    }),
    { numRuns: 500 }
  )
  t.pass()
})

t.test('every call is sent or counted as dropped', async t => {
  fc.assert(
    fc.property(request, request => {
      const written = writeOrRefuse(() => nativeV1Face.writeChat(request, { upstreamModel: 'm' }, plainOptions))
      const messages = (written?.body.messages ?? []) as JsonObject[]
      const calls = messages.filter(message => message.function_call !== undefined).length
      const given = request.messages
        .flatMap(message => message.content)
        .filter(part => part.type === 'tool-call').length
      check(calls + (written?.reading.droppedToolCalls ?? 0) === (written === undefined ? 0 : given), 'calls got lost')
    }),
    { numRuns: 300 }
  )
  t.pass()
})
