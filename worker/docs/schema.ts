// Describes the bodies of responses: zod schemas whose types the compiler compares with the types that the writers of the client faces
// return, so that the documentation cannot differ from them.
import { z } from 'zod'
import type { JsonObject, JsonValue } from '../normalized/index.ts'

/** A JSON Schema in the dialect of OpenAPI 3.1 (2020-12). */
export type JsonSchema = { [keyword: string]: unknown }

/** Schemas with a name: they become `components.schemas` of the document, and others refer to them. */
export const namedSchemas: z.core.$ZodRegistry<{ id: string }> = z.registry<{ id: string }>()

/** True when both types are assignable to each other. */
type IsAssignable<Left, Right> = [Left] extends [Right] ? ([Right] extends [Left] ? true : false) : false

/** Without optional members, because a type without a member is assignable to one with an optional member. */
type WithAll<Type> = JsonValue extends Type
  ? Type
  : string extends keyof Type
    ? Type
    : Type extends object
      ? { [Name in keyof Type]-?: WithAll<Type[Name]> }
      : Type

type IsSame<Left, Right> = IsAssignable<Left, Right> extends true ? IsAssignable<WithAll<Left>, WithAll<Right>> : false

/**
 * Names a schema of `Wire`, the type of a body or of a part of one. The compiler refuses a schema with another type.
 * @param description for the readers of the document.
 */
export function describe<Wire>() {
  return <Schema extends z.ZodType>(
    id: string,
    schema: IsSame<z.output<Schema>, Wire> extends true ? Schema : never,
    description?: string
  ): Schema => {
    const named = description === undefined ? schema : schema.describe(description)
    namedSchemas.add(named, { id })
    return named
  }
}

/** Any JSON object. */
export const jsonObject = z.any().meta({ type: 'object' }) as unknown as z.ZodType<JsonObject>
/** Any JSON value. */
export const jsonValue = z.any() as unknown as z.ZodType<JsonValue>
export const count = z.int().min(0)
/** Further labels of a response. */
export const labels = z.record(z.string(), z.string())

/** All named schemas as JSON Schema, sorted by name; references point into the document. */
export function writeNamedSchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(namedSchemas, { uri: schemaReference })
  const names = Object.keys(schemas).sort()
  return Object.fromEntries(
    names.map(name => {
      const { $schema: _dialect, $id: _id, ...schema } = schemas[name] as JsonSchema
      return [name, tidy(schema) as JsonSchema]
    })
  )
}

/** The reference to a named schema. */
export function schemaReference(name: string): string {
  return `#/components/schemas/${name}`
}

/**
 * Shortens what the conversion writes at length: the bounds of every integer, and null beside a plain type. Removes the empty list of an
 * empty tuple, which JSON Schema forbids.
 */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const schema = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, tidy(member)])) as JsonSchema
  if (schema.type === 'integer') {
    if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
    if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  }
  if (Array.isArray(schema.prefixItems) && schema.prefixItems.length === 0) delete schema.prefixItems
  return mergeNull(schema)
}

function mergeNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [first, second] = anyOf as [JsonSchema, JsonSchema]
  const isPlain = typeof first.type === 'string' && first.enum === undefined && first.const === undefined
  return isPlain && second.type === 'null' ? { ...first, ...rest, type: [first.type, 'null'] } : schema
}
