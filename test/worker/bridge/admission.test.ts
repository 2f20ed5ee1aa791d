// What each client protocol may send to an alias of a provider that speaks chat completions (bridge.md 7.4 to 7.6): every row of the tables,
// through the whole translation of a request, for clients that want exactness and for all others (decisions.md 69 to 71).

import t from 'tap'
import { BASE_FEATURES } from '../../../shared/profile/profile.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createBlockedCell } from '../../../shared/support/support-matrix.ts'
import { admitRoute } from '../../../worker/bridge/admit.ts'
import { createRouteTable } from '../../../worker/bridge/route-table.ts'
import type { ClientProtocol, JsonObject } from '../../../worker/normalized/index.ts'
import type { ReadContext } from '../../../worker/protocols/client-face.ts'
import { chatCompatibleFace } from '../../../worker/protocols/completions/provider/face.ts'
import { publicProtocolOf } from '../../../worker/protocols/public-protocol.ts'
import { type ProviderFaces, providerFaces } from '../../../worker/protocols/registry.ts'
import { writeStateSignature } from '../../../worker/protocols/shared/state-signature.ts'
import { translateChat } from '../../../worker/translation/chat.ts'
import type { TranslatedChat } from '../../../worker/translation/types.ts'
import { ALL_FEATURES, makeAlias, makeProfile, makeProfileSet } from '../../support/profiles.ts'
import * as fc from '../../support/properties.ts'

/** As for a client of another wire: what clients of this one write goes on as it is (decisions.md 72). */
const { sameWire: _sameWire, ...face } = chatCompatibleFace
const faces: ProviderFaces = { ...providerFaces, chat_compatible: { v1: face, v2: face } }

const without = (...names: string[]) => ALL_FEATURES.filter(name => !names.includes(name))
const settings = {
  routes: createRouteTable(
    makeProfileSet([
      makeProfile('p1', [
        makeAlias('all', { limits: { contextWindow: 100, maxOutputTokens: 40 } }),
        makeAlias('exact', { limits: { contextWindow: 100, maxOutputTokens: 40 }, unsupported: 'refuse' }),
        makeAlias('window', { limits: { contextWindow: 100 } }),
        makeAlias('base', { features: BASE_FEATURES }),
        makeAlias('text', { features: [...BASE_FEATURES, 'text'] }),
        ...ALL_FEATURES.map(name => makeAlias(`no-${name}`, { features: without(name) }))
      ])
    ]),
    parseSettings({}),
    'sha256:0'
  ),
  providerOptions: { p1: { chatPath: '/chat/completions' } }
}

const environment = { settings, faces, decodeTokens: async () => [], estimateTokens: async () => 0 }

function translate(protocol: ClientProtocol, body: JsonObject, context: Partial<ReadContext> = {}): TranslatedChat {
  const job = {
    protocol,
    apiMode: 'v1' as const,
    bytes: Buffer.from(JSON.stringify(body)),
    context: { requestId: '00000000-0000-4000-8000-000000000000', ...context }
  }
  return translateChat(job, environment)
}

const user = { role: 'user', content: 'hi' }
const parameters = { type: 'object', properties: {} }
const image = 'data:image/png;base64,AAAA'

interface Family {
  protocol: ClientProtocol
  /** The smallest request for an alias. */
  body: (members: JsonObject) => JsonObject
  context: (model: string, isStream: boolean) => Partial<ReadContext>
}

const families: Record<ClientProtocol, Family> = {
  completions: { protocol: 'completions', body: members => ({ messages: [user], ...members }), context: () => ({}) },
  responses: { protocol: 'responses', body: members => ({ input: 'hi', ...members }), context: () => ({}) },
  messages: {
    protocol: 'messages',
    body: members => ({ max_tokens: 5, messages: [user], ...members }),
    context: () => ({})
  },
  content: {
    protocol: 'content',
    body: members => ({ contents: [{ parts: [{ text: 'hi' }] }], ...members }),
    context: (model, isStream) => ({ path: { model, isStream } })
  }
}

interface Sent {
  model?: string
  isStream?: boolean
  /** The client sends `x-gateway-unsupported: refuse`. */
  isExact?: boolean
}

function send(protocol: ClientProtocol, members: JsonObject, sent: Sent = {}): TranslatedChat {
  const { model = 'all', isStream = false, isExact = false } = sent
  const { body, context } = families[protocol]
  const own = protocol === 'content' ? {} : { model, ...(isStream ? { stream: true } : {}) }
  const exact = isExact ? ({ refusesUnsupported: true } as const) : {}
  return translate(protocol, { ...own, ...body(members) }, { ...context(model, isStream), ...exact })
}

