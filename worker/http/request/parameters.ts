// Typed values of a query or a path. All wrong values of a request are named at once
// (operations.md 1.1).
import { type ErrorPlace, GatewayError } from '../../normalized/index.ts'
import type { QueryValues } from './families.ts'

/** Reads one value; `undefined` stands for an absent one. Returns an `InvalidValue` where it is refused. */
export type Parameter<T> = (text: string | undefined) => T | InvalidValue

/** How a present value is read. */
export type ParameterType<T> = (text: string) => T | InvalidValue

class InvalidValue {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** A whole number within the bounds. */
export function integer({
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER
}: {
  min?: number
  max?: number
}): ParameterType<number> {
  return text => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
    if (Number.isNaN(value)) {
      return new InvalidValue('Input should be a valid integer, unable to parse string as an integer')
    }
    if (value < min) return new InvalidValue(`Input should be greater than or equal to ${min}`)
    if (value > max) return new InvalidValue(`Input should be less than or equal to ${max}`)
    return value
  }
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'on', 't', 'y', 'yes'].map(word => [word, true] as const),
  ...['false', '0', 'off', 'f', 'n', 'no'].map(word => [word, false] as const)
])

/** One of the words for true and false, in any case. */
export const boolean: ParameterType<boolean> = text =>
  BOOLEANS.get(text.toLowerCase()) ?? new InvalidValue('Input should be a valid boolean, unable to interpret input')

/** One of the words, in any case. */
export function oneOf<const Word extends string>(words: readonly Word[]): ParameterType<Word> {
  const quoted = words.map(word => `'${word}'`)
  const listed = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
  return text =>
    words.find(word => word.toLowerCase() === text.toLowerCase()) ?? new InvalidValue(`Input should be ${listed}`)
}

/** Some of the words, separated by commas, in any case. */
export function listOf<const Word extends string>(words: readonly Word[]): ParameterType<Word[]> {
  const type = oneOf(words)
  return text => {
    const read = text.split(',').map(item => type(item.trim()))
    return read.find(item => item instanceof InvalidValue) ?? (read as Word[])
  }
}

/** Any text, not changed. */
export const text: ParameterType<string> = value => value

/** A text of this many UTF-16 units at most. */
export function textUpTo(max: number): ParameterType<string> {
  return value => (value.length > max ? new InvalidValue(`Input should have at most ${max} characters`) : value)
}

/** A parameter that must be there. */
export function required<T>(type: ParameterType<T>): Parameter<T> {
  return value => (value === undefined ? new InvalidValue('Field required') : type(value))
}

/** A parameter that may be absent. */
export function optional<T>(type: ParameterType<T>): Parameter<T | undefined> {
  return value => (value === undefined ? undefined : type(value))
}

/** A parameter that has this value where it is absent. */
export function withDefault<T>(type: ParameterType<T>, fallback: T): Parameter<T> {
  return value => (value === undefined ? fallback : type(value))
}

type ValueOf<P> = P extends Parameter<infer T> ? Exclude<T, InvalidValue> : never

/**
 * Reads the parameters of a request and returns their values by name. Of a repeated one the last value counts; names that `parameters`
 * lacks are ignored. Raises `invalid_parameter` with every wrong place, such as `query.lines`.
 */
export function readParameters<const Parameters extends Readonly<Record<string, Parameter<unknown>>>>(
  place: 'query' | 'path',
  values: QueryValues,
  parameters: Parameters
): { [Name in keyof Parameters]: ValueOf<Parameters[Name]> } {
  const errors: ErrorPlace[] = []
  const read: Record<string, unknown> = {}
  for (const [name, parameter] of Object.entries(parameters)) {
    const given = Object.hasOwn(values, name) ? values[name] : undefined
    const value = parameter(Array.isArray(given) ? given.at(-1) : given)
    if (value instanceof InvalidValue) errors.push({ path: `${place}.${name}`, message: value.message })
    else read[name] = value
  }
  if (errors.length > 0) throw new GatewayError('invalid_parameter', { errors })
  return read as { [Name in keyof Parameters]: ValueOf<Parameters[Name]> }
}
