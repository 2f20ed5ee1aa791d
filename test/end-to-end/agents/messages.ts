// A coding agent that uses the messages protocol: cached system blocks, thinking that is sent back, several results in one turn.

import { PROMPT, type Turn, writeCallTurns } from './task.ts'
import { agentTools } from './tools.ts'

export const tools = agentTools.slice(0, 15)

const identity = 'You are a command line agent.'
const guide =
  'You help with software.\n\n' +
  Array.from(
    { length: 100 },
    (_, index) => `# Section ${index + 1}\nIMPORTANT: never guess URLs. <env>cwd: /repo</env>`
  ).join('\n')
const reminder = '<system-reminder>\nThe list of things to do is empty.\n</system-reminder>'
const cache_control = { type: 'ephemeral', ttl: '1h' }
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })

export const firstMessages: object[] = [
  { role: 'user', content: [text(reminder), text('What is here?', { cache_control })] },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'I should look around.', signature: 'EqoBCkgIBBABGAIiQsealed==' },
      { type: 'redacted_thinking', data: 'EmwKAhgBEgxsealed==' },
      text('Let me see.'),
      {
        type: 'tool_use',
        id: 'toolu_01A09q90qw90lq917835lq9',
        name: 'list_directory',
        input: { path: '/repo', depth: 1 }
      },
      {
        type: 'tool_use',
        id: 'toolu_01B09q90qw90lq917835lq9',
        name: 'grep',
        input: { pattern: 'sum', '-A': 2, '-i': true }
      },
      { type: 'tool_use', id: 'toolu_01C09q90qw90lq917835lq9', name: 'web_search', input: { query: 'sum' } }
    ]
  },
  {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_01C09q90qw90lq917835lq9',
        is_error: true,
        content: '<tool_use_error>Not allowed</tool_use_error>'
      },
      {
        type: 'tool_result',
        tool_use_id: 'toolu_01A09q90qw90lq917835lq9',
        content: [text('src'), text('package.json', { cache_control })]
      },
      { type: 'tool_result', tool_use_id: 'toolu_01B09q90qw90lq917835lq9', content: '' },
      text(reminder)
    ]
  },
  { role: 'assistant', content: [text('One module, no tests.\n')] },
  { role: 'user', content: [text(reminder), text(PROMPT, { cache_control })] }
]

/** The turns before the first call of the task, in the form that the upstream must receive. */
export function writeEarlierTurns(isParallel: boolean): Turn[] {
  const calls = [
    { name: 'list_directory', arguments: { path: '/repo', depth: 1 }, sentResult: { result: 'src\npackage.json' } },
    { name: 'grep', arguments: { pattern: 'sum', '-A': 2, '-i': true }, sentResult: {} },
    {
      name: 'web_search',
      arguments: { query: 'sum' },
      sentResult: { error: '<tool_use_error>Not allowed</tool_use_error>', is_error: true }
    }
  ]
  return [
    { role: 'system', text: `${identity}\n${guide}` },
    { role: 'user', text: `${reminder}\nWhat is here?` },
    ...writeCallTurns(calls, { isParallel, text: 'Let me see.' }),
    { role: 'user', text: reminder },
    { role: 'assistant', text: 'One module, no tests.\n' },
    { role: 'user', text: `${reminder}\n${PROMPT}` }
  ]
}

/** The members of a request except model and messages. */
export const options = {
  max_tokens: 32000,
  system: [text(identity, { cache_control }), text(guide, { cache_control })],
  tools: tools.map(({ name, description, schema }, index) => ({
    name,
    description,
    input_schema: schema,
    ...(index === tools.length - 1 ? { cache_control } : {})
  })),
  thinking: { type: 'enabled', budget_tokens: 31999 },
  metadata: { user_id: 'user_0_account__session_1' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] }
}

export const headers = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14',
  'x-app': 'cli'
}
