// Converts schemas of `parameters`, `response` and `responseSchema` to JSON Schema at every depth. The protocol writes them in a
// subset of OpenAPI with its own words for types, null and sizes (content.md 4.1).

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  keepExactIntegers,
  tryParseJson
} from '../../../normalized/index.ts'
import { readMember, toCamelCase } from './spelling.ts'

/** Members of two words, which also have a spelling with underscores. */
const MEMBERS_OF_TWO_WORDS: ReadonlySet<string> = new Set([
  'additionalProperties',
  'allOf',
  'anyOf',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'minItems',
  'minLength',
  'minProperties',
  'multipleOf',
  'oneOf',
  'prefixItems',
  'propertyOrdering'
])

/** Members that JSON Schema does not have: they are expressed by others. */
const PROTOCOL_MEMBERS: ReadonlySet<string> = new Set(['nullable', 'propertyOrdering', 'example'])

/** Members that JSON Schema has under another name: a cloud platform's form of the protocol writes them without the sign. */
const SIGNED_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['ref', '$ref'],
  ['defs', '$defs']
])

/** Sizes, which SDKs send as text because this wire defines them as 64-bit integers, and bounds, which some clients send so too. */
const NUMBERS: ReadonlySet<string> = new Set([
  'maxItems',
  'maxLength',
  'maxProperties',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf'
])

/** Members that hold a schema, a list of schemas, or schemas by name. The protocol documents a few; SDKs send all of them. */
const SCHEMA_MEMBERS: ReadonlySet<string> = new Set(['items', 'not', 'additionalProperties'])
const SCHEMA_LIST_MEMBERS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const SCHEMA_MAP_MEMBERS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** Members that describe a schema and do not restrict its values. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$defs',
  'definitions'
])

/** Members that can exclude null from a schema without a type. */
const NULL_EXCLUDING_MEMBERS: readonly string[] = ['$ref', 'allOf', 'const', 'not', 'oneOf']

/**
 * Converts `schema` to a JSON Schema with the same meaning. Members that are JSON Schema already stay unchanged.
 * The recursion is bounded, because the depth of a body is checked when it is parsed.
 */
export function convertOpenApiSchema(schema: JsonObject): JsonObject {
  const { nullable, example } = schema
  const converted = convertMembers(schema)
  convertEnum(converted)
  if (isJsonObject(converted.properties)) {
    converted.properties = orderProperties(converted.properties, readMember(schema, 'propertyOrdering'))
  }
  if (isGiven(example)) {
    converted.examples = Array.isArray(converted.examples) ? [...converted.examples, example] : [example]
  }
  return nullable === true ? allowNull(converted) : converted
}

/** The spelling of JSON Schema for a member. */
function foldName(name: string): string {
  if (!name.includes('_')) return SIGNED_MEMBERS.get(name) ?? name
  const folded = toCamelCase(name)
  return MEMBERS_OF_TWO_WORDS.has(folded) ? folded : name
}

/**
 * Converts the members in one pass, because a schema may have very many, and drops those that become undefined. Built from entries, so
 * that no name can reach a prototype.
 */
function convertMembers(schema: JsonObject): JsonObject {
  const members: Array<[string, JsonValue]> = []
  for (const name of Object.keys(schema)) {
    const folded = foldName(name)
    if (PROTOCOL_MEMBERS.has(folded)) continue
    // The spelling of JSON Schema wins.
    if (folded !== name && isGiven(schema[folded])) continue
    const converted = convertMember(folded, schema[name])
    if (converted !== undefined) members.push([folded, converted])
  }
  return Object.fromEntries(members)
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null
}

