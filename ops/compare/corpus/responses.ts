// Bodies of the Responses operation: parameters, items, attachments, hosted tools, stored conversations and what is refused.

import type { CompareCase } from '../types.ts'
import { createCase, createFamilyCases, forms, type Loose, nameForm, readJson, writeChat } from './families.ts'
import { outputSchema, picture, pictureUrl, unreachableUrls } from './values.ts'

const tool = (name: string) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } })
const call = (id: string, more: object = {}) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'f',
  arguments: '{"x":1}',
  ...more
})
const output = (call_id: string, value: unknown = 'cold') => ({ type: 'function_call_output', call_id, output: value })
const asked = { role: 'user', content: [{ type: 'input_text', text: 'weather?' }] }

const parameters: object[] = [
  { instructions: 'be' },
  { instructions: '' },
  { instructions: null, max_output_tokens: 9, temperature: 0.3 },
  { temperature: 0, top_p: 0.5 },
  { reasoning: { effort: 'high', summary: 'auto' } },
  { reasoning: { effort: 'none' } },
  { reasoning: { effort: 'xhigh' }, input: '[[reason:because]][[text:done]]' },
  { text: { verbosity: 'low' } },
  { text: { format: { type: 'text' } } },
  { text: { format: { type: 'json_schema', name: 'out', schema: outputSchema, strict: true } } },
  { text: { format: { type: 'json_schema', name: 'out', schema: outputSchema } }, tools: [tool('g')] },
  { metadata: { k: 'v' }, user: 'u', safety_identifier: 's', prompt_cache_key: 'p', service_tier: 'auto' },
  { include: ['reasoning.encrypted_content'], truncation: 'auto', background: false, max_tool_calls: 3 },
  { top_logprobs: 2, seed: 1, presence_penalty: 1, stop: ['x'], unknown_member: { a: [null] } },
  { extra_body: { repetition_penalty: 1.1, tenant: 't', temperature: 0.9 }, additional_fields: { tenant: 'u' } },
  { extra_headers: { 'X-Tenant': 't', cookie: 'no' } },
  { store: false },
  { store: true },
  { storage: { limit: 5 } },
  { previous_response_id: 'resp_unknown' },
  { previous_response_id: null, store: null },
  { conversation: 'conv_1' },
  { prompt: { id: 'pmpt_1' } },
  { background: true },
  { model: 'NonExistent' },
  { model: undefined }
]

const tools: object[] = [
  { tools: [{ type: 'web_search' }], input: '[[builtin:web_search]]' },
  { tools: [{ type: 'web_search_preview' }], input: '[[builtin:web_search failed]]' },
  { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }], input: '[[builtin:code_interpreter]]' },
  { tools: [{ type: 'image_generation', size: '1024x1024' }], input: '[[builtin:image_generate]]' },
  { tools: [{ type: 'image_generation' }], input: '[[builtin:image_generate success censored]]' },
  { tools: [{ type: 'web_search' }], input: '[[builtin:url_content_extraction]][[builtin:model_3d_generate]]' },
  { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
  { tools: [{ type: 'custom', name: 'c' }, { type: 'local_shell' }, { type: 'mcp', server_label: 'm' }] },
  { tools: [{ type: 'namespace', name: 'ns', tools: [tool('f')] }], input: '[[tool:ns__f {"a":1}]]' },
  { tools: [tool('f')], tool_choice: { type: 'function', name: 'unknown' } },
  { tools: [tool('f'), tool('f')], parallel_tool_calls: true, model: 'GigaChat-2-Max' },
  { tools: [{ type: 'function', function: { name: 'nested', parameters: {} } }], tool_choice: 'required' }
]

