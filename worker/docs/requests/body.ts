// The schema of a request body, made of the parameter table that its reader applies: every row becomes a property with its
// compatibility status. What a parameter accepts is described here beside the table; the reader stays the judge.
import type { Parameter, ParameterClass, ParameterTable } from '../../protocols/shared/members/parameters.ts'
import type { JsonSchema } from '../schema.ts'

export interface BodyParts<Table extends ParameterTable> {
  /** What supported parameters accept; every other one accepts any value. */
  members: { [Name in keyof Table]?: JsonSchema }
  required?: ReadonlyArray<keyof Table & string>
  /** What members that are not in the table do. */
  others: string
  example: Readonly<Record<string, unknown>>
}

const WORD_OF_CLASS: Readonly<Record<ParameterClass, string>> = {
  supported: 'Supported.',
  accepted_ignored: 'Accepted and ignored.',
  rejected: 'Rejected with 400, unless it is null.',
  not_applicable: 'An option of SDKs, accepted and ignored; never sent or stored.'
}

/**
 * Writes the schema of a body. Parameters that have an effect come first, so that a reader finds them.
 * @param table the treatment of each parameter (specification.md 2.1).
 */
export function writeBody<Table extends ParameterTable>(table: Table, parts: BodyParts<Table>): JsonSchema {
  const { members, others, example, required = [] } = parts
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: writeParameters(table, members),
    additionalProperties: true,
    description: others,
    examples: [example]
  }
}

/** The properties of a table, without the object around them. */
export function writeParameters<Table extends ParameterTable>(
  table: Table,
  members: BodyParts<Table>['members']
): Record<string, JsonSchema> {
  const rows = Object.entries<Parameter>(table).sort(([, left], [, right]) => rankOf(left) - rankOf(right))
  return Object.fromEntries(rows.map(([name, parameter]) => [name, writeParameter(parameter, members[name])]))
}

const RANKS: readonly ParameterClass[] = ['supported', 'accepted_ignored', 'rejected', 'not_applicable']

function rankOf(parameter: Parameter): number {
  return RANKS.indexOf(parameter.class)
}

function writeParameter(parameter: Parameter, member: JsonSchema = {}): JsonSchema {
  const { note } = parameter
  const { description, ...schema } = parameter.class === 'rejected' ? { type: 'null' as const } : member
  const sentences = [WORD_OF_CLASS[parameter.class], note, description].filter(text => text !== undefined)
  return { ...schema, description: sentences.join(' '), 'x-compatibility': parameter.class }
}

export const text: JsonSchema = { type: 'string' }
export const nonEmptyText: JsonSchema = { type: 'string', minLength: 1 }
export const openObject: JsonSchema = { type: 'object', additionalProperties: true }

/** The same, or null, which every optional parameter accepts as its absence. */
export function optional(schema: JsonSchema): JsonSchema {
  if (typeof schema.type === 'string' && schema.enum === undefined && schema.const === undefined) {
    return { ...schema, type: [schema.type, 'null'] }
  }
  return { anyOf: [schema, { type: 'null' }] }
}

export const optionalText = optional(text)
export const optionalBoolean = optional({ type: 'boolean' })
export const optionalNumber = optional({ type: 'number' })
export const optionalObject = optional(openObject)
export const optionalPositive = optional({ type: 'integer', minimum: 1 })

/** An object with these members and any others. */
export function members(properties: Record<string, JsonSchema>, required: readonly string[] = []): JsonSchema {
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties,
    additionalProperties: true
  }
}

export function list(items: JsonSchema, bounds: { minItems?: number; maxItems?: number } = {}): JsonSchema {
  return { type: 'array', items, ...bounds }
}

/** What `extraMembers` of the parameter tables accept. */
export const extraMemberSchemas = {
  extra_body: optionalObject,
  additional_fields: optionalObject,
  extra_headers: optionalObject
}