/**
 * - `ok`: admitted whole.
 * - `left:` before a field: left out with a notice, refused for a client that wants exactness. Behind `|` the field of the refusal, where
 *   it is another one.
 * - `drop:` before a field: the same without a notice.
 * - a field: refused for every client; with `invalid:` before it as an `invalid_request`.
 */
type Expected = string

type Row = readonly [members: JsonObject, expected: Expected, model?: string]

function check(protocol: ClientProtocol, rows: readonly Row[]): void {
  for (const [members, expected, model = 'all'] of rows) {
    const name = `${protocol}, ${model}: ${JSON.stringify(members).slice(0, 160)} is ${expected}`
    t.test(name, async t => {
      const [, word, field = ''] = /^(?:(left|drop|invalid):)?(.*)$/.exec(expected) ?? []
      const [left = '', refused = left] = field.split('|')
      const isLeftOut = word === 'left' || word === 'drop'
      const isAdmitted = expected === 'ok'
      for (const isExact of [false, true]) {
        if (isAdmitted || (isLeftOut && !isExact)) {
          const { plan, leftOut = [] } = send(protocol, members, { model, isExact })
          t.match(plan, { publicModel: model, providerKind: 'chat_compatible' })
          t.strictSame(leftOut, word === 'left' ? [left] : [])
          continue
        }
        t.throws(() => send(protocol, members, { model, isExact }), {
          code: word === 'invalid' ? 'invalid_request' : 'unsupported_semantic',
          status: 400,
          param: refused,
          ...(word === 'invalid' ? {} : { message: `'${refused}' is not supported by model '${model}'.`, model })
        })
      }
    })
  }
}

const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const customCall = { type: 'custom_tool_call', id: 'ctc_c', call_id: 'c', name: 'c', input: 'x', status: 'completed' }
const result = { type: 'function_call_output', call_id: 'c', output: 'x' }
const tool = { type: 'function', name: 'f', parameters }
const ownReasoning = 'rs_00000000-0000-4000-8000-000000000000'
const ownState = writeStateSignature({ content_compatible: { thoughtSignature: 'c2ln' } })

