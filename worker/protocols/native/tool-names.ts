// Names of functions on the native wire: the upstream reserves names for its own tools
// (completions.md 5.3, field-lessons.md B11).

import type { NormalizedRequest } from '../../normalized/index.ts'
import { cleanToolName, mapToolNames as mapNames, type ToolNameMap } from '../shared/tools/tool-names.ts'

export type { ClientToolName, ToolNameMap } from '../shared/tools/tool-names.ts'

/** Replacements for the names of the upstream's own tools. */
const RESERVED_NAMES: ReadonlyMap<string, string> = new Map([
  ['web_search', '__gateway_user_search_web'],
  ['code_interpreter', '__gateway_user_code_interpreter'],
  ['image_generate', '__gateway_user_image_generate'],
  ['url_content_extraction', '__gateway_user_url_content_extraction'],
  ['model_3d_generate', '__gateway_user_model_3d_generate']
])

const reservedByReplacement = new Map([...RESERVED_NAMES].map(([name, replacement]) => [replacement, name]))

/** The client's name for a wire name that the request does not declare, such as that of a function in a stored thread. */
export function readUndeclaredName(wireName: string): string {
  return reservedByReplacement.get(wireName) ?? wireName
}

/** Maps every function name of a request. */
export function mapToolNames(request: NormalizedRequest): ToolNameMap {
  return mapNames(request, makeWireName)
}

function makeWireName(flatName: string): string {
  return RESERVED_NAMES.get(flatName) ?? cleanToolName(flatName)
}
