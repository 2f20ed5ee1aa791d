// Bodies of the chat completions operation: parameters, histories, attachments, hosted tools and what is refused.

import type { CompareCase } from '../types.ts'
import { createFamilyCases } from './families.ts'
import { outputSchema, picture, pictureUrl, unreachableUrls } from './values.ts'

const user = { role: 'user', content: 'hi' }
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
const call = (id: string, more: object = {}) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '{"x":1}' },
  ...more
})
const result = (tool_call_id: string, content: unknown = '{"ok":true}') => ({ role: 'tool', tool_call_id, content })
const turn = (...tool_calls: object[]) => ({ role: 'assistant', content: null, tool_calls })

const parameters: object[] = [
  { temperature: 0, top_p: 0.5 },
  { temperature: 0.3, top_p: 0.5, max_tokens: 7 },
  { temperature: -1 },
  { temperature: 1.999 },
  { max_completion_tokens: 9 },
  { max_output_tokens: 3, max_tokens: 7, max_completion_tokens: 9 },
  { n: 2, seed: 7, presence_penalty: 1, frequency_penalty: 1, user: 'u', logit_bias: { 5: 1 }, logprobs: true },
  { stop: ['ll', 'xx'], messages: [{ role: 'user', content: '[[text:Hello]]' }] },
  { stop: 'never' },
  { stream_options: { include_usage: true } },
  { stream_options: { include_usage: false } },
  { reasoning_effort: 'high' },
  { reasoning_effort: 'none' },
  { reasoning: { effort: 'low', summary: 'auto' }, reasoning_effort: 'high' },
  { response_format: { type: 'text' } },
  { response_format: { type: 'json_schema', json_schema: { name: 'out', schema: outputSchema, strict: true } } },
  { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: outputSchema } }, tools: [tool] },
  { response_format: { type: 'regex', regex: '[a-z]{3}' } },
  { repetition_penalty: 1.1, update_interval: 0.5, profanity_check: false, flags: ['preprocess'] },
  { profanity_check: true, function_ranker: { enabled: true, top_n: 2 } },
  { alpha: 1, beta: 1, extra_body: { beta: 2, gamma: 2 }, additional_fields: { gamma: 3 } },
  { extra_body: { storage: { limit: 2 }, model: 'evil', messages: [], temperature: 0.9 }, temperature: 0.3 },
  { extra_headers: { 'x-session-id': 's', 'X-Tenant': 't', authorization: 'no' }, extra_query: { a: '1' } },
  { storage: true },
  { storage: { is_stateful: true } },
  { metadata: { k: 'v' }, service_tier: 'auto', store: true, verbosity: 'low', prediction: { type: 'content' } },
  { unknown_member: { deep: [1, null, 'x'] } },
  { model: 'GigaChat-2-Max:latest' },
  { model: 'NonExistent' },
  { assistant_id: 'a' }
]

const tools: object[] = [
  { tools: [{ type: 'web_search' }] },
  {
    tools: [{ type: 'code_interpreter' }, tool],
    messages: [{ role: 'user', content: '[[builtin:code_interpreter]]' }]
  },
  { tools: [{ type: 'web_search' }], messages: [{ role: 'user', content: '[[builtin:web_search]]' }] },
  { tools: [{ type: 'image_generation' }], messages: [{ role: 'user', content: '[[builtin:image_generate]]' }] },
  { tools: [{ type: 'web_search' }], messages: [{ role: 'user', content: '[[builtin:web_search failed]]' }] },
  { tools: [tool, { name: 'bare', input_schema: {} }, { type: 'custom', custom: { name: 'c' } }, 'nonsense'] },
  { tools: [{ type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'inner', parameters: {} }] }] },
  { functions: [tool.function], function_call: { name: 'f' } },
  { functions: [tool.function], function_call: 'auto' },
  { functions: [tool.function], messages: [{ role: 'user', content: '[[tool:f {"x":1}]]' }] },
  { tools: [tool], parallel_tool_calls: false, model: 'GigaChat-2-Max' }
]

