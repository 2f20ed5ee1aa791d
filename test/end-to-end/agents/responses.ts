// A coding agent that uses the Responses operation: long instructions, items sent back complete, nothing stored.

import { PROMPT, type Turn, writeCallTurns } from './task.ts'
import { agentTools } from './tools.ts'

/** The tool in free form, as the upstream is offered it (decisions.md 77). */
export const freeFormTool = {
  name: 'apply_patch_freeform',
  description: 'The text of `input` must match this lark grammar:\nstart: "a"',
  parameters: {
    type: 'object',
    properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
    required: ['input'],
    additionalProperties: false
  }
}

export const instructions =
  'You are a coding agent running in a terminal.\n\n' +
  Array.from(
    { length: 120 },
    (_, index) =>
      `## Rule ${index + 1}\n- Write «exactly» what was asked; use \`apply_patch\`, never \`<|endoftext|>\`.\n` +
      '- Sandbox: {"mode":"workspace-write","network":false}\n'
  ).join('\n')

const rules = '<permissions>approval_policy: on-request</permissions>'
const environment = '<environment_context>\n  <cwd>/repo</cwd>\n  <shell>bash</shell>\n</environment_context>'

/** An earlier turn from another service, with encrypted reasoning and foreign ids. */
const earlier = [
  { type: 'message', role: 'developer', content: [{ type: 'input_text', text: rules }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: environment }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is here?' }] },
  {
    type: 'reasoning',
    id: 'rs_68a0',
    summary: [{ type: 'summary_text', text: '**Looking around**' }],
    content: null,
    encrypted_content: 'gAAAAABsealed=='
  },
  {
    type: 'message',
    id: 'msg_68a1',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Let me see.', annotations: [], logprobs: [] }]
  },
  {
    type: 'function_call',
    id: 'fc_68a2',
    status: 'completed',
    name: 'list_directory',
    arguments: '{"path":"/repo","depth":1}',
    call_id: 'call_Zx8AbCdEfGhIjKlMnOpQrStU'
  },
  { type: 'function_call', name: 'glob', arguments: '{"pattern":"**/*.ts"}', call_id: 'call_Zx8AbCdEfGhIjKlMnOpQrStV' },
  { type: 'function_call_output', call_id: 'call_Zx8AbCdEfGhIjKlMnOpQrStU', output: 'src\npackage.json' },
  {
    type: 'function_call_output',
    call_id: 'call_Zx8AbCdEfGhIjKlMnOpQrStV',
    output: '{"output":"src/sum.ts","metadata":{"exit_code":0,"duration_seconds":0.1}}'
  },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One module, no tests.' }] }
]

/** The turns before the first call of the task, in the form that the upstream must receive. */
export function writeEarlierTurns(isParallel: boolean): Turn[] {
  const calls = [
    { name: 'list_directory', arguments: { path: '/repo', depth: 1 }, sentResult: { result: 'src\npackage.json' } },
    {
      name: 'glob',
      arguments: { pattern: '**/*.ts' },
      sentResult: { output: 'src/sum.ts', metadata: { exit_code: 0, duration_seconds: 0.1 } }
    }
  ]
  return [
    { role: 'system', text: `${instructions}\n\n${rules}` },
    { role: 'user', text: `${environment}\nWhat is here?` },
    ...writeCallTurns(calls, { isParallel, text: 'Let me see.' }),
    { role: 'assistant', text: 'One module, no tests.' },
    { role: 'user', text: PROMPT }
  ]
}

export const firstInput: object[] = [
  ...earlier,
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: PROMPT }] }
]

/** The members of a request except model and input. */
export const options = {
  instructions,
  tools: [
    ...agentTools.map(({ name, description, schema }) => ({
      type: 'function',
      name,
      description,
      strict: false,
      parameters: schema
    })),
    {
      type: 'custom',
      name: 'apply_patch_freeform',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' }
    },
    { type: 'local_shell' }
  ],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'high', summary: 'auto' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '019a2f4e-5c1b-7d12-9d5b-0e1f2a3b4c5d',
  service_tier: 'auto',
  client_metadata: { session: 's' },
  text: { verbosity: 'low' }
}