check('responses', [
  [{ input: '' }, 'ok'],
  [{ instructions: 'Be brief.' }, 'ok'],
  [{ input: ['developer', 'system', 'user', 'assistant'].map(role => ({ role, content: 'x' })) }, 'ok'],
  [{ input: undefined }, 'invalid:input'],
  [{ input: [] }, 'invalid:input'],
  [{ input: [], instructions: 'x' }, 'invalid:input'],
  [{ input: 5 }, 'invalid:input'],
  [
    { input: [{ ...user, type: 'message', id: 'm', status: 'completed' }, call, { ...result, status: 'completed' }] },
    'ok'
  ],
  [{ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }, 'invalid:input'],
  [{ input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }] }, 'drop:input[1].type'],
  [
    { input: [user, { type: 'reasoning', id: ownReasoning, summary: [], encrypted_content: 'x' }] },
    'drop:input[1].type'
  ],
  [{ input: [user, { type: 'reasoning', id: ownReasoning, summary: [], encrypted_content: null }] }, 'ok'],
  [{ input: [user, { type: 'reasoning', summary: [], encrypted_content: ownState }] }, 'ok'],
  [{ input: [user, { type: 'web_search_call', id: 'w' }] }, 'drop:input[1].type'],
  [{ input: [{ ...user, status: 'incomplete' }] }, 'drop:input[0].status'],
  [{ input: [call, { role: 'tool', tool_call_id: 'c', content: 'x' }] }, 'drop:input[1].role'],
  [{ input: [{ role: 'other', content: 'x' }] }, 'drop:input[0].role'],
  [{ input: [{ role: 'assistant', content: 'x', tool_calls: [] }, user] }, 'ok'],
  [{ input: [{ ...user, extra: 1 }] }, 'drop:input[0].extra'],
  [{ input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }] }, 'ok'],
  [
    { input: [{ role: 'assistant', content: [{ type: 'output_text', text: 'x', annotations: [], logprobs: [] }] }] },
    'ok'
  ],
  [
    {
      input: [
        { role: 'assistant', content: [{ type: 'output_text', text: 'x', annotations: [{ type: 'url_citation' }] }] }
      ]
    },
    'drop:input[0].content[0].annotations'
  ],
  [
    { input: [{ role: 'assistant', content: [{ type: 'output_text', text: 'x', logprobs: [{}] }] }] },
    'drop:input[0].content[0].logprobs'
  ],
  [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: image }] }] }, 'ok'],
  [
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: image }] }] },
    'input[0].content[0].image_url',
    'no-image_references'
  ],
  // What the wire cannot carry is refused in the newest turn, and described elsewhere (decisions.md 75).
  [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }, 'input[0].content[0].file_id'],
  [{ input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: image }] }] }, 'ok'],
  [
    { input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: image }] }] },
    'left:input[0].content[0].image_url',
    'no-image_references'
  ],
  [{ input: [{ role: 'user', content: [{ type: 'input_file', file_data: image }] }] }, 'ok'],
  [
    { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://a.test' }] }] },
    'input[0].content[0].file_url'
  ],
  [{ input: [call, result] }, 'ok'],
  [{ input: [call, { ...result, output: [{ type: 'input_text', text: 'x' }] }] }, 'ok'],
  [{ input: [call, { type: 'function_call_output', output: 'x' }] }, 'drop:input[1].call_id'],
  [{ temperature: 0, top_p: 0.5, max_output_tokens: 5 }, 'ok'],
  [{ max_output_tokens: 0 }, 'invalid:max_output_tokens'],
  [{ max_output_tokens: 40 }, 'ok'],
  [{ max_output_tokens: 41 }, 'left:max_output_tokens'],
  // A quarter of the window (decisions.md 73).
  [{ max_output_tokens: 25 }, 'ok', 'window'],
  [{ max_output_tokens: 26 }, 'left:max_output_tokens', 'window'],
  [{ max_tokens: 41 }, 'left:max_tokens'],
  [{ tools: [{ ...tool, strict: false }] }, 'ok'],
  // Sent where the wire has it (decisions.md 77).
  [{ tools: [tool, { ...tool, name: 'g', strict: true }] }, 'ok'],
  [{ tools: [{ type: 'namespace', name: 'ns', tools: [tool] }] }, 'ok'],
  [
    {
      tools: [
        { type: 'namespace', name: 'ns', tools: [tool] },
        { ...tool, name: 'ns__f' }
      ]
    },
    'invalid:tools'
  ],
  [{ tools: [{ type: 'function', parameters }] }, 'left:tools[0].name'],
  ...[
    'web_search',
    'web_search_preview',
    'code_interpreter',
    'file_search',
    'image_generation',
    'computer_use_preview',
    'x'
  ].flatMap((type): Row[] => [
    [{ tools: [tool, { type }] }, 'left:tools[1]|tools[1].type'],
    [{ tools: [{ type }] }, 'tools[0].type']
  ]),
  [{ tools: [tool, { type: 'web_search' }], tool_choice: { type: 'web_search' } }, 'tool_choice'],
  ...['auto', 'none', 'required', { type: 'function', name: 'f' }].map(
    (choice): Row => [{ tools: [tool], tool_choice: choice }, 'ok']
  ),
  [{ tools: [{ type: 'custom', name: 'c' }, tool], tool_choice: { type: 'custom', name: 'c' } }, 'ok'],
  [{ tools: [{ type: 'custom' }] }, 'left:tools[0].name'],
  [{ input: [user, customCall, { type: 'custom_tool_call_output', call_id: 'c', output: 'x' }] }, 'ok'],
  [{ input: [user, { ...customCall, extra: 1 }] }, 'drop:input[1].extra'],
  [{ parallel_tool_calls: null }, 'ok', 'text'],
  [{ parallel_tool_calls: true }, 'ok'],
  [{ parallel_tool_calls: false }, 'ok', 'no-parallel_tool_calls'],
  [{ parallel_tool_calls: true }, 'left:parallel_tool_calls', 'no-parallel_tool_calls'],
  [{ text: { format: { type: 'json_schema', name: 'a', schema: parameters } } }, 'ok'],
  [
    { text: { format: { type: 'json_schema', name: 'a', schema: parameters } } },
    'text.format',
    'no-json_schema_output'
  ],
  [{ text: { format: { type: 'text' } } }, 'ok', 'text'],
  [{ text: { verbosity: 'low' } }, 'left:text.verbosity'],
  [{ text: { verbosity: 'medium' } }, 'ok'],
  [{ reasoning: {} }, 'ok', 'text'],
  [{ reasoning: { effort: 'none' } }, 'ok'],
  [{ reasoning_effort: 'none' }, 'ok'],
  [{ reasoning: { effort: 'high' } }, 'ok'],
  [{ reasoning: { effort: 'high' } }, 'left:reasoning.effort', 'no-reasoning_effort'],
  [{ reasoning_effort: 'high' }, 'left:reasoning_effort', 'no-reasoning_effort'],
  [{ reasoning: { effort: 'none' } }, 'ok', 'no-reasoning_effort'],
  [{ reasoning: { summary: 'detailed' } }, 'left:reasoning.summary'],
  [{ reasoning: { summary: 'auto' } }, 'left:reasoning.summary'],
  [{ reasoning: { effort: 5 } }, 'invalid:reasoning.effort'],
  [{ reasoning: { effort: 'high' }, reasoning_effort: 'low' }, 'invalid:reasoning_effort'],
  [{ reasoning: { effort: 'high' }, reasoning_effort: 'high' }, 'ok'],
  [{ store: 'yes' }, 'invalid:store'],
  [{ metadata: 'x' }, 'invalid:metadata'],
  [{ previous_response_id: 'resp_a' }, 'previous_response_id'],
  [{ conversation: 'c' }, 'left:conversation'],
  [{ background: true }, 'background'],
  [{ store: true }, 'store'],
  [{ store: false, background: false }, 'ok'],
  [{ include: ['reasoning.encrypted_content'] }, 'ok'],
  [{ include: [] }, 'ok'],
  [{ include: ['file_search_call.results'] }, 'left:include'],
  [{ include: ['reasoning.encrypted_content', 'x'] }, 'left:include'],
  [{ metadata: { a: 'b' } }, 'left:metadata'],
  [{ prompt_cache_key: 'k', client_metadata: { a: 1 } }, 'ok'],
  ...Object.entries({
    service_tier: 'flex',
    truncation: 'auto',
    safety_identifier: 's',
    max_tool_calls: 1,
    top_logprobs: 1,
    extra_body: { a: 1 },
    provider: 'x',
    n: 2,
    web_search_options: { a: 1 }
  }).map(([name, value]): Row => [{ [name]: value }, `left:${name}`]),
  [{ stream_options: { include_obfuscation: true } }, 'left:stream_options.include_obfuscation'],
  // What the wire has, under its own name or another.
  ...Object.entries({ user: 'u', seed: 1, stop: 'x', max_tokens: 5 }).map(
    ([name, value]): Row => [{ [name]: value }, 'ok']
  ),
  // They ask for nothing (decisions.md 70).
  ...Object.entries({
    service_tier: 'auto',
    truncation: 'disabled',
    top_logprobs: 0,
    n: 1,
    stream_options: { include_obfuscation: false },
    base_url: 'x',
    api_key: 'x',
    timeout: 5,
    extra_headers: { a: 'b' },
    extra_query: { a: 'b' },
    context_management: []
  }).map(([name, value]): Row => [{ [name]: value }, 'ok']),
  [{ prompt: { id: 'p' } }, 'prompt'],
  [{ modalities: ['text', 'audio'] }, 'modalities'],
  [{ user: null, seed: null, service_tier: null }, 'ok']
])

