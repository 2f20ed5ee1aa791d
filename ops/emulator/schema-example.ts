// Creates a small instance of a JSON Schema, for structured output and for the arguments of forced calls.
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { exampleOfRegex } from './regex-example.ts'

const DEPTH_MAX = 12
const ITEMS_MAX = 20
const STRING_LENGTH_MAX = 10_000

const formatExamples: Record<string, string> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T12:00:00Z',
  time: '12:00:00Z',
  duration: 'PT1H',
  email: 'person@example.test',
  hostname: 'example.test',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.test/',
  url: 'https://example.test/',
  uuid: '00000000-0000-4000-8000-000000000000'
}

/** A schema that requires itself more than once grows exponentially with its depth; values beyond this number are `null`. */
const VALUES_MAX = 5000

interface Scope {
  root: JsonValue
  depth: number
  made: { values: number }
}

/**
 * Creates an instance of a schema: the required properties (all properties when `required` is absent), the first value of an
 * `enum`, the first branch that is not `null`, numbers within their bounds. Deterministic.
 */
export function exampleOfSchema(schema: JsonValue): JsonValue {
  return example(schema, { root: schema, depth: 0, made: { values: 0 } })
}

function example(schema: JsonValue, scope: Scope): JsonValue {
  if (!isJsonObject(schema)) return 'example'
  if (scope.depth > DEPTH_MAX || scope.made.values++ > VALUES_MAX) return null
  const inner = { ...scope, depth: scope.depth + 1 }
  if (typeof schema.$ref === 'string') {
    const target = resolvePointer(scope.root, schema.$ref)
    const { $ref: _reference, ...siblings } = schema
    return example(isJsonObject(target) ? { ...target, ...siblings } : {}, inner)
  }
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] ?? null
  if (schema.default !== undefined && schema.default !== null) return schema.default
  if (Array.isArray(schema.allOf)) return example(mergeAll(schema, inner), inner)
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : undefined
  if (branches !== undefined && branches.length > 0) return exampleOfBranch(schema, branches, inner)
  return exampleOfType(schema, inner)
}

/** Merges the branch with the members beside `anyOf` or `oneOf`, so that the `properties` there still apply. */
function exampleOfBranch(schema: JsonObject, branches: JsonValue[], scope: Scope): JsonValue {
  const { anyOf: _anyOf, oneOf: _oneOf, ...siblings } = schema
  const branch = branches.find(option => !(isJsonObject(option) && option.type === 'null')) ?? branches[0] ?? {}
  return example(isJsonObject(branch) ? mergeObjects(siblings, branch) : siblings, scope)
}

function exampleOfType(schema: JsonObject, scope: Scope): JsonValue {
  switch (typeOf(schema)) {
    case 'object':
      return exampleOfObject(schema, scope)
    case 'array':
      return exampleOfArray(schema, scope)
    case 'integer':
      return exampleOfNumber(schema, true)
    case 'number':
      return exampleOfNumber(schema, false)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return exampleOfString(schema)
  }
}

function typeOf(schema: JsonObject): string {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  const named = types.find(type => typeof type === 'string' && type !== 'null') ?? types[0]
  // Some clients write the type names in upper case.
  if (typeof named === 'string') return named.toLowerCase()
  if (isJsonObject(schema.properties)) return 'object'
  return schema.items !== undefined || schema.prefixItems !== undefined ? 'array' : 'string'
}

function exampleOfObject(schema: JsonObject, scope: Scope): JsonObject {
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  const names = Array.isArray(schema.required)
    ? schema.required.filter(name => typeof name === 'string')
    : Object.keys(properties).filter(name => !isRecursive(properties[name], scope))
  const value: JsonObject = {}
  for (const name of names) value[name] = example(properties[name] ?? true, scope)
  return value
}

/** True for an optional property to omit: a recursive reference would otherwise be filled down to the depth limit. */
function isRecursive(schema: JsonValue | undefined, scope: Scope): boolean {
  return scope.depth > 2 && schema !== undefined && JSON.stringify(schema).includes('"$ref"')
}

function exampleOfArray(schema: JsonObject, scope: Scope): JsonValue[] {
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems.map(item => example(item, scope)) : []
  const count = Math.min(ITEMS_MAX, typeof schema.minItems === 'number' ? schema.minItems : scope.depth > 4 ? 0 : 1)
  if (schema.items === false) return first
  while (first.length < count) first.push(example(schema.items ?? true, scope))
  return typeof schema.maxItems === 'number' ? first.slice(0, schema.maxItems) : first
}

function exampleOfNumber(schema: JsonObject, isInteger: boolean): number {
  const step = typeof schema.multipleOf === 'number' && schema.multipleOf > 0 ? schema.multipleOf : isInteger ? 1 : 0.5
  const bound = (name: string) => (typeof schema[name] === 'number' ? schema[name] : undefined)
  const lowest = bound('minimum') ?? (bound('exclusiveMinimum') ?? Number.NEGATIVE_INFINITY) + step
  const highest = bound('maximum') ?? (bound('exclusiveMaximum') ?? Number.POSITIVE_INFINITY) - step
  const preferred = Math.max(lowest, Math.min(highest, 1))
  const stepped = Math.ceil(preferred / step) * step
  return stepped <= highest ? stepped : preferred
}

function exampleOfString(schema: JsonObject): string {
  const pattern = typeof schema.pattern === 'string' ? schema.pattern : undefined
  const format = typeof schema.format === 'string' ? formatExamples[schema.format] : undefined
  let text = pattern === undefined ? (format ?? 'example') : exampleOfRegex(pattern)
  const shortest = typeof schema.minLength === 'number' ? Math.min(STRING_LENGTH_MAX, schema.minLength) : 0
  if (pattern === undefined && text.length < shortest) text = text.padEnd(shortest, 'e')
  return typeof schema.maxLength === 'number' ? text.slice(0, schema.maxLength) : text
}

function mergeAll(schema: JsonObject, scope: Scope): JsonObject {
  const { allOf, ...siblings } = schema
  let merged: JsonObject = siblings
  for (const part of Array.isArray(allOf) ? allOf : []) {
    const target = isJsonObject(part) && typeof part.$ref === 'string' ? resolvePointer(scope.root, part.$ref) : part
    if (isJsonObject(target)) merged = mergeObjects(merged, target)
  }
  return merged
}

function mergeObjects(left: JsonObject, right: JsonObject): JsonObject {
  const merged: JsonObject = { ...left, ...right }
  if (isJsonObject(left.properties) && isJsonObject(right.properties)) {
    merged.properties = { ...left.properties, ...right.properties }
  }
  if (Array.isArray(left.required) && Array.isArray(right.required)) {
    merged.required = [...new Set([...left.required, ...right.required])]
  }
  return merged
}

/** Finds the target of a JSON pointer such as `#/$defs/A` inside the schema; undefined for any other reference. */
function resolvePointer(root: JsonValue, reference: string): JsonValue | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let value: JsonValue | undefined = root
  for (const part of reference.slice(2).split('/')) {
    const name = decodePart(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) value = value[Number(name)]
    else if (isJsonObject(value) && Object.hasOwn(value, name)) value = value[name]
    else return undefined
  }
  return value
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
