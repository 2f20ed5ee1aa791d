// Every member of this wire has two spellings, camel case and snake case; camel case wins when both are given (content.md 2).
// Readers find a member by its camel-case name and get the spelling that the client used, so that errors name the client's path.

import type { JsonObject, JsonValue } from '../../../normalized/index.ts'
import { refuseManyMembers } from '../../shared/members/parameters.ts'

/** A cache of snake-case names. It is bounded, because only names from the gateway's code are looked up. */
const snakeNames = new Map<string, string>()

/** The spelling in which `source` has the member `name`; `name` itself when the member is absent or null. */
export function spell(source: JsonObject, name: string): string {
  if (isGiven(source[name])) return name
  const snakeName = toSnakeCase(name)
  return snakeName !== name && isGiven(source[snakeName]) ? snakeName : name
}

/** The member `name` of `source` in either spelling; undefined when it is absent or null. */
export function readMember(source: JsonObject, name: string): JsonValue | undefined {
  return source[spell(source, name)] ?? undefined
}

/**
 * Whether a part holds no data: an SDK that leaves out empty texts writes an empty text back so, with what stood
 * beside it (decisions.md 109).
 */
export function isWithoutData(part: JsonObject): boolean {
  return Object.keys(part).every(name => BESIDE_DATA.has(name) || !isGiven(part[name]))
}

const BESIDE_DATA: ReadonlySet<string> = new Set(['thought', 'thoughtSignature', 'thought_signature'])

/**
 * Renames the members of `source`, the object at `path`, to camel case for a search in `table`; names that the table contains stay
 * unchanged. Raises `invalid_request` for very many members.
 */
export function foldNames(source: JsonObject, table: object, path = ''): JsonObject {
  refuseManyMembers(source, path, table)
  const fold = (name: string) => (Object.hasOwn(table, name) ? name : toCamelCase(name))
  if (Object.keys(source).every(name => fold(name) === name)) return source
  // Built from entries, so that a member named `__proto__` stays a member for the check that refuses it. Renamed members come
  // first, because the later of two entries with one name wins.
  const members = Object.entries(source)
  const renamed = members.filter(([name]) => fold(name) !== name)
  const kept = members.filter(([name]) => fold(name) === name)
  return Object.fromEntries([...renamed.map(([name, value]) => [fold(name), value] as const), ...kept])
}

/** Turns `some_name` into `someName`. A name that begins with an underscore has no other spelling. */
export function toCamelCase(name: string): string {
  if (!name.includes('_') || name.startsWith('_')) return name
  return name.replaceAll(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase())
}

function toSnakeCase(name: string): string {
  const known = snakeNames.get(name)
  if (known !== undefined) return known
  const snakeName = name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  snakeNames.set(name, snakeName)
  return snakeName
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null
}
