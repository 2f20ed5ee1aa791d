// What the server refuses of templates, policies and documents.
export type Json = Record<string, unknown>

/** An error in the form of the server. */
export class RefusedCall extends Error {
  readonly status: number
  readonly type: string

  constructor(status: number, type: string, reason: string) {
    super(reason)
    this.status = status
    this.type = type
  }
}

const TERM_BYTES_MAX = 32_766

/** Parses an object. Raises `RefusedCall` for everything else. */
export function readJson(text: string): Json {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  } catch {
    // Refused below.
  }
  throw new RefusedCall(400, 'parse_exception', 'not an object')
}

/** Raises `RefusedCall` for an unknown member. */
export function checkMembers(value: Json, known: readonly string[]): void {
  for (const member of Object.keys(value)) {
    if (!known.includes(member)) throw new RefusedCall(400, 'x_content_parse_exception', `unknown field [${member}]`)
  }
}

const MAPPING_PARAMETERS: Record<string, readonly string[]> = {
  keyword: ['ignore_above'],
  text: [],
  date: ['format'],
  integer: ['ignore_malformed'],
  float: ['ignore_malformed'],
  double: ['ignore_malformed'],
  boolean: [],
  object: ['enabled', 'dynamic', 'properties']
}

/** Raises `RefusedCall` for a mapping that the server does not take. */
export function checkMapping({ properties = {}, ...mapping }: Json): void {
  checkMembers(mapping, ['dynamic', '_meta', 'type', 'enabled'])
  for (const { type = 'object', ...parameters } of Object.values(properties as Record<string, Json>)) {
    const known = MAPPING_PARAMETERS[type as string]
    if (known === undefined) throw new RefusedCall(400, 'mapper_parsing_exception', `No handler for type [${type}]`)
    checkMembers(parameters, known)
    if (type === 'object') checkMapping(parameters)
  }
}

interface Policy {
  readonly default_state: string
  readonly states: ReadonlyArray<{
    readonly name: string
    readonly actions: readonly Json[]
    readonly transitions: ReadonlyArray<{ readonly state_name: string; readonly conditions: Json }>
  }>
  readonly ism_template: ReadonlyArray<{ readonly index_patterns: readonly string[] }>
}

const AGE = /^\d+(d|h|m|s)$/
const SIZE = /^\d+(b|kb|mb|gb|tb)$/
const CONDITIONS: Record<string, RegExp> = { min_index_age: AGE, min_rollover_age: AGE, min_size: SIZE }

/** Raises `RefusedCall` for a policy that the server does not take. */
export function checkPolicy(value: Json): void {
  checkMembers(value, ['description', 'default_state', 'states', 'ism_template'])
  const { default_state, states, ism_template } = value as unknown as Policy
  const names = new Set(states.map(({ name }) => name))
  const targets = states.flatMap(({ transitions }) => transitions.map(({ state_name }) => state_name))
  for (const state of [default_state, ...targets]) {
    if (!names.has(state)) throw new RefusedCall(400, 'illegal_argument_exception', `unknown state ${state}`)
  }
  for (const { actions, transitions } of states) {
    for (const action of actions) {
      checkMembers(action, ['rollover', 'delete'])
      checkConditions((action.rollover ?? {}) as Json)
    }
    for (const { conditions } of transitions) checkConditions(conditions)
  }
  for (const template of ism_template) checkMembers({ ...template }, ['index_patterns', 'priority'])
}

function checkConditions(conditions: Json): void {
  for (const [name, value] of Object.entries(conditions)) {
    if (CONDITIONS[name]?.test(String(value)) === true) continue
    throw new RefusedCall(400, 'illegal_argument_exception', `condition ${name} of ${value}`)
  }
}

/** Checks the fields of a document against the mapping, as far as a type can refuse one. */
export function checkFields(source: Json, mapping: Json): void {
  const properties = (mapping.properties ?? {}) as Record<string, Json>
  for (const [name, value] of Object.entries(source)) {
    const property = properties[name]
    if (property === undefined) {
      if (mapping.dynamic === 'strict') throw new RefusedCall(400, 'strict_dynamic_mapping_exception', name)
      continue
    }
    // Every field takes a list of its values.
    const values = Array.isArray(value) && property.enabled !== false ? value : [value]
    if (!values.every(one => one === null || takesValue(property, one))) {
      throw new RefusedCall(400, 'mapper_parsing_exception', `failed to parse field [${name}]`)
    }
  }
}

function takesValue(property: Json, value: unknown): boolean {
  const isText = typeof value === 'string'
  switch (property.type) {
    case 'keyword': {
      const isIgnored = isText && value.length > Number(property.ignore_above ?? Number.POSITIVE_INFINITY)
      return isIgnored || (typeof value !== 'object' && Buffer.byteLength(String(value)) <= TERM_BYTES_MAX)
    }
    case 'text':
      return typeof value !== 'object'
    case 'date':
      return isText && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z$/.test(value)
    case 'integer':
      return property.ignore_malformed === true || (Number.isInteger(value) && Math.abs(value as number) < 2 ** 31)
    case 'float':
    case 'double':
      return property.ignore_malformed === true || typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    default: {
      if (property.enabled === false) return true
      if (typeof value !== 'object') return false
      checkFields(value as Json, property)
      return true
    }
  }
}