const toolUse = { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] }
const toolResult = (content: JsonObject['content']) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'c', content }]
})
const blocks = (...content: JsonObject[]) => ({ messages: [{ role: 'user', content }] })
const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' }
const localTool = { name: 'f', input_schema: parameters }

check('messages', [
  [{ system: 'Be brief.' }, 'ok'],
  [{ system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }, 'ok'],
  [{ messages: [user, toolUse, toolResult('x')] }, 'ok'],
  [{ messages: [user, toolUse, toolResult([{ type: 'text', text: 'x' }])] }, 'ok'],
  [{ messages: [user, toolUse, toolResult([{ type: 'image', source }])] }, 'ok'],
  [{ messages: [user, toolUse, toolResult([{ type: 'document', source }])] }, 'ok'],
  [
    { messages: [user, { role: 'assistant', content: [{ type: 'image', source }] }, user] },
    'left:messages[1].content[0].type'
  ],
  [blocks({ type: 'image', source }), 'ok'],
  [blocks({ type: 'image', source: { type: 'url', url: 'https://a.test/a.png' } }), 'ok'],
  [blocks({ type: 'image', source: { type: 'file', file_id: 'f' } }), 'messages[0].content[0]'],
  [blocks({ type: 'image', source }), 'messages[0].content[0]', 'no-image_references'],
  [
    { messages: [user, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 's' }] }, user] },
    'ok'
  ],
  [{ messages: [user, { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'x' }] }, user] }, 'ok'],
  [blocks({ type: 'text', text: 'x' }, { type: 'document', source: { type: 'text', data: 'x' } }), 'ok'],
  [blocks({ type: 'search_result', content: [] }), 'left:messages[0].content[0].type'],
  [{ messages: [] }, 'invalid:messages'],
  [{ temperature: 0, top_p: 0.5, stop_sequences: ['a'] }, 'ok'],
  [{ max_tokens: undefined }, 'invalid:max_tokens'],
  [{ max_tokens: 41 }, 'left:max_tokens'],
  [{}, 'left:max_tokens', 'no-generation_controls'],
  [{ metadata: { user_id: 'u' } }, 'left:metadata'],
  [{ tools: [localTool] }, 'ok'],
  [{ tools: [localTool], tool_choice: { type: 'any' } }, 'ok'],
  ...['auto', 'none'].map((type): Row => [{ tools: [localTool], tool_choice: { type } }, 'ok', 'no-tool_choice']),
  [{ tools: [localTool], tool_choice: { type: 'any' } }, 'tool_choice', 'no-tool_choice'],
  [{ tools: [localTool], tool_choice: { type: 'tool', name: 'f' } }, 'tool_choice', 'no-tool_choice'],
  [
    { tools: [localTool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    'ok',
    'no-parallel_tool_calls'
  ],
  [{ tools: [localTool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } }, 'ok'],
  [
    { tools: [localTool], tool_choice: { type: 'auto', disable_parallel_tool_use: false } },
    'left:tool_choice.disable_parallel_tool_use',
    'no-parallel_tool_calls'
  ],
  [{ tools: [localTool, { input_schema: parameters }] }, 'left:tools[1].name'],
  ...[
    'bash_20250124',
    'text_editor_20250728',
    'computer_20250124',
    'web_search_20250305',
    'web_fetch_20250910',
    'code_execution_20250522'
  ].flatMap((type): Row[] => [
    [{ tools: [localTool, { type, name: 'g' }] }, 'left:tools[1]|tools[1].type'],
    [{ tools: [{ type, name: 'g' }] }, 'tools[0].type']
  ]),
  [{ output_config: { format: { type: 'json_schema', schema: parameters } } }, 'ok'],
  [
    { output_config: { format: { type: 'json_schema', schema: parameters } } },
    'output_config.format',
    'no-json_schema_output'
  ],
  [{ output_format: { type: 'json_schema', schema: parameters } }, 'output_format', 'no-json_schema_output'],
  [{ output_config: { effort: 'high' } }, 'ok'],
  [{ output_config: { effort: 'high' } }, 'left:output_config.effort', 'no-reasoning_effort'],
  [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, 'left:thinking', 'no-reasoning_effort'],
  [{ thinking: { type: 'disabled' } }, 'ok', 'no-reasoning_effort'],
  [{ output_config: { task_budget: { tokens: 1 } } }, 'left:output_config.task_budget'],
  [{ thinking: { type: 'disabled' } }, 'ok'],
  [{ thinking: { type: 'adaptive' } }, 'ok'],
  [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, 'ok'],
  ...Object.entries({
    top_k: 5,
    service_tier: 'flex',
    speed: 'fast',
    betas: ['x'],
    container: 'c',
    mcp_servers: [{ name: 'm' }],
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    user: 'u',
    extra_body: { a: 1 },
    unknown: 1
  }).map(([name, value]): Row => [{ [name]: value }, `left:${name}`]),
  ...Object.entries({ service_tier: 'auto', speed: 'standard', betas: [] }).map(
    ([name, value]): Row => [{ [name]: value }, 'ok']
  ),
  [{ top_k: -1 }, 'ok'],
  [{ cache_control: { type: 'ephemeral' } }, 'ok'],
  [{ context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } }, 'ok']
])

