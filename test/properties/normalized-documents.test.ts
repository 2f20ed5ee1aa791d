import t from 'tap'
import { writeClientRequest } from '../../worker/debug/formats.ts'
import { readRequestDocument } from '../../worker/debug/normalized/read-request.ts'
import { writeRequestDocument } from '../../worker/debug/normalized/write-request.ts'
import {
  type ClientProtocol,
  type ContentPart,
  type Conversation,
  type FunctionTool,
  type JsonObject,
  type MediaSource,
  NORMALIZED_VERSION,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type OutputFormat,
  type ProviderState,
  type Reasoning,
  type Sampling,
  type ToolChoice
} from '../../worker/normalized/index.ts'
import { clientFaces } from '../../worker/protocols/registry.ts'
import * as fc from '../support/properties.ts'

/** Every member of the type appears: the arbitraries are checked against it. */
type Members<Type> = { [Name in keyof Required<Type>]: fc.Arbitrary<NonNullable<Type[Name]> | null> }

const text = fc.string({ unit: 'grapheme', maxLength: 8 })
const yes = fc.constant(true as const)
const json = fc.jsonValue({ maxDepth: 3 }).map(value => JSON.parse(JSON.stringify(value)))
/** Also with a member that would reach the prototype of a careless copy. */
const object: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.dictionary(text, json, { maxKeys: 3 }), fc.boolean())
  .map(([value, isOdd]) => JSON.parse(isOdd ? `{"__proto__":{"a":1},"b":2}` : JSON.stringify(value)))
const number = fc.integer({ min: -100, max: 100 }).map(value => value / 4)
const kind = fc.constantFrom('web_search' as const, 'code_interpreter' as const, 'model_3d_generate' as const)

/** An object with some of its optional members; null stands for a member that must be there and be null. */
function some<Type extends object>(members: Members<Type>, required: ReadonlyArray<keyof Type> = []) {
  return fc.record(members as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: [...required] as string[]
  }) as unknown as fc.Arbitrary<Type>
}

const state: fc.Arbitrary<ProviderState> = some<ProviderState>({
  native: some({ toolStateId: text, threadId: text, messageId: text }),
  chat_compatible: some({ reasoningDetails: text, extraContent: text }),
  messages_compatible: some({ signature: text, redacted: text }),
  content_compatible: some({ thoughtSignature: text }),
  responses: some({ reasoningItem: text, phase: text })
})

const source = fc.oneof(
  some<Extract<MediaSource, { kind: 'url' }>>({ kind: fc.constant('url' as const), url: text, mediaType: text }, [
    'kind',
    'url'
  ]),
  fc.record({ kind: fc.constant('bytes' as const), mediaType: text, base64: text }),
  fc.record({ kind: fc.constant('file-id' as const), fileId: text })
)

type Of<Type extends ContentPart['type']> = Extract<ContentPart, { type: Type }>
const is = <Type extends string>(type: Type) => fc.constant(type)

const plainPart: fc.Arbitrary<ContentPart> = fc.oneof(
  { weight: 3, arbitrary: some<Of<'text'>>({ type: is('text'), text, state }, ['type', 'text']) },
  some<Of<'reasoning'>>({ type: is('reasoning'), text, state }, ['type', 'text']),
  some<Of<'refusal'>>({ type: is('refusal'), text, state }, ['type', 'text']),
  some<Of<'image'>>({ type: is('image'), source, detail: text, path: text, member: text, state }, [
    'type',
    'source',
    'path'
  ]),
  some<Of<'file'>>({ type: is('file'), source, filename: text, path: text, member: text, state }, [
    'type',
    'source',
    'path'
  ]),
  some<Of<'tool-call'>>(
    {
      type: is('tool-call'),
      id: fc.option(text),
      name: text,
      namespace: text,
      arguments: object,
      argumentsText: object.map(value => JSON.stringify(value)),
      state
    },
    ['type', 'id', 'name', 'arguments']
  )
)

const part: fc.Arbitrary<ContentPart> = fc.oneof(
  { weight: 4, arbitrary: plainPart },
  some<Of<'tool-result'>>(
    {
      type: is('tool-result'),
      callId: fc.option(text),
      name: text,
      content: fc.array(plainPart, { maxLength: 3 }),
      isError: fc.boolean(),
      hasErrorFlag: yes,
      path: text,
      state
    },
    ['type', 'callId', 'content', 'isError', 'path']
  )
)

const message = some<NormalizedMessage>(
  {
    role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool'),
    sentRole: fc.constantFrom('function', 'other'),
    name: text,
    content: fc.array(part, { maxLength: 4 }),
    form: fc.constantFrom('text', 'null', 'absent', 'pieces'),
    uploadedFiles: fc.record({ fileIds: fc.array(text, { maxLength: 2 }), path: text }),
    state
  },
  ['role', 'content']
)

const tool: fc.Arbitrary<NormalizedTool> = fc.oneof(
  some<Extract<NormalizedTool, { type: 'function' }>>(
    {
      type: is('function'),
      name: text,
      namespace: text,
      description: text,
      parameters: object,
      parametersText: text,
      strict: fc.boolean(),
      fewShotExamples: json,
      returnParameters: json,
      isDeferred: yes,
      path: text,
      freeForm: some<NonNullable<FunctionTool['freeForm']>>(
        { description: text, grammar: fc.record({ syntax: text, definition: text }) },
        []
      ),
      memberPaths: some<NonNullable<FunctionTool['memberPaths']>>(
        { strict: text, fewShotExamples: text, returnParameters: text },
        []
      )
    },
    ['type', 'name', 'parameters']
  ),
  some<Extract<NormalizedTool, { type: 'hosted' }>>(
    { type: is('hosted'), kind, sentType: text, config: object, timezone: text, path: text },
    ['type', 'kind', 'sentType', 'config']
  ),
  some<Extract<NormalizedTool, { type: 'unsupported' }>>(
    { type: is('unsupported'), sentType: text, definition: json, path: text },
    ['type', 'sentType', 'definition']
  )
)