function convertMember(name: string, value: JsonValue | undefined): JsonValue | undefined {
  if (name === 'type') return convertType(value)
  if (NUMBERS.has(name)) return convertNumber(value)
  if (name === '$ref') return convertReference(value)
  if (SCHEMA_MEMBERS.has(name)) return convertNested(value)
  if (SCHEMA_LIST_MEMBERS.has(name)) return Array.isArray(value) ? value.map(convertNested) : value
  if (SCHEMA_MAP_MEMBERS.has(name)) return isJsonObject(value) ? convertSchemaMap(value) : value
  return value
}

/** Converts a nested schema; a boolean schema is the same in both forms. */
function convertNested<Value extends JsonValue | undefined>(value: Value): Value | JsonObject {
  return isJsonObject(value) ? convertOpenApiSchema(value) : value
}

function convertType(type: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(type)) return type.map(one => (typeof one === 'string' ? one.toLowerCase() : one))
  if (typeof type !== 'string') return type
  const word = type.toLowerCase()
  return word === 'type_unspecified' ? undefined : word
}

/** A number that is written as text, with the digits of a large integer; any other value stays as it is. */
function convertNumber<Value extends JsonValue | undefined>(value: Value): Value | JsonValue {
  if (typeof value !== 'string') return value
  const number = tryParseJson(value)
  return typeof number === 'number' && Number.isFinite(number) ? keepExactIntegers(value, number) : value
}

/** Definitions stand under `$defs` after the conversion. */
function convertReference(reference: JsonValue | undefined): JsonValue | undefined {
  return typeof reference === 'string' ? reference.replace(/^#\/defs(?=\/|$)/, '#/$defs') : reference
}

/**
 * The protocol's `enum` holds texts alone: those of a numeric type are numbers (decisions.md 83). The format says no more than that there
 * is an `enum`.
 */
function convertEnum(schema: JsonObject): void {
  if (schema.format === 'enum') delete schema.format
  if (Array.isArray(schema.enum) && isNumeric(schema.type)) schema.enum = schema.enum.map(convertNumber)
}

/** True for a type, in lower case, whose values are numbers or null. */
function isNumeric(type: JsonValue | undefined): boolean {
  const types = (Array.isArray(type) ? type : [type]).filter(one => one !== 'null')
  return types.length > 0 && types.every(one => one === 'integer' || one === 'number')
}

function orderProperties(properties: JsonObject, ordering: JsonValue | undefined): JsonObject {
  if (!Array.isArray(ordering)) return properties
  const places = new Map(ordering.map((name, place) => [name, place]))
  const placeOf = (name: string) => places.get(name) ?? places.size
  return Object.fromEntries(Object.entries(properties).sort(([left], [right]) => placeOf(left) - placeOf(right)))
}

/** Extends a schema so that it also accepts null. */
function allowNull(schema: JsonObject): JsonObject {
  if (NULL_EXCLUDING_MEMBERS.some(name => schema[name] !== undefined)) return wrapWithNull(schema)
  const widened = { ...schema }
  const { type, anyOf } = schema
  if (typeof type === 'string' && type !== 'null') widened.type = [type, 'null']
  if (Array.isArray(type) && !type.includes('null')) widened.type = [...type, 'null']
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) widened.enum = [...schema.enum, null]
  if (Array.isArray(anyOf)) widened.anyOf = addNullType(anyOf)
  return widened
}

function addNullType(schemas: JsonValue[]): JsonValue[] {
  const hasNull = schemas.some(schema => isJsonObject(schema) && schema.type === 'null')
  return hasNull ? schemas : [...schemas, { type: 'null' }]
}

function wrapWithNull(schema: JsonObject): JsonObject {
  const members = Object.entries(schema)
  const annotations = members.filter(([name]) => ANNOTATIONS.has(name))
  const rules = members.filter(([name]) => !ANNOTATIONS.has(name))
  return { ...Object.fromEntries(annotations), anyOf: [Object.fromEntries(rules), { type: 'null' }] }
}

/** Converts schemas by name. Built from entries, so that no name can reach a prototype. */
function convertSchemaMap(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(schemas).map(name => [name, convertNested(schemas[name])]))
}
