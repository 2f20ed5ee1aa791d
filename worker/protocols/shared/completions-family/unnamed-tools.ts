// Entries of a list of tools that `readToolUse` leaves out, because a model cannot call them.

import { isJsonObject, type JsonValue, unsupportedSemantic } from '../../../normalized/index.ts'
import { isCustom } from './free-form-tools.ts'

/** Raises `unsupported_semantic` for an entry that is no object, or a function without a name (bridge.md 7.4). */
export function refuseUnnamedTools(tools: JsonValue | undefined, path: string): void {
  if (!Array.isArray(tools)) return
  for (const [index, tool] of tools.entries()) {
    const at = `${path}[${index}]`
    if (!isJsonObject(tool)) throw unsupportedSemantic(at)
    if (tool.type === 'namespace') refuseUnnamedTools(tool.tools, `${at}.tools`)
    else if (tool.type === 'function' || tool.type === undefined || isCustom(tool)) {
      const nested = isCustom(tool) ? tool.custom : tool.function
      const definition = isJsonObject(nested) ? nested : tool
      if (typeof definition.name !== 'string' || definition.name.trim() === '') throw unsupportedSemantic(`${at}.name`)
    }
  }
}
