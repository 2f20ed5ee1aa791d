// The description of a call, from the normalized request: every member, bounds, and content only where it is asked for.

import t from 'tap'
import type { NormalizedRequest } from '../../../worker/normalized/index.ts'
import { NO_CONTENT } from '../../../worker/translation/call-description.ts'
import { describeChat, describeEmbeddings, describeTokenCount } from '../../../worker/translation/describe-call.ts'

const empty: NormalizedRequest = {
  version: 'gateway.normalized.v1',
  requestId: 'r1',
  fieldPaths: {} as NormalizedRequest['fieldPaths'],
  isStream: false,
  wantsStreamUsage: false,
  carriesFileBytes: false,
  messages: [],
  tools: [],
  usesLegacyFunctions: false,
  sampling: {},
  ignored: {}
}

const request = (members: Partial<NormalizedRequest>): NormalizedRequest => ({ ...empty, ...members })
const describe = (members: Partial<NormalizedRequest>, options = NO_CONTENT) =>
  describeChat(request(members), 'completions', options)
const everything = { messages: true, tools: true, extensions: true, charactersMax: 8000 }

t.test('generation settings have the names of the SDKs, and stop strings are only counted', async t => {
  const { parameters, responseFormat } = describe({
    sampling: {
      temperature: 0,
      topP: 0.5,
      topK: 3,
      maxOutputTokens: 9,
      stop: ['canary'],
      seed: 1,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2
    },
    reasoning: { effort: 'high' },
    parallelToolCalls: 'refused',
    output: { type: 'json-schema', schema: {} }
  })
  t.same(parameters, {
    temperature: 0,
    top_p: 0.5,
    top_k: 3,
    max_tokens: 9,
    stop_count: 1,
    seed: 1,
    presence_penalty: 0.1,
    frequency_penalty: 0.2,
    reasoning_effort: 'high',
    parallel_tool_calls: false
  })
  t.equal(responseFormat, 'json_schema')
  t.same(describe({}).parameters, {})
})

t.test('every tool choice is described', async t => {
  const choices = [
    [{ type: 'auto' }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'required' }, 'required'],
    [
      { type: 'function', name: 'f' },
      { type: 'function', name: 'f' }
    ],
    [{ type: 'hosted', kind: 'web_search' }, { type: 'web_search' }],
    [
      { type: 'allowed', mode: 'auto', names: ['f'] },
      { type: 'allowed_tools', mode: 'auto', names: ['f'] }
    ]
  ] as const
  for (const [toolChoice, expected] of choices) {
    t.same(describe({ toolChoice: toolChoice as never }).toolChoice, expected)
  }
})

t.test('tools have their names; of very many only the first are named', async t => {
  const { toolNames, toolCount } = describe({
    tools: [
      { type: 'function', name: 'f', namespace: 'n', parameters: {} },
      { type: 'hosted', kind: 'web_search', sentType: 'web_search_preview', config: {} },
      { type: 'unsupported', sentType: 'mcp', definition: null }
    ]
  })
  t.same([toolNames, toolCount], [['n__f', 'web_search_preview', 'mcp'], 3])
  const tools = Array.from({ length: 500 }, () => ({
    type: 'function' as const,
    name: 'x'.repeat(1000),
    parameters: {}
  }))
  const many = describe({ tools })
  t.equal(many.toolCount, 500)
  t.ok(JSON.stringify(many).length < 40_000)
})

t.test('the stored conversation and the response that is continued are named', async t => {
  const conversation = { previousResponseId: 'resp_1', storedConversationId: 't1' }
  t.match(describe({ conversation }), { previousResponseId: 'resp_1', threadId: 't1' })
  t.match(describe({ conversation, additionalFields: { storage: { thread_id: 't2' } } }), { threadId: 't2' })
})

