// Values that a JSON Schema allows, as far as request bodies of the document use JSON Schema; and values that are broken in one place.

import type { JsonSchema } from '../../worker/docs/schema.ts'
import * as fc from './properties.ts'

export interface ArbitraryOptions {
  schemas: Readonly<Record<string, JsonSchema>>
  /** Texts, for members without a value of their own. */
  text: fc.Arbitrary<string>
  /** Values by the name of the member, in place of those of its schema; objects always have them. */
  named: Readonly<Record<string, fc.Arbitrary<unknown>>>
}

const anyValue = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.string({ maxLength: 8 }),
  fc.array(fc.integer(), { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('a', 'type', 'name'), fc.string({ maxLength: 4 }), { maxKeys: 2 })
)

/** Values of a schema. Optional members are rare, so that most requests are served. */
export function valuesOf(schema: JsonSchema, options: ArbitraryOptions): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string') {
    return valuesOf(options.schemas[schema.$ref.replace('#/components/schemas/', '')] ?? {}, options)
  }
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  if (Array.isArray(schema.anyOf)) return fc.oneof(...(schema.anyOf as JsonSchema[]).map(one => valuesOf(one, options)))
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map(type => valuesOf({ ...schema, type }, options)))
  switch (schema.type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: Number(schema.minimum ?? -10), max: Number(schema.maximum ?? 4096) })
    case 'number':
      return fc.double({ min: 0, max: 1, noNaN: true })
    case 'string':
      return schema.minLength === undefined ? options.text : options.text.filter(text => text !== '')
    case 'array':
      return fc.array(valuesOf((schema.items ?? {}) as JsonSchema, options), {
        minLength: Number(schema.minItems ?? 0),
        maxLength: Math.min(3, Number(schema.maxItems ?? 3))
      })
    case 'object':
      return objectsOf(schema, options)
    default:
      return anyValue
  }
}

function objectsOf(schema: JsonSchema, options: ArbitraryOptions): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
  const required = new Set((schema.required ?? []) as string[])
  const entries = Object.entries(properties).map(([name, member]): [string, fc.Arbitrary<unknown>] => {
    const named = options.named[name]
    if (named !== undefined) return [name, named]
    const value = valuesOf(member, options)
    return [name, required.has(name) ? value : sometimes(value)]
  })
  return fc.record(Object.fromEntries(entries)).map(withoutUndefined)
}

/** One value in some dozens, else undefined: a body has dozens of optional members. */
function sometimes(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 1, arbitrary: values }, { weight: 30, arbitrary: fc.constant(undefined) })
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
}

/** The same value with one place changed: another value, a missing member, or one more member. */
export function brokenIn(value: unknown): fc.Arbitrary<unknown> {
  const places = listPlaces(value)
  return fc
    .tuple(fc.constantFrom(...places), fc.constantFrom('replace', 'remove', 'add'), anyValue)
    .map(([place, how, other]) => change(value, place, { how, other }))
}

type Place = readonly (string | number)[]

function listPlaces(value: unknown, place: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [place]
  const entries: Array<[string | number, unknown]> = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value as object)
  return [place, ...entries.flatMap(([name, member]) => listPlaces(member, [...place, name]))]
}

function change(value: unknown, place: Place, what: { how: string; other: unknown }): unknown {
  const [name, ...rest] = place
  if (name === undefined) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return what.how === 'add' && isObject ? { ...value, unknown_member: what.other } : what.other
  }
  if (Array.isArray(value)) {
    if (rest.length === 0 && what.how === 'remove') return value.toSpliced(Number(name), 1)
    return value.with(Number(name), change(value[Number(name)], rest, what))
  }
  const { [name]: member, ...others } = value as Record<string, unknown>
  if (rest.length === 0 && what.how === 'remove') return others
  return { ...(value as object), [name]: change(member, rest, what) }
}