const declaration = { name: 'f', parameters: { type: 'OBJECT' } }
const declared = [{ functionDeclarations: [declaration] }]
const part = (...parts: JsonObject[]) => ({ contents: [{ role: 'user', parts }] })
const generation = (generationConfig: JsonObject) => ({ generationConfig })
const ownCall = { functionCall: { id: 'c', name: 'f', args: {} } }
const response = { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: { a: 1 } } }] }
const calls = (signature: string) => ({
  contents: [
    { role: 'user', parts: [{ text: 'x' }] },
    { role: 'model', parts: [{ ...ownCall, thoughtSignature: signature }] },
    response
  ]
})

check('content', [
  [{ systemInstruction: { parts: [{ text: 'Be brief.' }] } }, 'ok'],
  [part({ text: 'x', extra: 1 }), 'ok'],
  [
    {
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        { role: 'model', parts: [{ text: 'y', thought: true }] }
      ]
    },
    'ok'
  ],
  [
    generation({
      temperature: 0,
      topP: 0.5,
      maxOutputTokens: 5,
      stopSequences: ['a'],
      seed: 1,
      presencePenalty: 0.1,
      frequencyPenalty: 0.1
    }),
    'ok'
  ],
  [generation({ maxOutputTokens: 41 }), 'left:generationConfig.maxOutputTokens'],
  [{ generation_config: { max_output_tokens: 41 } }, 'left:generation_config.max_output_tokens'],
  [generation({ thinkingConfig: { thinkingBudget: 0 } }), 'ok'],
  [generation({ thinkingConfig: { thinkingBudget: -1 } }), 'ok'],
  [generation({ thinkingConfig: {} }), 'ok'],
  [generation({ thinkingConfig: { thinkingBudget: 9000 } }), 'ok'],
  [generation({ topK: 5 }), 'left:generationConfig.topK'],
  [generation({ top_k: 5 }), 'left:generationConfig.top_k'],
  [generation({ candidateCount: 2 }), 'left:generationConfig.candidateCount'],
  [generation({ candidateCount: 1, responseModalities: ['TEXT'] }), 'ok'],
  [generation({ responseModalities: ['IMAGE'] }), 'generationConfig.responseModalities'],
  [generation({ mediaResolution: 'LOW' }), 'left:generationConfig.mediaResolution'],
  [generation({ unknown_member: 1 }), 'left:generationConfig.unknown_member'],
  [generation({ responseMimeType: 'text/plain' }), 'ok'],
  [generation({ responseMimeType: 'application/json', responseSchema: { type: 'OBJECT' } }), 'ok'],
  [
    generation({ responseMimeType: 'application/json', responseSchema: { type: 'OBJECT' } }),
    'generationConfig.responseSchema',
    'no-json_schema_output'
  ],
  [
    generation({ response_mime_type: 'application/json', response_json_schema: { type: 'object' } }),
    'generationConfig.response_json_schema',
    'no-json_schema_output'
  ],
  [{ tools: declared }, 'ok'],
  [
    { tools: [{ functionDeclarations: [{ ...declaration, behavior: 'NON_BLOCKING' }] }] },
    'left:tools[0].functionDeclarations[0].behavior'
  ],
  [
    // Clients with automatic function calling always send it; this wire leaves it out.
    { tools: [{ function_declarations: [{ ...declaration, response: { type: 'STRING' } }] }] },
    'left:tools[0].function_declarations[0].response'
  ],
  ...['AUTO', 'NONE', 'ANY'].map(
    (mode): Row => [{ tools: declared, toolConfig: { functionCallingConfig: { mode } } }, 'ok']
  ),
  [{ tools: declared, toolConfig: { retrievalConfig: { languageCode: 'en' } } }, 'left:toolConfig.retrievalConfig'],
  ...['googleSearch', 'urlContext', 'codeExecution', 'googleMaps', 'fileSearch'].map(
    (name): Row => [{ tools: [{ [name]: {} }] }, `tools[0].${name}`]
  ),
  ...['googleSearch', 'googleMaps'].map(
    (name): Row => [{ tools: [...declared, { [name]: {} }] }, `left:tools[1].${name}`]
  ),
  [part({ inlineData: { mimeType: 'image/png', data: 'AAAA' } }), 'ok'],
  [
    part({ inlineData: { mimeType: 'image/png', data: 'AAAA' } }),
    'contents[0].parts[0].inlineData',
    'no-image_references'
  ],
  [part({ inlineData: { mimeType: 'application/pdf', data: 'AAAA' } }), 'ok'],
  [
    part({ inlineData: { mimeType: 'application/pdf', data: 'AAAA' } }),
    'contents[0].parts[0].inlineData',
    'no-file_inputs'
  ],
  [part({ fileData: { fileUri: 'https://a.test/a.png', mimeType: 'image/png' } }), 'contents[0].parts[0].fileData'],
  [part({ text: 'x' }, { executableCode: { code: 'x' } }), 'left:contents[0].parts[1].executableCode'],
  [{ contents: [{ role: 'user', parts: [{ text: 'x' }] }, { role: 'model', parts: [ownCall] }, response] }, 'ok'],
  [calls('skip_thought_signature_validator'), 'ok'],
  [calls('Zm9yZWlnbg=='), 'drop:contents[1].parts[0].thoughtSignature'],
  [{ safetySettings: [] }, 'ok'],
  ...Object.entries({
    safetySettings: [{ category: 'x' }],
    cachedContent: 'cachedContents/a',
    store: true,
    serviceTier: 'flex',
    labels: { a: 'b' },
    unknown: 1
  }).map(([name, value]): Row => [{ [name]: value }, `left:${name}`])
])

