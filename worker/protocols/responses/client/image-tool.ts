// A client may run an image tool of its own: a picture that the upstream made is then told as a call of that tool (responses.md 5.5).

import type { FunctionTool, NormalizedRequest } from '../../../normalized/index.ts'

const NAMES: ReadonlySet<string> = new Set(['imagegen', 'image_gen', 'image_generate'])
const NAMESPACES: ReadonlySet<string> = new Set(['image_gen', 'imagegen'])

/** The image tool among the request's functions, if there is one. */
export function findImageTool(request: NormalizedRequest): FunctionTool | undefined {
  return request.tools.find((tool): tool is FunctionTool => tool.type === 'function' && isImageTool(tool))
}

function isImageTool(tool: FunctionTool): boolean {
  const name = fold(tool.name)
  if (tool.namespace !== undefined) return name === 'imagegen' && NAMESPACES.has(fold(tool.namespace))
  return NAMES.has(name) || name.endsWith('__imagegen')
}

/** Clients differ in case and in how they join words. */
function fold(name: string): string {
  return name.toLowerCase().replaceAll('-', '_')
}
