// Splits the joined name of a function in a namespace for providers without namespaces (completions.md 5.4).

import { flattenToolName, type NormalizedTool, type ToolCallStartEvent } from '../../../normalized/index.ts'
import type { CallHead } from './blocks.ts'

/** Returns a function that gives a call the name and namespace that the request declares. */
export function createNameSplitter(tools: readonly NormalizedTool[]): (call: ToolCallStartEvent) => CallHead {
  const declared = new Map<string, Omit<CallHead, 'id'>>()
  for (const tool of tools) {
    if (tool.type !== 'function') continue
    const { name, namespace } = tool
    const flatName = flattenToolName(tool)
    // Of two functions with one joined name, only the first was sent to the provider.
    if (!declared.has(flatName)) declared.set(flatName, namespace === undefined ? { name } : { name, namespace })
  }
  return ({ id, name, namespace }) =>
    namespace === undefined ? { id, ...(declared.get(name) ?? { name }) } : { id, name, namespace }
}
