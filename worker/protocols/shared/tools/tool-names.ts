// Names of functions on a provider's wire. A wire accepts only some names, so a client's name may need a replacement, and a wire without
// namespaces needs a flat name. The map is made per request and reversed in its response (completions.md 5.3).

import { flattenToolName, invalidRequest, type NormalizedRequest } from '../../../normalized/index.ts'

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

/** Returns the name that a wire accepts for a client's flat name. */
export type MakeWireName = (flatName: string) => string

const NAME_CHARACTERS_MAX = 64

/** The name in the characters and the length that every wire accepts. */
export function cleanToolName(flatName: string): string {
  return flatName.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, NAME_CHARACTERS_MAX)
}

/** Maps every function name of a request: declared tools first, then names that only the history contains. */
export function mapToolNames(request: NormalizedRequest, makeWireName: MakeWireName): ToolNameMap {
  const clientNames = collectClientNames(request)
  if (clientNames === undefined) return { toWire: makeWireName, wireNames: NO_NAMES, byWireName: NO_REPLACEMENTS }
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
const NO_NAMES: ReadonlySet<string> = new Set()
const NO_REPLACEMENTS: ReadonlyMap<string, ClientToolName> = new Map()

/**
 * Raises `invalid_request` with the client's field for two functions that have one name without their namespaces: their calls could not be
 * told apart (bridge.md 7.6).
 */
export function refuseNameCollisions({ tools, fieldPaths }: Pick<NormalizedRequest, 'tools' | 'fieldPaths'>): void {
  const namespaces = new Map<string, string | undefined>()
  for (const tool of tools) {
    if (tool.type !== 'function') continue
    const name = flattenToolName(tool)
    if (namespaces.has(name) && namespaces.get(name) !== tool.namespace) {
      throw invalidRequest(fieldPaths.tools, `Two functions have the name '${name}' on this route.`)
    }
    namespaces.set(name, tool.namespace)
  }
}

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