const completionsTool = { type: 'function', function: { name: 'f', parameters } }
const content = (...parts: JsonObject[]) => ({ messages: [{ role: 'user', content: parts }] })
const assistantCall = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }]
}
const toolMessage = { role: 'tool', tool_call_id: 'c', content: 'x' }

check('completions', [
  [{ messages: ['system', 'developer', 'user', 'assistant'].map(role => ({ role, content: 'x' })) }, 'ok'],
  [content({ type: 'text', text: 'x' }, { type: 'image_url', image_url: { url: image } }), 'ok'],
  [content({ type: 'image_url', image_url: { url: image } }), 'messages[0].content[0]', 'no-image_references'],
  [content({ type: 'input_audio', input_audio: { format: 'wav', data: 'AAAA' } }), 'ok'],
  [content({ type: 'file', file: { file_id: 'f' } }), 'messages[0].content[0]'],
  [{ messages: [user, assistantCall, toolMessage] }, 'ok'],
  [{ messages: [user, assistantCall, toolMessage] }, 'ok', 'no-tool_results'],
  [{ messages: [user, assistantCall, toolMessage] }, 'ok', 'no-function_tools'],
  [
    // The old form of functions (decisions.md 77).
    { messages: [user, { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } }] },
    'ok'
  ],
  [
    {
      messages: [
        user,
        {
          ...assistantCall,
          tool_calls: [...assistantCall.tool_calls, { id: 'd', type: 'custom', custom: { name: 'x' } }]
        }
      ]
    },
    'ok'
  ],
  [{ messages: [user, assistantCall, { role: 'function', name: 'f', content: 'x' }] }, 'ok'],
  [{ functions: [{ name: 'f', parameters }], function_call: { name: 'f' } }, 'ok'],
  [{ messages: [user, assistantCall, { role: 'tool', content: 'x' }] }, 'drop:messages[2].tool_call_id'],
  [{ messages: [{ ...user, attachments: ['f'] }] }, 'messages[0].attachments'],
  [
    {
      messages: [user, assistantCall, { ...toolMessage, content: [{ type: 'image_url', image_url: { url: image } }] }]
    },
    'left:messages[2].content[0]',
    'no-image_references'
  ],
  [{ stream_options: { include_usage: true } }, 'ok'],
  [{ stream_options: { include_obfuscation: true } }, 'left:stream_options.include_obfuscation'],
  [
    {
      temperature: 0,
      top_p: 0.5,
      max_tokens: 5,
      stop: 'a',
      presence_penalty: 0.1,
      frequency_penalty: 0.1,
      seed: 1
    },
    'ok'
  ],
  [{ max_tokens: 41 }, 'left:max_tokens'],
  [{ max_completion_tokens: 41 }, 'left:max_completion_tokens'],
  [{ tools: [completionsTool], tool_choice: 'auto', parallel_tool_calls: true }, 'ok'],
  [{ tools: [completionsTool] }, 'tools', 'no-function_tools'],
  [{ tools: [{ type: 'function', function: {} }] }, 'left:tools[0].name'],
  // Functions of one text parameter (decisions.md 77).
  [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'ok'],
  [{ tools: [{ type: 'custom', custom: {} }] }, 'left:tools[0].name'],
  [{ tools: [completionsTool], tool_choice: 'sometimes' }, 'tool_choice'],
  [{ response_format: { type: 'text' } }, 'ok'],
  [{ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: parameters } } }, 'ok'],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: parameters } } },
    'response_format',
    'no-json_schema_output'
  ],
  [{ user: 'u', n: 1, store: false, prompt_cache_key: 'k' }, 'ok'],
  [{ metadata: { a: 'b' } }, 'left:metadata'],
  [{ reasoning_effort: 'high' }, 'ok'],
  [{ reasoning_effort: 'none' }, 'ok'],
  ...Object.entries({
    n: 2,
    store: true,
    logprobs: true,
    logit_bias: { 1: 2 },
    service_tier: 'flex',
    web_search_options: { a: 1 },
    extra_body: { a: 1 },
    repetition_penalty: 1,
    unknown: 0
  }).map(([name, value]): Row => [{ [name]: value }, `left:${name}`]),
  ...Object.entries({
    reasoning: { effort: 'high' },
    max_output_tokens: 5,
    extra_headers: { a: 'b' },
    base_url: 'x',
    service_tier: 'default',
    verbosity: 'medium',
    top_logprobs: 0
  }).map(([name, value]): Row => [{ [name]: value }, 'ok']),
  [{ modalities: ['audio'] }, 'modalities'],
  [{ temperature: 0.5 }, 'left:temperature', 'no-generation_controls'],
  [{ logprobs: false, modalities: ['text'], logit_bias: {} }, 'ok']
])

