// Names of functions on the native wire. The upstream reserves names for its own tools and accepts only some characters, so a
// client's name may need a replacement. The map is made per request and reversed in its response (completions.md 5.3).

import { flattenToolName, type NormalizedRequest } from '../../normalized/index.ts'

export interface ClientToolName {
  name: string
  namespace?: string
}

export interface ToolNameMap {
  /** The wire name of the function that the client names `clientName` (flattened when it is in a namespace). */
  toWire(clientName: string): string
  /** Every wire name of a function that the request declares or that its history calls. */
  readonly wireNames: ReadonlySet<string>
  /** For the reader: functions that have another name on the wire, and functions in namespaces. */
  readonly byWireName: ReadonlyMap<string, ClientToolName>
}

const NAME_CHARACTERS_MAX = 64

/** Replacements for the names of the upstream's own tools (field lesson B11). */
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

/** Maps every function name of a request: declared tools first, then names that only the history contains. */
export function mapToolNames(request: NormalizedRequest): ToolNameMap {
  const clientNames = collectClientNames(request)
  if (clientNames === undefined) return NO_NAMES
  const wireNames = new Map<string, string>()
  const taken = new Set<string>()
  const nextNumbers = new Map<string, number>()
  // Valid names are assigned first, so that no replacement takes a name that another function already has.
  for (const flatName of clientNames.keys()) {
    if (makeWireName(flatName) !== flatName) continue
    wireNames.set(flatName, flatName)
    taken.add(flatName)
  }
  for (const flatName of clientNames.keys()) {
    if (wireNames.has(flatName)) continue
    const wireName = findFreeName(makeWireName(flatName), taken, nextNumbers)
    wireNames.set(flatName, wireName)
    taken.add(wireName)
  }
  const byWireName = new Map<string, ClientToolName>()
  for (const [flatName, clientName] of clientNames) {
    const wireName = wireNames.get(flatName) ?? flatName
    if (wireName !== flatName || clientName.namespace !== undefined) byWireName.set(wireName, clientName)
  }
  return { toWire: clientName => wireNames.get(clientName) ?? makeWireName(clientName), wireNames: taken, byWireName }
}

/** Shared by all requests without tools. */
const NO_NAMES: ToolNameMap = { toWire: makeWireName, wireNames: new Set(), byWireName: new Map() }

function collectClientNames(request: NormalizedRequest): Map<string, ClientToolName> | undefined {
  let names: Map<string, ClientToolName> | undefined
  const add = (tool: ClientToolName) => {
    const flatName = flattenToolName(tool)
    names ??= new Map()
    if (names.has(flatName)) return
    names.set(
      flatName,
      tool.namespace === undefined ? { name: tool.name } : { name: tool.name, namespace: tool.namespace }
    )
  }
  for (const tool of request.tools) if (tool.type === 'function') add(tool)
  for (const message of request.messages) {
    for (const part of message.content) {
      if (part.type === 'tool-call') add(part)
      else if (part.type === 'tool-result' && part.name !== undefined) add({ name: part.name })
    }
  }
  return names
}

function makeWireName(flatName: string): string {
  return RESERVED_NAMES.get(flatName) ?? flatName.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, NAME_CHARACTERS_MAX)
}

/** @param nextNumbers the next suffix per name, because thousands of tools may map to the same name. */
function findFreeName(wanted: string, taken: ReadonlySet<string>, nextNumbers: Map<string, number>): string {
  if (!taken.has(wanted)) return wanted
  for (let number = nextNumbers.get(wanted) ?? 2; ; number++) {
    const suffix = `_${number}`
    const name = wanted.slice(0, NAME_CHARACTERS_MAX - suffix.length) + suffix
    if (taken.has(name)) continue
    nextNumbers.set(wanted, number + 1)
    return name
  }
}
