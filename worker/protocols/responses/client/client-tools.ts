// Items of tools that the protocol defines and the client runs itself: a shell, and patches of files. On other wires they are calls of a
// function of that name, and their results (decisions.md 75).

import { isJsonObject, type JsonObject, type ToolResultPart } from '../../../normalized/index.ts'
import type { ReadCall } from './input-calls.ts'
import { findText } from './read-calls.ts'

/** What the model asks such a tool for, by the type of the item. */
const REQUEST_MEMBERS = {
  local_shell_call: 'action',
  shell_call: 'action',
  apply_patch_call: 'operation'
} as const

export type ClientToolCallType = keyof typeof REQUEST_MEMBERS
export type ClientToolResultType = `${ClientToolCallType}_output`

/** `local_shell` of `local_shell_call` and of `local_shell_call_output`. */
function nameTool(type: ClientToolCallType | ClientToolResultType): string {
  return type.replace(/_call(?:_output)?$/, '')
}

/** Reads a call; the tool's own object is the arguments. */
export function readClientToolCall(item: JsonObject, type: ClientToolCallType): ReadCall {
  const request = item[REQUEST_MEMBERS[type]]
  const given = isJsonObject(request) ? request : {}
  const id = findText(item, ['call_id', 'id'])
  return {
    part: {
      type: 'tool-call',
      id,
      name: nameTool(type),
      arguments: given,
      argumentsText: JSON.stringify(given)
    },
    isCut: item.status === 'incomplete'
  }
}

/** Reads a result as text: what a patch or an old shell printed as it stands, the streams and exit codes of a shell as JSON. */
export function readClientToolResult(
  item: JsonObject,
  { type, path }: { type: ClientToolResultType; path: string }
): ToolResultPart {
  const { output, status } = item
  const given = output ?? (type === 'apply_patch_call_output' ? status : undefined) ?? ''
  return {
    type: 'tool-result',
    callId: findText(item, ['call_id', 'id']),
    name: nameTool(type),
    content: [{ type: 'text', text: typeof given === 'string' ? given : JSON.stringify(given) }],
    isError: status === 'failed',
    path: `${path}.call_id`
  }
}
