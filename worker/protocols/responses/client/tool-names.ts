// Splits the joined name of a function in a namespace for providers without namespaces (completions.md 5.4).

import { flattenToolName, type NormalizedTool, type ToolCallStartEvent } from '../../../normalized/index.ts'
import type { CallHead } from './blocks.ts'

/** Returns a function that gives a call the name, namespace and form that the request declares. */
export function createNameSplitter(tools: readonly NormalizedTool[]): (call: ToolCallStartEvent) => CallHead {
  const declared = new Map<string, Omit<CallHead, 'id'>>()
  for (const tool of tools) {
    if (tool.type !== 'function') continue
    const { name, namespace, freeForm } = tool
    const flatName = flattenToolName(tool)
    // Of two functions with one joined name, only the first was sent to the provider.
    if (declared.has(flatName)) continue
    const head: Omit<CallHead, 'id'> = namespace === undefined ? { name } : { name, namespace }
    if (freeForm !== undefined) head.isFreeForm = true
    declared.set(flatName, head)
  }
  return ({ id, name, namespace }) => {
    if (namespace === undefined) return { id, ...(declared.get(name) ?? { name }) }
    return { id, name, namespace, ...declared.get(flattenToolName({ name, namespace })) }
  }
}
