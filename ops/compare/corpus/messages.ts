// Bodies of the messages operation: parameters, histories, attachments, hosted tools and what is refused.

import type { CompareCase } from '../types.ts'
import { createFamilyCases } from './families.ts'
import { outputSchema, picture, unreachableUrls } from './values.ts'

const user = { role: 'user', content: 'hi' }
const tool = { name: 'f', description: 'd', input_schema: { type: 'object', properties: { x: { type: 'integer' } } } }
const use = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'f', input: { x: 1 }, ...more })
const result = (tool_use_id: string, content?: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id,
  content,
  ...more
})
const says = (role: string, ...content: object[]) => ({ role, content })
const text = (words: string) => ({ type: 'text', text: words })
const image = (source: object) => ({ type: 'image', source })
const base64 = (name: string, media_type = 'image/png') => ({ type: 'base64', media_type, data: picture(name) })

const parameters: object[] = [
  { system: 'alone' },
  { system: [{ ...text('s1'), cache_control: { type: 'ephemeral' } }, text('s2')] },
  { system: [] },
  { temperature: 0, top_p: 0.9 },
  { temperature: 0.3, top_p: 0.5 },
  { temperature: -1 },
  { top_k: 5, metadata: { user_id: 'u' }, service_tier: 'auto', container: 'c', speed: 'fast', betas: ['b'] },
  { mcp_servers: [{ type: 'url', url: 'https://mcp.test', name: 'm' }], context_management: { edits: [] } },
  { extra_body: { repetition_penalty: 1.1, storage: { limit: 2 }, unknown_key: { a: 1 } } },
  { tenant: 'top', other: 1, extra_body: { tenant: 'literal', model: 'evil', temperature: 0.9 }, temperature: 0.3 },
  { extra_headers: { 'X-Tenant': 't', 'anthropic-beta': 'no' } },
  { profanity_check: false, flags: ['a'], update_interval: 1 },
  { thinking: { type: 'enabled', budget_tokens: 1024 } },
  {
    thinking: { type: 'enabled', budget_tokens: 9000 },
    messages: [says('user', text('[[reason:because]][[text:done]]'))]
  },
  { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
  { thinking: { type: 'disabled' }, messages: [says('user', text('[[reason:because]][[text:done]]'))] },
  { stop_sequences: ['ll'], messages: [says('user', text('[[chunks:He|l|lo|never]]'))] },
  { output_config: { format: { type: 'json_schema', schema: outputSchema } } },
  { output_format: { type: 'json_schema', schema: outputSchema }, tools: [tool] },
  { max_tokens: 1, messages: [says('user', text('[[finish:length]]'))] },
  { model: 'NonExistent' },
  { model: 'claude-sonnet-4-5' }
]

const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 }
const tools: object[] = [
  { tools: [search], messages: [says('user', text('[[builtin:web_search]]'))] },
  { tools: [search, tool], tool_choice: { type: 'tool', name: 'web_search' } },
  {
    tools: [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'memory_20250818', name: 'memory' }
    ]
  },
  {
    tools: [{ type: 'code_execution_20250522', name: 'code_execution' }],
    messages: [says('user', text('[[builtin:code_interpreter]]'))]
  },
  { tools: [{ name: 'WebSearch', input_schema: { type: 'object' } }] },
  { tools: [{ ...tool, type: 'custom', strict: true, defer_loading: true, cache_control: { type: 'ephemeral' } }] },
  { tools: [tool], tool_choice: { type: 'any', disable_parallel_tool_use: true } },
  { tools: [tool], messages: [says('user', text('[[tool:f {"x":1}]]'))], stop_sequences: ['x'] }
]

const histories: object[][] = [
  [user, says('assistant', text('let me'), use('toolu_1')), says('user', result('toolu_1', 'ok'))],
  [
    user,
    says('assistant', use('t1'), use('t2')),
    says('user', result('t2', '{"now":1}'), result('t1', 'cold'), text('and?'))
  ],
  [user, says('assistant', use('t1')), user],
  [user, says('user', result('t9', 'orphan'))],
  [user, says('assistant', use('t1')), says('user', result('t1', 'no', { is_error: true }))],
  [user, says('assistant', use('t1')), says('user', result('t1'))],
  [user, says('assistant', use('t1')), says('user', result('t1', [text('a'), text('b')]))],
  [user, says('assistant', use('t1')), says('user', result('t1', [text('seen'), image(base64('in a result'))]))],
  [user, says('assistant', use('t1', { input: 'no object' })), says('user', result('t1', 'x'))],
  [user, says('assistant', { type: 'thinking', thinking: 'old', signature: 'sealed' }, text('said')), user],
  [user, says('assistant', { type: 'redacted_thinking', data: 'sealed' }, text('said')), user],
  [user, says('assistant', { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }, text('said')), user],
  [user, { role: 'system', content: [text('a'), text('b')] }],
  [says('user', text('a'), text('b')), { role: 'assistant', content: 'prefill' }]
]

const parts: object[] = [
  image(base64('messages')),
  image(base64('gif', 'image/gif')),
  image({ type: 'base64', data: picture('untyped') }),
  image({ type: 'file', file_id: 'f-1' }),
  image({ type: 'base64', media_type: 'image/png', data: '***' }),
  { type: 'document', source: base64('pdf', 'application/pdf'), title: 'paper.pdf' },
  { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a document' } },
  { type: 'document', source: { type: 'file', file_id: 'f-2' } },
  { type: 'search_result', source: 's', title: 't', content: [text('found')] },
  { type: 'container_upload', file_id: 'x' },
  { type: 'of_tomorrow' },
  ...unreachableUrls.map(url => image({ type: 'url', url }))
]

const refused: object[] = [
  {},
  { messages: [] },
  { messages: 'hi' },
  { messages: [5] },
  { messages: [{ role: 'wizard', content: 'x' }] },
  { messages: [{ role: 'user', content: 5 }] },
  { messages: [says('user', { type: 'text' })] },
  { messages: [says('user', image({}))] },
  { messages: [user], max_tokens: 0 },
  { messages: [user], max_tokens: 'x' },
  { messages: [user], model: 5 },
  { messages: [user], model: undefined },
  { messages: [user], stream: 'yes' },
  { messages: [user], temperature: 'x' },
  { messages: [user], stop_sequences: 'x' },
  { messages: [user], tools: 'x' },
  { messages: [user], tools: [{ input_schema: {} }] },
  { messages: [user], tools: [{ name: 'f', input_schema: 'x' }] },
  { messages: [user], tool_choice: { type: 'any' } },
  { messages: [user], tools: [tool], tool_choice: { type: 'sometimes' } },
  { messages: [user], tools: [tool], tool_choice: 'auto' },
  { messages: [user], thinking: 'yes' },
  { messages: [user], system: 5 },
  { messages: [user], extra_body: 'x' },
  { messages: [user], output_config: { format: { type: 'xml' } } }
]

export function createMessagesCases(): CompareCase[] {
  return createFamilyCases('messages', 'body', [
    ...[...parameters, ...tools].map(more => ({ messages: [user], ...more })),
    ...histories.map(messages => ({ messages })),
    ...parts.map(part => ({ messages: [says('user', text('look'), part)] })),
    ...refused
  ])
}
