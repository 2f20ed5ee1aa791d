// Changes of a JSON text that is sent on: each names a place in it. They are made in the bytes, so that everything else stays what its
// sender wrote: numbers beyond 2^53, spellings of numbers, escapes, order and blanks. Where the bytes cannot be used, the same changes are
// made in the parsed value.

import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'

/** Members and items on the way from the whole value to a place. */
export type Place = readonly (string | number)[]

/** What becomes of one member or item. */
export interface Edit {
  isDropped?: true
  /** Another value; a member that the object does not have is added at its end. */
  value?: JsonValue
  /** The value replaces a text only. */
  isText?: true
  /** The member gets another name, in its place. */
  name?: string
  /** The value becomes a text: its own JSON, as it is written. */
  isQuoted?: true
  /** An object gives way to its members, but for those with these names. */
  spreadBut?: ReadonlySet<string>
  /** Changes inside of the value. */
  inner?: Map<string | number, Edit>
}

export class JsonEdits {
  readonly #root: Edit

  constructor(root: Edit = {}) {
    this.#root = root
  }

  /** The changes inside of a place. */
  at(...place: Place): JsonEdits {
    return new JsonEdits(this.#find(place))
  }

  /** Nothing changes. */
  get isEmpty(): boolean {
    return this.#root.inner === undefined
  }

  /** The changes of the members of the whole value. */
  get members(): ReadonlyMap<string | number, Edit> {
    return this.#root.inner ?? NONE
  }

  /** Leaves out a member or an item. */
  drop(...place: Place): void {
    const edit = this.#find(place)
    edit.isDropped = true
  }

  /** Sets a value; a member that is not there is added, an item or an object on the way to it is not. */
  set(place: Place, value: JsonValue): void {
    this.#find(place).value = value
  }

  /** Puts another text in the place of a text; what is no text stays, and nothing is added. */
  replaceText(place: Place, text: string): void {
    const edit = this.#find(place)
    edit.value = text
    edit.isText = true
  }

  /** Puts the members of an object in its own place, but for those with these names. Any other value is left out. */
  spread(place: Place, but: ReadonlySet<string>): void {
    this.#find(place).spreadBut = but
  }

  rename(place: Place, name: string): void {
    this.#find(place).name = name
  }

  /** Makes a text of a value, such as arguments that are sent as an object. */
  quote(...place: Place): void {
    this.#find(place).isQuoted = true
  }

  /** The parsed value with the changes; what does not change is shared. */
  applyTo(value: JsonObject): JsonObject {
    return this.isEmpty ? value : (applyInner(value, this.members) as JsonObject)
  }

  #find(place: Place): Edit {
    let edit = this.#root
    for (const step of place) {
      edit.inner ??= new Map()
      const next = edit.inner.get(step) ?? {}
      edit.inner.set(step, next)
      edit = next
    }
    return edit
  }
}

const NONE: ReadonlyMap<string | number, Edit> = new Map()

function applyInner(value: JsonValue | undefined, edits: ReadonlyMap<string | number, Edit>): JsonValue | undefined {
  if (Array.isArray(value)) return applyToItems(value, edits)
  return isJsonObject(value) ? applyToMembers(value, edits) : value
}

function applyToItems(items: readonly JsonValue[], edits: ReadonlyMap<string | number, Edit>): JsonValue[] {
  return items.flatMap((item, index) => {
    const edit = edits.get(index)
    if (edit === undefined) return [item]
    return edit.isDropped === true ? [] : [applyEdit(item, edit) as JsonValue]
  })
}

function applyToMembers(value: JsonObject, edits: ReadonlyMap<string | number, Edit>): JsonObject {
  const members: Array<[string, JsonValue | undefined]> = []
  for (const [name, member] of Object.entries(value)) {
    const edit = edits.get(name)
    if (edit === undefined) members.push([name, member])
    else if (edit.isDropped === true) continue
    else if (edit.spreadBut !== undefined) members.push(...listSpread(member, edit.spreadBut))
    else members.push([edit.name ?? name, applyEdit(member, edit)])
  }
  for (const [name, edit] of edits) {
    if (typeof name === 'string' && isAddition(edit) && !Object.hasOwn(value, name)) members.push([name, edit.value])
  }
  return Object.fromEntries(members)
}

/** True for a change that adds a member where it is missing. */
export function isAddition({ value, isDropped, isText }: Edit): boolean {
  return value !== undefined && isDropped !== true && isText !== true
}

function listSpread(value: JsonValue | undefined, but: ReadonlySet<string>): Array<[string, JsonValue | undefined]> {
  return isJsonObject(value) ? Object.entries(value).filter(([name]) => !but.has(name)) : []
}

function applyEdit(member: JsonValue | undefined, { value, isText, isQuoted, inner }: Edit): JsonValue | undefined {
  if (value !== undefined) return isText === true && typeof member !== 'string' ? member : value
  if (isQuoted === true) return JSON.stringify(member)
  return inner === undefined ? member : applyInner(member, inner)
}
