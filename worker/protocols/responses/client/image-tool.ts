// Finds the image tool of a client that runs one itself: an image of the upstream becomes a call of that tool (responses.md 5.5).

import type { FunctionTool, NormalizedRequest } from '../../../normalized/index.ts'

const NAMES: ReadonlySet<string> = new Set(['imagegen', 'image_gen', 'image_generate'])
const NAMESPACES: ReadonlySet<string> = new Set(['image_gen', 'imagegen'])

/** The image tool among the functions of the request; undefined when there is none. */
export function findImageTool(request: NormalizedRequest): FunctionTool | undefined {
  return request.tools.find((tool): tool is FunctionTool => tool.type === 'function' && isImageTool(tool))
}

function isImageTool(tool: FunctionTool): boolean {
  const name = normalizeName(tool.name)
  if (tool.namespace !== undefined) return name === 'imagegen' && NAMESPACES.has(normalizeName(tool.namespace))
  return NAMES.has(name) || name.endsWith('__imagegen')
}

/** Ignores case and the separator of words, because clients write the name in different ways. */
function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll('-', '_')
}