t.test('every part of a message is described where messages are asked for; bytes only by their size', async t => {
  const messages: NormalizedRequest['messages'] = [
    { role: 'developer', sentRole: 'function', name: 'n', form: 'text', content: [{ type: 'text', text: 'a' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'b' },
        { type: 'image', source: { kind: 'bytes', mediaType: 'image/png', base64: 'AAAA' }, path: 'p' },
        { type: 'image', source: { kind: 'url', url: 'https://a/b.png' }, path: 'p' },
        { type: 'file', source: { kind: 'file-id', fileId: 'f1' }, filename: 'x.pdf', path: 'p' }
      ]
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'c' },
        { type: 'refusal', text: 'd' },
        { type: 'tool-call', id: 'c1', name: 'f', arguments: { secret_plan: 1 } },
        { type: 'tool-call', id: null, name: 'g', arguments: {}, argumentsText: '{"raw":1}' }
      ]
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', callId: 'c1', content: [{ type: 'text', text: 'e' }], isError: false, path: 'p' }
      ]
    }
  ]
  const { messages: all } = describe({ messages }, everything)
  t.same(all, {
    isCut: false,
    value: [
      { content: 'a', name: 'n', role: 'function' },
      {
        content: [
          { text: 'b', type: 'text' },
          { source: '[image/png;base64 3 bytes]', type: 'image' },
          { source: 'https://a/b.png', type: 'image' },
          { filename: 'x.pdf', source: 'f1', type: 'file' }
        ],
        role: 'user'
      },
      {
        content: [
          { text: 'c', type: 'reasoning' },
          { text: 'd', type: 'refusal' },
          { arguments: { secret_plan: 1 }, id: 'c1', name: 'f', type: 'tool_call' },
          { arguments: '{"raw":1}', name: 'g', type: 'tool_call' }
        ],
        role: 'assistant'
      },
      {
        content: [{ content: [{ text: 'e', type: 'text' }], id: 'c1', is_error: false, type: 'tool_result' }],
        role: 'tool'
      }
    ]
  })
  const withoutTools = describe({ messages }, { ...everything, tools: false })
  t.notMatch(JSON.stringify(withoutTools), /secret_plan|raw/)
})

t.test('tools and extensions are described where they are asked for', async t => {
  const { tools, extensions } = describe(
    {
      tools: [
        { type: 'function', name: 'f', description: 'd', parameters: { type: 'object' }, strict: true },
        { type: 'hosted', kind: 'web_search', sentType: 'web_search', config: { a: 1 } },
        { type: 'unsupported', sentType: 'mcp', definition: { b: 2 } }
      ],
      additionalFields: { c: 3 }
    },
    everything
  )
  t.same(tools?.value, [
    { description: 'd', name: 'f', parameters: { type: 'object' }, strict: true, type: 'function' },
    { config: { a: 1 }, type: 'web_search' },
    { definition: { b: 2 }, type: 'mcp' }
  ])
  t.same(extensions?.value, { c: 3 })
  t.notOk('tools' in describe({}, everything))
})

t.test('a description is plain data', async t => {
  const description = describe({ model: 'm', messages: [{ role: 'user', content: [] }] }, everything)
  t.same(structuredClone(description), description)
})

t.test('embeddings and token counts are described', async t => {
  const read = { input: { type: 'tokens', tokens: [[1]] }, encoding: 'base64', model: 'm', dimensions: 8 } as const
  const described = describeEmbeddings(read as never, ['hello'], { user: 5, options: everything })
  t.same(described, {
    type: 'embeddings',
    requestedModel: 'm',
    inputCount: 1,
    encodingFormat: 'base64',
    dimensions: 8,
    user: undefined,
    messages: { value: ['hello'], isCut: false }
  })
  t.same(describeTokenCount({ model: 'x'.repeat(300) }, 'messages', ['a']), {
    type: 'token-count',
    protocol: 'messages',
    requestedModel: 'x'.repeat(256),
    inputCount: 1
  })
})