const histories: object[][] = [
  [{ role: 'system', content: 'be' }, { role: 'developer', content: [{ type: 'text', text: 'kind' }] }, user],
  [user, { role: 'system', content: 'late' }, user],
  [user, { role: 'assistant', content: 'one' }, { role: 'assistant', content: 'two' }, user, user],
  [user, turn(call('c1')), result('c1')],
  [user, turn(call('c1'), call('c2')), result('c2', 'plain'), result('c1')],
  [user, turn(call('c1')), user],
  [user, result('c9', 'orphan'), user],
  [user, turn(call('c1')), result('c1', ''), result('c1', 'again')],
  [user, turn(call('c1', { function: { name: 'f', arguments: 'not json' } })), result('c1')],
  [user, turn(call('c1', { function: { name: 'f', arguments: '' } })), result('c1', [{ type: 'text', text: 'part' }])],
  [user, turn(call('c1')), result('c1', [{ type: 'image_url', image_url: { url: pictureUrl('tool') } }])],
  [
    user,
    { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
    { role: 'function', name: 'f', content: '1' }
  ],
  [user, { role: 'assistant', content: 'x', reasoning_content: 'because', refusal: null, audio: null }, user],
  [user, { role: 'assistant', content: '<think>old</think>said' }, user],
  [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' }
      ],
      name: 'ada'
    }
  ]
]

const parts: object[] = [
  { type: 'image_url', image_url: { url: pictureUrl('one'), detail: 'low' } },
  { type: 'image_url', image_url: { url: pictureUrl('jpeg', 'image/jpeg') } },
  { type: 'image_url', image_url: { url: pictureUrl('gif', 'image/gif') } },
  { type: 'image_url', image_url: { url: 'data:image/png;base64,***' } },
  { type: 'file', file: { filename: 'a.pdf', file_data: pictureUrl('pdf', 'application/pdf') } },
  { type: 'file', file: { file_id: 'f1' } },
  { type: 'input_audio', input_audio: { data: picture('wav'), format: 'wav' } },
  ...unreachableUrls.map(url => ({ type: 'image_url', image_url: { url } }))
]

const refused: object[] = [
  {},
  { messages: [] },
  { messages: ['hi'] },
  { messages: 'hi' },
  { messages: [{ role: 5, content: 'x' }] },
  { messages: [{ role: 'wizard', content: 'x' }] },
  { messages: [{ content: 'x' }] },
  { messages: [{ role: 'user', content: 5 }] },
  { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
  { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
  { messages: [{ role: 'user' }] },
  { messages: [user, { role: 'tool', content: 'x' }] },
  { messages: [user, turn({ id: 'c', type: 'function', function: { arguments: '{}' } })] },
  { messages: [user], model: 5 },
  { messages: [user], model: '' },
  { messages: [user], stream: 'yes' },
  { messages: [user], temperature: 'hot' },
  { messages: [user], top_p: 'x' },
  { messages: [user], max_tokens: 0 },
  { messages: [user], max_tokens: 1.5 },
  { messages: [user], stop: 5 },
  { messages: [user], stop: ['a', 'b', 'c', 'd', 'e'] },
  { messages: [user], tools: 'x' },
  { messages: [user], tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] },
  { messages: [user], functions: [{ name: 'f', parameters: 5 }] },
  { messages: [user], tools: [tool], tool_choice: 'sometimes' },
  { messages: [user], tool_choice: 'required' },
  { messages: [user], response_format: 'json' },
  { messages: [user], response_format: {} },
  { messages: [user], response_format: { type: 'json_object' } },
  { messages: [user], response_format: { type: 'xml' } },
  { messages: [user], response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
  { messages: [user], extra_body: 'x' },
  { messages: [user], extra_headers: 'x' },
  { messages: [user], reasoning_effort: 5 }
]

export function createCompletionsCases(): CompareCase[] {
  return createFamilyCases('completions', 'body', [
    ...[...parameters, ...tools].map(more => ({ messages: [user], ...more })),
    ...histories.map(messages => ({ messages })),
    ...parts.map(part => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'look' }, part] }] })),
    ...refused
  ])
}
