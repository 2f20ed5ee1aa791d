// Every member of this family's wire has two spellings, camel case and snake case, and the first one wins where both are given
// (content.md 2). Readers ask for a member by its camel-case name and get the spelling that the client used, so that errors name
// the path in the client's own words.

import type { JsonObject, JsonValue } from '../../../normalized/index.ts'

/** Only names that stand in our own code are looked up, so this never grows beyond them. */
const snakeNames = new Map<string, string>()

/** The spelling in which `source` has the member `name`; `name` itself where it has none. Null counts as absent. */
export function spell(source: JsonObject, name: string): string {
  if (isGiven(source[name])) return name
  const snakeName = toSnakeCase(name)
  return snakeName !== name && isGiven(source[snakeName]) ? snakeName : name
}

/** The member `name` of `source` in either spelling; undefined when it is absent or null. */
export function readMember(source: JsonObject, name: string): JsonValue | undefined {
  return source[spell(source, name)] ?? undefined
}

/** The members under their camel-case names, to be looked up in `table`; names that it has as they are stay. */
export function foldNames(source: JsonObject, table: object): JsonObject {
  const fold = (name: string) => (Object.hasOwn(table, name) ? name : toCamelCase(name))
  if (Object.keys(source).every(name => fold(name) === name)) return source
  // As entries, because an own member named `__proto__` must stay one for the check that refuses it. What is renamed goes first:
  // of two entries with one name the later one stays.
  const members = Object.entries(source)
  const renamed = members.filter(([name]) => fold(name) !== name)
  const kept = members.filter(([name]) => fold(name) === name)
  return Object.fromEntries([...renamed.map(([name, value]) => [fold(name), value] as const), ...kept])
}

/** `some_name` as `someName`. A name that begins with an underscore is no spelling of another one. */
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
