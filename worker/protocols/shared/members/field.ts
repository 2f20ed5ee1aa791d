// Readers for the members of a client's body: each returns a value of its type or raises an error with the member's path. They are
// written by hand instead of with a schema, because they run for every request and the path must have the client's own spelling.

import {
  type GatewayError,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue
} from '../../../normalized/index.ts'

/** The path of a member: `messages[0]` and `role` give `messages[0].role`. A member of the body itself has the parent ''. */
export function joinPath(parent: string, member: string): string {
  return parent === '' ? member : `${parent}.${member}`
}

/** The error for a missing value or a wrong type, without the value itself; `expected` is a phrase such as `a string`. */
export function wrongType(path: string, expected: string, value: unknown): GatewayError {
  const found = value === undefined ? 'it is missing' : `it is ${describeType(value)}`
  return invalidRequest(path, `'${path}' must be ${expected}, but ${found}.`)
}

/** Reads a member that must be a non-empty string. Raises `invalid_request`. */
export function readString(source: JsonObject, member: string, parent = ''): string {
  const value = source[member]
  if (typeof value !== 'string') throw wrongType(joinPath(parent, member), 'a string', value)
  if (value === '') throw invalidRequest(joinPath(parent, member), `'${joinPath(parent, member)}' must not be empty.`)
  return value
}

/** Reads a member that must be an object. Raises `invalid_request`. */
export function readObject(source: JsonObject, member: string, parent = ''): JsonObject {
  const value = source[member]
  if (!isJsonObject(value)) throw wrongType(joinPath(parent, member), 'an object', value)
  return value
}

// The readers below accept an absent member and null, which mean the same; a wrong type raises `invalid_request`.

export function readOptionalString(source: JsonObject, member: string, parent = ''): string | undefined {
  const value = source[member] ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw wrongType(joinPath(parent, member), 'a string', value)
}

export function readOptionalBoolean(source: JsonObject, member: string, parent = ''): boolean | undefined {
  const value = source[member] ?? undefined
  if (value === undefined || typeof value === 'boolean') return value
  throw wrongType(joinPath(parent, member), 'a boolean', value)
}

export function readOptionalNumber(source: JsonObject, member: string, parent = ''): number | undefined {
  const value = source[member] ?? undefined
  if (value === undefined || typeof value === 'number') return value
  throw wrongType(joinPath(parent, member), 'a number', value)
}

export function readOptionalPositiveInteger(source: JsonObject, member: string, parent = ''): number | undefined {
  const value = readOptionalNumber(source, member, parent)
  if (value === undefined || (Number.isInteger(value) && value > 0)) return value
  throw invalidRequest(joinPath(parent, member), `'${joinPath(parent, member)}' must be a positive integer.`)
}

export function readOptionalObject(source: JsonObject, member: string, parent = ''): JsonObject | undefined {
  const value = source[member] ?? undefined
  if (value === undefined || isJsonObject(value)) return value
  throw wrongType(joinPath(parent, member), 'an object', value)
}

export function readOptionalArray(source: JsonObject, member: string, parent = ''): JsonValue[] | undefined {
  const value = source[member] ?? undefined
  if (value === undefined || Array.isArray(value)) return value
  throw wrongType(joinPath(parent, member), 'an array', value)
}

/** Removes undefined members: an optional member of the normalized form is absent or has a value. */
export function keepDefined<Members extends object>(members: Members): Defined<Members> {
  const kept: Partial<Members> = {}
  for (const name in members) {
    if (members[name] !== undefined) kept[name] = members[name]
  }
  return kept as Defined<Members>
}

type Defined<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

function describeType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
