// The ids that the memory gives: to responses, to conversations, and to items that came without one (memory.md 2). They are random, so
// that no client can guess the id of another one.

import { randomBytes } from 'node:crypto'

const KEY_BYTES = 24

/** Prefixes of the public service, by the type of an item. */
const PREFIXES: Readonly<Record<string, string>> = {
  '': 'msg',
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  web_search_call: 'ws',
  file_search_call: 'fs',
  image_generation_call: 'ig',
  code_interpreter_call: 'ci',
  computer_call: 'cu',
  computer_call_output: 'cuo',
  local_shell_call: 'lsh',
  local_shell_call_output: 'lsho',
  mcp_call: 'mcp',
  compaction: 'cmp'
}

/** Creates the id of a response. */
export function createResponseId(): string {
  return `resp_${createKey()}`
}

/** Creates the id of a conversation. */
export function createConversationId(): string {
  return `conv_${createKey()}`
}

/** Creates the id of an item of this type. */
export function createItemId(type: string): string {
  return `${Object.hasOwn(PREFIXES, type) ? PREFIXES[type] : 'item'}_${createKey()}`
}

function createKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url')
}
