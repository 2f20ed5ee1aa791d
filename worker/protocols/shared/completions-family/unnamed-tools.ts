// Entries of a list of tools that `readToolUse` leaves out, because a model cannot call them.

import { isJsonObject, type JsonValue } from '../../../normalized/index.ts'
import type { PartSink } from '../members/members.ts'
import { isCustom } from './free-form-tools.ts'

/** Notes an entry that is no object, or a function without a name (bridge.md 7.4). */
export function noteUnnamedTools(tools: JsonValue | undefined, path: string, sink: PartSink): void {
  if (!Array.isArray(tools)) return
  for (const [index, tool] of tools.entries()) {
    const at = `${path}[${index}]`
    if (!isJsonObject(tool)) sink.leaveOut(at, 'tool_not_callable')
    else if (tool.type === 'namespace') noteUnnamedTools(tool.tools, `${at}.tools`, sink)
    else if (tool.type === 'function' || tool.type === undefined || isCustom(tool)) {
      const nested = isCustom(tool) ? tool.custom : tool.function
      const definition = isJsonObject(nested) ? nested : tool
      const isNamed = typeof definition.name === 'string' && definition.name.trim() !== ''
      if (!isNamed && !isNativeShape(tool)) sink.leaveOut(`${at}.name`, 'tool_not_callable')
    }
  }
}

const FUNCTION_MEMBERS = ['function', 'parameters', 'input_schema', 'name']

/** Tools in the upstream's own shape have no name (decisions.md 64). */
function isNativeShape(tool: { [member: string]: JsonValue | undefined }): boolean {
  return tool.type === undefined && FUNCTION_MEMBERS.every(name => !(name in tool))
}
