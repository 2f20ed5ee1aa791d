// Reads a configuration file in YAML: the safe subset of YAML 1.1 with unique keys, bounded before
// anything is expanded (bridge.md 3).
import {
  type Alias,
  CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  parseDocument,
  type YAMLMap,
  type YAMLSeq
} from 'yaml'
import { DEPTH_MAX, lineAt, malformed, NODES_MAX } from './bounds.ts'
import { UnreadableFile } from './unreadable-file.ts'

/** Every other explicit tag is refused: those of languages, and those whose values no file can use. */
const ALLOWED_TAGS = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map(name => `tag:yaml.org,2002:${name}`)
)

/** A value with the size that it has when its aliases are expanded; the value itself shares what an alias repeats. */
interface Measured {
  readonly value: unknown
  readonly nodeCount: number
  /** Lists and maps inside one another. */
  readonly height: number
}

/** Bounds the work of the parser. A node has one token, and at most an anchor, a tag and a separator besides. */
const TOKENS_MAX = 4 * NODES_MAX

/** Returns the value of a YAML text. Throws `UnreadableFile` ("malformed"), and nothing else. */
export function parseYaml(text: string): unknown {
  const { stackTraceLimit } = Error
  try {
    checkTokens(text)
    // The parser collects an error object for each mistake of a text; the stacks of a million of them take most of ten seconds.
    Error.stackTraceLimit = 0
    const document = parseDocument(text, {
      version: '1.1',
      // Also where the text has a `%YAML 1.2` directive.
      schema: 'yaml-1.1',
      // The parser compares each key with every other one, which takes minutes on a hostile file; the reader below uses a set.
      uniqueKeys: false,
      prettyErrors: false
    })
    // A tag that the schema does not know is only a warning.
    const problem = document.errors[0] ?? document.warnings[0]
    if (problem !== undefined) throw malformed(lineAt(text, problem.pos[0]))
    return createReader(text).read(document.contents, 0).value
  } catch (error) {
    // Every other error of the parser, such as an exhausted stack, is caused by the text.
    throw error instanceof UnreadableFile ? error : malformed()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Refuses a text with too many tokens or too many open brackets, before the parser builds a tree of it. */
function checkTokens(text: string): void {
  let tokenCount = 0
  let openCount = 0
  /** By kind. Two tokens of one kind never belong to the same node, so none is more frequent than the nodes may be. */
  const counts = new Map<CST.TokenType, number>()
  for (const token of new Lexer().lex(text)) {
    const kind = CST.tokenType(token)
    switch (kind) {
      // What follows the mark of a plain or block scalar is its text, which is no token type, or an accidental one.
      case null:
      case 'space':
      case 'newline':
      case 'comment':
        continue
      case 'flow-map-start':
      case 'flow-seq-start':
        openCount += 1
        break
      case 'flow-map-end':
      case 'flow-seq-end':
        openCount -= 1
    }
    tokenCount += 1
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    if (tokenCount > TOKENS_MAX || count > NODES_MAX || openCount > DEPTH_MAX || openCount < 0) throw malformed()
  }
}

/** A reader of one document: anchors hold from where they stand to the end, as in the text. */
function createReader(text: string) {
  /** Undefined while the value of the anchor is being read: an alias to it would be recursive. */
  const anchors = new Map<string, Measured | undefined>()

  /** `depth` is the number of lists and maps around the node. */
  function read(node: unknown, depth: number): Measured {
    if (node === null) return { value: null, nodeCount: 1, height: 0 }
    if (isAlias(node)) return readAlias(node, depth)
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) throw malformed()
    if (node.tag !== undefined && !ALLOWED_TAGS.has(node.tag)) throw failAt(node)
    if (node.anchor !== undefined) anchors.set(node.anchor, undefined)
    if (!isScalar(node) && depth === DEPTH_MAX) throw failAt(node)
    const measured = isScalar(node)
      ? { value: node.value, nodeCount: 1, height: 0 }
      : isMap(node)
        ? readMap(node, depth)
        : readList(node, depth)
    if (node.anchor !== undefined) anchors.set(node.anchor, measured)
    return measured
  }

  function readAlias(alias: Alias, depth: number): Measured {
    const measured = anchors.get(alias.source)
    if (measured === undefined || depth + measured.height > DEPTH_MAX) throw failAt(alias)
    return measured
  }

  function readList(list: YAMLSeq, depth: number): Measured {
    const size = createSize(list)
    const value = list.items.map(item => size.add(read(item, depth + 1)))
    return { value, ...size.total() }
  }

  function readMap(map: YAMLMap, depth: number): Measured {
    const size = createSize(map)
    const members = new Map<string, unknown>()
    const add = (name: string, value: unknown) => {
      if (members.has(name)) throw failAt(map)
      members.set(name, value)
    }
    for (const pair of map.items) {
      const isMerge = isMergeKey(pair.key)
      const key = isMerge ? undefined : size.add(read(pair.key, depth + 1))
      const value = size.add(read(pair.value, depth + 1))
      if (typeof key === 'object' && key !== null) throw failAt(map)
      if (!isMerge) add(String(key), value)
      else for (const [name, merged] of listMerged(value, map)) add(name, merged)
    }
    // Not by assignment, which would make `__proto__` the prototype.
    return { value: Object.fromEntries(members), ...size.total() }
  }

  /** The members that a merge key adds: those of one map or of each map in a list. */
  function listMerged(value: unknown, map: YAMLMap): Array<[string, unknown]> {
    const sources: unknown[] = Array.isArray(value) ? value : [value]
    return sources.flatMap(source => {
      if (typeof source !== 'object' || source === null || Array.isArray(source)) throw failAt(map)
      return Object.entries(source)
    })
  }

  /** Adds up the sizes of what a list or map holds, and stops as soon as it is too large. */
  function createSize(parent: YAMLMap | YAMLSeq) {
    let nodeCount = 1
    let height = 0
    return {
      add(child: Measured): unknown {
        nodeCount += child.nodeCount
        height = Math.max(height, child.height)
        if (nodeCount > NODES_MAX) throw failAt(parent)
        return child.value
      },
      total: () => ({ nodeCount, height: height + 1 })
    }
  }

  function failAt(node: { range?: readonly [number, ...number[]] | null | undefined }): UnreadableFile {
    return malformed(node.range === undefined || node.range === null ? undefined : lineAt(text, node.range[0]))
  }

  return { read }
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.type === 'PLAIN' && key.source === '<<'
}
