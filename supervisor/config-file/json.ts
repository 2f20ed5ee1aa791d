// Reads a configuration file in JSON: strict, with unique keys and within the bounds (bridge.md 3).
import { DEPTH_MAX, lineAt, malformed, NODES_MAX } from './bounds.ts'

/** A string with the colon that makes it a key, a bracket, or another value. */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\r\n]*:)?|[[{]|[\]}]|[^\s",:[\]{}]+/g

/** Returns the value of a JSON text. Throws `UnreadableFile` ("malformed"). */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed()
  }
  // `JSON.parse` keeps the last of equal keys, so the text is read again for what it drops. It is known to be valid here.
  checkTokens(text)
  return value
}

function checkTokens(text: string): void {
  /** The keys of each open map; lists have an empty set. */
  const open: Set<string>[] = []
  let nodeCount = 0
  for (const token of text.matchAll(TOKENS)) {
    const [whole, quoted, colon] = token
    const fail = () => malformed(lineAt(text, token.index))
    if (whole === ']' || whole === '}') {
      open.pop()
      continue
    }
    nodeCount += 1
    if (nodeCount > NODES_MAX) throw fail()
    if (whole === '[' || whole === '{') {
      if (open.length === DEPTH_MAX) throw fail()
      open.push(new Set())
    } else if (quoted !== undefined && colon !== undefined) {
      const key: string = JSON.parse(quoted)
      const keys = open.at(-1)
      if (keys?.has(key) === true) throw fail()
      keys?.add(key)
    }
  }
}