const inputs: unknown[] = [
  [{ role: 'developer', content: 'kind' }, asked],
  [asked, { role: 'system', content: 'late' }, asked],
  [asked, call('st1'), output('st1')],
  [asked, call('c1'), call('c2'), output('c2', '{"n":2}'), output('c1')],
  [asked, call('c1'), asked],
  [asked, output('c9'), asked],
  [asked, call('c1'), output('c1', [{ type: 'input_text', text: 'part' }])],
  [asked, call('c1'), output('c1', [{ type: 'input_image', image_url: pictureUrl('result') }])],
  [asked, call('c1', { arguments: 'not json' }), output('c1', '')],
  [asked, call('c1', { namespace: 'ns', status: 'completed' }), output('c1'), output('c1', 'again')],
  [
    asked,
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'sealed' }], encrypted_content: 'e' },
    asked
  ],
  [asked, { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }, asked],
  [asked, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'said' }] }, asked],
  [
    asked,
    { type: 'custom_tool_call', call_id: 'k', name: 'c', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'k', output: 'y' }
  ],
  [{ type: 'item_reference', id: 'msg_1' }, asked],
  [{ type: 'of_tomorrow' }, asked],
  [],
  null,
  5,
  ['x'],
  [{ role: 'user', content: [{ type: 'input_text' }] }],
  [{ role: 'user', content: 5 }],
  [{ role: 'wizard', content: 'x' }],
  [call('c1', { name: undefined })],
  [output('c1', 5)]
]

const parts: object[] = [
  { type: 'input_image', image_url: pictureUrl('responses') },
  { type: 'input_image', image_url: pictureUrl('webp', 'image/webp') },
  { type: 'input_image', file_id: 'f1' },
  { type: 'input_image' },
  { type: 'input_file', filename: 'a.pdf', file_data: pictureUrl('file', 'application/pdf') },
  { type: 'input_file', filename: 'a.pdf', file_data: picture('bare') },
  { type: 'input_file', file_id: 'f2' },
  { type: 'input_file', file_url: 'http://127.0.0.1/a.pdf' },
  { type: 'input_audio', input_audio: { data: picture('mp3'), format: 'mp3' } },
  ...unreachableUrls.map(image_url => ({ type: 'input_image', image_url }))
]

const refused: object[] = [
  { text: { format: { type: 'json_object' } } },
  { text: { format: { type: 'xml' } } },
  { text: { format: { type: 'json_schema', name: 'n' } } },
  { tool_choice: 'sometimes' },
  { tools: 'x' },
  { tools: [{ type: 'function' }] },
  { stream: 'yes' },
  { max_output_tokens: 0 },
  { reasoning: 'high' },
  { metadata: 5 },
  { extra_body: [] }
]

/** Two turns of a stored conversation, continued with the id of the response and with that of the thread. */
function createStoredConversation(isStream: boolean): CompareCase {
  const form = { family: 'responses', version: 'v2', isStream } as const
  return {
    name: `stored conversation ${nameForm(form)}`,
    async run({ send }) {
      const first = readJson(await send(writeChat(form, { input: 'My name is Ada.', store: true })))
      const id = (isStream ? first.at(-1).response : (first[0] as Loose)).id
      for (const previous_response_id of [id, String(id).replace('resp_', '')]) {
        await send(writeChat(form, { input: '[[recall]]', previous_response_id }))
        await send(
          writeChat(form, { input: 'x', model: undefined, previous_response_id, extra_body: { storage: { limit: 5 } } })
        )
      }
    }
  }
}

const attachmentHeaders = ['f1, f2', 'f1,f1', 'f1,,f2', '../x', 'x'.repeat(201)].flatMap(ids =>
  forms
    .filter(({ family }) => family === 'responses')
    .map(form => {
      const request = writeChat(form, { input: [asked, { role: 'assistant', content: 'b' }, asked] })
      return createCase(`attachment header ${nameForm(form)} ${ids.slice(0, 20)}`, {
        ...request,
        headers: { 'x-gateway-attachment-ids': ids }
      })
    })
)

export function createResponsesCases(): CompareCase[] {
  return [
    ...createFamilyCases('responses', 'body', [
      ...[...parameters, ...tools, ...refused].map(more => ({ input: 'x', ...more })),
      ...inputs.map(input => ({ input })),
      ...parts.map(part => ({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'see' }, part] }] }))
    ]),
    createStoredConversation(false),
    createStoredConversation(true),
    ...attachmentHeaders
  ]
}
