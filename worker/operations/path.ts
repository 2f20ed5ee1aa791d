// The paths of operations in the forms that their readers need. Computed when a worker starts,
// never for a request.

import type { Operation } from './operation.ts'

export interface OperationPath {
  /** As the router has it: `/models/*`. Operations that differ only in their verb share it. */
  readonly pattern: string
  /** The same as metrics, logs and the API document show it, without a verb: `/models/{model}`. */
  readonly template: string
  /** What follows the rest of the path behind a colon: `countTokens`. */
  readonly verb: string | undefined
  /** The names of the parameters that are one segment. */
  readonly segments: readonly string[]
  /** The name of the parameter that takes the rest of the path. */
  readonly rest: string | undefined
}

const REST = /\{(\w+)\+\}(?::(\w+))?$/
const SEGMENT = /\{(\w+)\}/g

/** Reads the path of an entry. */
export function readOperationPath({ path }: Pick<Operation, 'path'>): OperationPath {
  const [ending, rest, verb] = REST.exec(path) ?? []
  const before = ending === undefined ? path : path.slice(0, -ending.length)
  return {
    pattern: before.replaceAll(SEGMENT, ':$1') + (ending === undefined ? '' : '*'),
    template: (verb === undefined ? path : path.slice(0, -verb.length - 1)).replace('+}', '}'),
    verb,
    segments: [...before.matchAll(SEGMENT)].flatMap(([, name]) => (name === undefined ? [] : [name])),
    rest
  }
}

/**
 * The path of an operation as metrics, logs and the API document show it:
 * `/models/{model}:countTokens`.
 */
export function writeTemplate({ template, verb }: Pick<OperationPath, 'template' | 'verb'>): string {
  return verb === undefined ? template : `${template}:${verb}`
}

/** The segments by which an operation is found in a path: those of its root. */
export function rootOf({ path, root }: Pick<Operation, 'path' | 'root'>): string {
  return root ?? path.split('/')[1] ?? ''
}

/** The segments of a prefix: none for the root. */
export function versionsOf(prefix: string): string[] {
  return prefix.split('/').slice(1)
}

/**
 * Whether a path, served or not, ends as a model request does: while draining it is refused before
 * routing.
 */
export function createModelPathTest(operations: readonly Operation[]): (path: string) => boolean {
  const endings = operations.filter(({ isModelRequest }) => isModelRequest).map(writeEnding)
  const pattern = new RegExp(`(?:${[...new Set(endings)].join('|')})/?$`)
  return path => endings.length > 0 && pattern.test(path)
}

function writeEnding({ path }: Operation): string {
  const { verb, pattern } = readOperationPath({ path })
  return verb === undefined ? pattern.replaceAll(/:\w+/g, '[^/]+').replace('*', '.+') : `:${verb}`
}