for (const protocol of Object.keys(families) as ClientProtocol[]) {
  t.test(
    `${protocol}: a request without any option needs text alone: the base features are implied (decisions.md 88)`,
    async t => {
      const needed = protocol === 'messages' ? ['text', 'generation_controls'] : ['text']
      for (const name of ALL_FEATURES) {
        const sent = { model: `no-${name}`, isExact: true }
        if (needed.includes(name)) t.throws(() => send(protocol, {}, sent), { code: 'unsupported_semantic' }, name)
        else t.ok(send(protocol, {}, sent), name)
      }
      t.ok(send(protocol, {}, { model: 'no-usage' }))
    }
  )

  const topKs: Partial<Record<ClientProtocol, [JsonObject, string[]]>> = {
    messages: [{ top_k: 5 }, ['max_tokens', 'top_k']],
    content: [
      { generationConfig: { temperature: 1, topK: 5 } },
      ['generationConfig.temperature', 'generationConfig.topK']
    ]
  }
  const topK = topKs[protocol]
  if (topK !== undefined) {
    t.test(`${protocol}: a top_k is named with the other settings of generation (decisions.md 70)`, async t => {
      t.strictSame(send(protocol, topK[0], { model: 'no-generation_controls' }).leftOut, topK[1])
    })
  }

  t.test(`${protocol}: a stream needs its two features`, async t => {
    t.ok(send(protocol, {}, { isStream: true }))
    const param = protocol === 'content' ? undefined : 'stream'
    for (const name of ['stream_deltas', 'stream_terminal_events']) {
      t.throws(() => send(protocol, {}, { model: `no-${name}`, isStream: true }), {
        code: 'unsupported_semantic',
        param
      })
    }
  })

  t.test(`${protocol}: an alias of a blocked cell is refused`, async t => {
    const { plan } = send(protocol, {})
    const cell = createBlockedCell(publicProtocolOf(protocol), 'chat_compatible')
    t.throws(() => admitRoute(plan, protocol, () => cell), {
      code: 'unsupported_semantic',
      param: 'model',
      message: `The request is not supported by model '${plan.publicModel}'.`,
      cause: 'route_not_integrated'
    })
  })

  t.test(`${protocol}: a plain conversation is admitted by an alias with all features`, async () => {
    const texts = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(texts, turns => {
        const messages = turns.map((text, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: text }))
        const contents = turns.map((text, index) => ({ role: index % 2 === 0 ? 'user' : 'model', parts: [{ text }] }))
        const members = {
          completions: { messages },
          responses: { input: messages },
          messages: { messages },
          content: { contents }
        }
        return send(protocol, members[protocol]).plan.publicModel === 'all'
      })
    )
  })
}

t.test('the header with ids of uploaded files is refused by its own name', async t => {
  t.throws(() => translate('responses', { model: 'all', input: 'hi' }, { attachmentIds: 'a,b' }), {
    code: 'unsupported_semantic',
    param: 'x-gateway-attachment-ids'
  })
})

t.test('the evidence of an admission lists the predicates that the request needs', async t => {
  const text = { format: { type: 'json_schema', name: 'a', schema: parameters } }
  const { plan } = send('responses', { text, parallel_tool_calls: true })
  t.match(plan.admission, {
    schemaVersion: 'gateway.bridge-admission.v1',
    publicProtocol: 'openai_responses',
    predicates: ['capability.parallel_tool_calls', 'capability.structured_output_json_schema']
  })
  t.equal(plan.evidence?.publicAlias, 'all')
})

t.test('a member named __proto__ is no way around admission', async t => {
  const bytes = Buffer.from('{"model":"all","input":"hi","__proto__":{"a":1}}')
  const job = { protocol: 'responses' as const, apiMode: 'v1' as const, bytes, context: { requestId: 'r' } }
  t.throws(() => translateChat(job, environment), {
    code: 'invalid_request',
    status: 400
  })
})
