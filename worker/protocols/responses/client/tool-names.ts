// Names of functions in namespaces: where a provider knows no namespaces, the client gets its own two words back (completions.md 5.4).

import { flattenToolName, type NormalizedTool, type ToolCallStartEvent } from '../../../normalized/index.ts'
import type { CallHead } from './blocks.ts'

/** Gives the head of a call in the client's words: name and namespace as the request declares them. */
export function createNameSplitter(tools: readonly NormalizedTool[]): (call: ToolCallStartEvent) => CallHead {
  const declared = new Map<string, Omit<CallHead, 'id'>>()
  for (const tool of tools) {
    if (tool.type !== 'function') continue
    const { name, namespace } = tool
    const flatName = flattenToolName(tool)
    // Of two functions with one name the first is the one that the provider was given.
    if (!declared.has(flatName)) declared.set(flatName, namespace === undefined ? { name } : { name, namespace })
  }
  return ({ id, name, namespace }) =>
    namespace === undefined ? { id, ...(declared.get(name) ?? { name }) } : { id, name, namespace }
}