const toolChoice: fc.Arbitrary<ToolChoice> = fc.oneof(
  fc.record({ type: fc.constantFrom('auto', 'none', 'required') }),
  fc.record({ type: is('function'), name: text }),
  fc.record({ type: is('hosted'), kind }),
  some<Extract<ToolChoice, { type: 'allowed' }>>(
    {
      type: is('allowed'),
      mode: fc.constantFrom('auto', 'required'),
      names: fc.array(text, { maxLength: 2 }),
      kinds: fc.array(kind, { maxLength: 2 })
    },
    ['type', 'mode', 'names']
  )
)

const output: fc.Arbitrary<OutputFormat> = fc.oneof(
  fc.record({ type: is('text') }),
  fc.record({ type: is('json-object'), path: text }),
  some<Extract<OutputFormat, { type: 'json-schema' }>>(
    {
      type: is('json-schema'),
      schema: object,
      name: text,
      description: text,
      strict: fc.boolean(),
      wantsBareString: yes
    },
    ['type', 'schema']
  )
)

const sampling = some<Sampling>({
  temperature: number,
  topP: number,
  topK: number,
  maxOutputTokens: fc.integer({ min: 1, max: 1000 }),
  stop: fc.array(text, { maxLength: 2 }),
  seed: number,
  presencePenalty: number,
  frequencyPenalty: number
})

const reasoning = some<Reasoning>({
  effort: fc.constantFrom('none', 'high'),
  budgetTokens: fc.integer({ min: -1 }),
  summary: text,
  generateSummary: text,
  context: text,
  mode: text,
  isVisible: fc.boolean()
})

const conversation = some<Conversation>({
  previousResponseId: text,
  conversationId: text,
  storedConversationId: text,
  store: fc.boolean(),
  storesByDefault: yes,
  background: fc.boolean(),
  include: fc.array(text, { maxLength: 2 })
})

type Traits = 'fieldPaths' | 'carriesFileBytes' | 'chatWire' | 'compacts' | 'refusal' | 'turn'

const body = some<Omit<NormalizedRequest, Traits>>(
  {
    version: fc.constant(NORMALIZED_VERSION),
    requestId: text,
    model: text,
    isStream: fc.boolean(),
    wantsStreamUsage: fc.boolean(),
    messages: fc.array(message, { maxLength: 4 }),
    tools: fc.array(tool, { maxLength: 3 }),
    toolChoice,
    usesLegacyFunctions: fc.boolean(),
    parallelToolCalls: fc.constantFrom('requested', 'refused'),
    output,
    sampling,
    reasoning,
    conversation,
    additionalFields: object,
    uploadedFileIds: fc.array(text, { maxLength: 2 }),
    extraHeaders: object,
    user: text,
    metadata: object,
    echo: some<NonNullable<NormalizedRequest['echo']>>({ members: object, text, userText: text }, ['members']),
    ignored: object
  },
  [
    'version',
    'requestId',
    'isStream',
    'wantsStreamUsage',
    'messages',
    'tools',
    'usesLegacyFunctions',
    'sampling',
    'ignored'
  ]
)

const protocol = fc.constantFrom<ClientProtocol>('completions', 'responses', 'messages', 'content')

const request = fc
  .tuple(body, protocol)
  .map(([members, of]): { request: NormalizedRequest; protocol: ClientProtocol } => ({
    request: { ...members, ...clientFaces[of].traits },
    protocol: of
  }))

t.test('a request is read back from the text of its document without loss', async t => {
  fc.assert(
    fc.property(request, ({ request, protocol }) => {
      const document = JSON.parse(JSON.stringify(writeRequestDocument(request, protocol)))
      const read = readRequestDocument(document, 'another id')
      t.strictSame(read.protocol, protocol)
      return JSON.stringify(sortMembers(read.request)) === JSON.stringify(sortMembers(request))
    })
  )
})

t.test('every request can be written in every format of a client', async () => {
  fc.assert(
    fc.property(request, ({ request }) => {
      for (const format of ['openai', 'responses', 'anthropic', 'gemini'] as const) {
        JSON.stringify(writeClientRequest(format, request))
      }
    })
  )
})

t.test('a document of any other form is refused with the path of every mistake', async t => {
  const names = ['schema_version', 'messages', 'tools', 'limits', 'sampling', 'provider_state', 'foo', 'output']
  fc.assert(
    fc.property(request, fc.constantFrom(...names), json, ({ request, protocol }, name, value) => {
      const document = writeRequestDocument(request, protocol)
      let raised: { code?: string; errors?: ReadonlyArray<{ path: string }> } = {}
      try {
        readRequestDocument({ ...document, [name]: value }, 'id')
      } catch (thrown) {
        raised = thrown as typeof raised
        t.equal(raised.code, 'invalid_normalized_payload')
        t.ok((raised.errors?.length ?? 0) > 0)
      }
      return name !== 'foo' || raised.code !== undefined
    })
  )
})

/** Members in one order, with the odd one of a prototype kept as a member. */
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return members.map(([name, inner]) => [name, sortMembers(inner)])
}
