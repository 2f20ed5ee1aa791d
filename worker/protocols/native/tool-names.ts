// Names of functions on the native wire. The upstream keeps some names for its own tools and takes only some characters, so
// a client's name may need another one; the map is made per request and undone in every answer (completions.md 5.3).

import { flattenToolName, type NormalizedRequest } from '../../normalized/index.ts'

export interface ClientToolName {
  name: string
  namespace?: string
}

export interface ToolNameMap {
  /** The wire's name of a function that the client calls `clientName` (flattened where it stands in a namespace). */
  toWire(clientName: string): string
  /** What the reader needs: the names that differ on the wire, and those of namespaces. */
  readonly byWireName: ReadonlyMap<string, ClientToolName>
}

const NAME_CHARACTERS_MAX = 64

/** Aliases of names that are the upstream's own (field lesson B11). */
const RESERVED_NAMES: ReadonlyMap<string, string> = new Map([
  ['web_search', '__gateway_user_search_web'],
  ['code_interpreter', '__gateway_user_code_interpreter'],
  ['image_generate', '__gateway_user_image_generate'],
  ['url_content_extraction', '__gateway_user_url_content_extraction'],
  ['model_3d_generate', '__gateway_user_model_3d_generate']
])

/** Maps every function name of a request: declared tools first, then those that only the history has. */
export function mapToolNames(request: NormalizedRequest): ToolNameMap {
  const clientNames = collectClientNames(request)
  if (clientNames === undefined) return NO_NAMES
  const wireNames = new Map<string, string>()
  const taken = new Set<string>()
  const nextNumbers = new Map<string, number>()
  // A name that is fine as it is keeps it, whatever stands before it: only the others have to give way.
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
  return { toWire: clientName => wireNames.get(clientName) ?? makeWireName(clientName), byWireName }
}

/** The map of the many requests without any tool. */
const NO_NAMES: ToolNameMap = { toWire: makeWireName, byWireName: new Map() }

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

/** @param nextNumbers the number to try next for a name that is taken: thousands of tools may want the same one. */
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
