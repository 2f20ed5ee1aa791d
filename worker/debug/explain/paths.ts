// Places in a JSON body, and bodies with some places taken out or replaced. A place is always one of the body as the client sent it.

import { isJsonObject, type JsonObject, type JsonValue } from '../../normalized/index.ts'

export type Step = string | number
export type Place = readonly Step[]

/** Such as `messages[0].content`. */
export function writePlace(place: Place): string {
  return place.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`
    return path === '' ? step : `${path}.${step}`
  }, '')
}

/** The steps of a path that `writePlace` or a client face wrote; names with dots or brackets in them are not found again. */
export function readPlace(path: string): Step[] {
  return [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name = '']) =>
    index === undefined ? name : Number(index)
  )
}

/** The value at a place; undefined where there is none. */
export function findAt(body: JsonValue | undefined, place: Place): JsonValue | undefined {
  let value = body
  for (const step of place) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined
    else value = isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  }
  return value
}

/** The members or elements of a value, each with its step; none for a value that has none. */
export function listInner(value: JsonValue | undefined): Array<{ step: Step; value: JsonValue }> {
  if (Array.isArray(value)) return value.map((inner, step) => ({ step, value: inner }))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([step, inner]) => (inner === undefined ? [] : [{ step, value: inner }]))
}

/** What is done at a place: taken out where there is no value. */
interface Edit {
  value?: JsonValue
}

/** Changes of one body, each at a place of the original. */
export class Edits {
  readonly #edits = new Map<Step, Edit | Edits>()

  /** The same edits and one more; `value` undefined takes the place out. */
  with(place: Place, value?: JsonValue): Edits {
    const copy = new Edits()
    for (const [step, edit] of this.#edits) copy.#edits.set(step, edit)
    const [first, ...rest] = place
    if (first === undefined) return copy
    const inner = copy.#edits.get(first)
    if (rest.length === 0) copy.#edits.set(first, value === undefined ? {} : { value })
    else copy.#edits.set(first, (inner instanceof Edits ? inner : new Edits()).with(rest, value))
    return copy
  }

  /** The same edits and many more, copied once. */
  withAll(edits: ReadonlyArray<{ place: Place; value?: JsonValue }>): Edits {
    const copy = new Edits()
    for (const [step, edit] of this.#edits) copy.#edits.set(step, edit)
    for (const { place, value } of edits) {
      const [first, ...rest] = place
      if (first === undefined) continue
      const inner = copy.#edits.get(first)
      if (rest.length > 0) copy.#edits.set(first, (inner instanceof Edits ? inner : new Edits()).with(rest, value))
      else copy.#edits.set(first, value === undefined ? {} : { value })
    }
    return copy
  }

  /** Whether the place itself is taken out or replaced. */
  has([first, ...rest]: Place): boolean {
    const edit = first === undefined ? undefined : this.#edits.get(first)
    if (edit instanceof Edits) return rest.length > 0 && edit.has(rest)
    return edit !== undefined && rest.length === 0
  }

  /** Whether a place inside of this one is taken out or replaced. */
  hasInside([first, ...rest]: Place): boolean {
    const edit = first === undefined ? undefined : this.#edits.get(first)
    if (!(edit instanceof Edits)) return false
    return rest.length === 0 || edit.hasInside(rest)
  }

  apply(body: JsonObject): JsonObject {
    return this.#applyTo(body) as JsonObject
  }

  #applyTo(value: JsonValue): JsonValue {
    if (this.#edits.size === 0) return value
    const inner = listInner(value).flatMap(({ step, value: one }) => {
      const edit = this.#edits.get(step)
      if (edit === undefined) return [[step, one] as const]
      if (edit instanceof Edits) return [[step, edit.#applyTo(one)] as const]
      return edit.value === undefined ? [] : [[step, edit.value] as const]
    })
    if (Array.isArray(value)) return inner.map(([, one]) => one)
    const added = [...this.#edits].flatMap(([step, edit]) =>
      edit instanceof Edits || edit.value === undefined || (value as JsonObject)[step] !== undefined
        ? []
        : [[step, edit.value] as const]
    )
    return Object.fromEntries([...inner, ...added])
  }

  /** The place in the original that a path of the edited body names, as far as it exists. */
  toOriginal(body: JsonObject, path: Place): Place {
    const place: Step[] = []
    let edits: Edit | Edits | undefined = this
    let value: JsonValue | undefined = body
    for (const step of path) {
      const at: Step = typeof step === 'number' && edits instanceof Edits ? edits.#originalIndex(step) : step
      value = findAt(value, [at])
      if (value === undefined) break
      edits = edits instanceof Edits ? edits.#edits.get(at) : undefined
      place.push(at)
    }
    return place
  }

  /** Elements before it may be taken out. */
  #originalIndex(index: number): number {
    let original = index
    const removed = [...this.#edits].flatMap(([step, edit]) =>
      typeof step === 'number' && !(edit instanceof Edits) && edit.value === undefined ? [step] : []
    )
    for (const step of removed.sort((left, right) => left - right)) if (step <= original) original++
    return original
  }
}
