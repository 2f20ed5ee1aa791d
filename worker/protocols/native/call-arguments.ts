// The arguments of one call while they arrive: as an object, as text, as pieces of text, or
// repeated with more content each time. Decides whether a value belongs to the call and how much of
// it can be passed on already (field-lessons.md B3 and B5).

import {
  isJsonObject,
  isTextTooDeep,
  JsonNesting,
  type JsonObject,
  type JsonValue,
  keepExactIntegers
} from '../../normalized/index.ts'

/**
 * How a repetition of known arguments may differ from them: not at all, by further members, or by further members and longer
 * texts.
 */
export type ArgumentsGrowth = 'none' | 'members' | 'values'

export class CallArguments {
  /** The text received so far, when the upstream sends text. */
  #text = ''
  /** The end of the text that is not passed on yet: cutting it off the text would cost as much as the whole text each time. */
  #rest = ''
  #nesting = new JsonNesting()
  #object: KnownObject | undefined
  /** The object that `#text` is, once it was parsed: null for none. */
  #parsed: KnownObject | null | undefined
  #passedLength = 0
  #mayBeComplete = false

  /** The characters that are kept. */
  get length(): number {
    return this.#object?.text.length ?? this.#text.length
  }

  /** True for text that is no object, as when the response was cut off in it. */
  get isPartial(): boolean {
    return this.#text.trim() !== '' && this.#known() === undefined
  }

  /** True when `value` can repeat these arguments with the differences that `growth` allows; else it belongs to another call. */
  accepts(value: unknown, growth: ArgumentsGrowth): boolean {
    if (value === undefined || value === null) return true
    if (growth !== 'none' && this.#isEmpty()) return true
    if (typeof value === 'string') {
      if (value === this.#text && this.#object === undefined) return true
      if (growth !== 'none' && this.#object === undefined && !this.#isComplete()) return true
      const known = this.#known()
      return known !== undefined && isSame(known, readObject(value))
    }
    if (!isJsonObject(value)) return false
    if (growth !== 'none' && this.#object === undefined && !this.#isComplete()) return true
    const known = this.#known()
    if (known === undefined) return false
    const next = describe(value)
    return isSame(known, next) || (growth !== 'none' && isGrown(next, known, growth))
  }

  /** Adds `value`. Returns false and changes nothing when it contradicts text that was passed on already. */
  add(value: unknown): boolean {
    if (value === undefined || value === null) return true
    if (typeof value === 'string') return this.#addText(value)
    return isJsonObject(value) ? this.#replace(describe(value)) : this.#replaceText(JSON.stringify(value))
  }

  /** Takes the text that can be passed on now. An object may still grow, so it stays until `takeAll`. */
  takeAvailable(): string {
    if (this.#object !== undefined || this.#isEmpty()) return ''
    return this.#takeRest()
  }

  /** Takes the rest of the text: `{}` for a call without arguments. */
  takeAll(): string {
    if (this.#object !== undefined && this.#text === '') this.#setText(this.#object.text)
    if (this.#text.trim() === '' && this.#passedLength === 0) this.#setText('{}')
    return this.#takeRest()
  }

  /** The arguments for display: an object, or text that is no object; undefined when they are longer than `charactersMax`. */
  show(charactersMax: number): JsonValue | undefined {
    const text = this.#object !== undefined && this.#text === '' ? this.#object.text : this.#text
    if (text.length > charactersMax) return undefined
    return text.trim() === '' ? {} : (readObject(text)?.object ?? text)
  }

  #takeRest(): string {
    const rest = this.#rest
    this.#rest = ''
    this.#passedLength += rest.length
    return rest
  }

  #addText(piece: string): boolean {
    if (piece === '' || piece === this.#text) return true
    if (this.#object !== undefined && !this.#isEmpty()) return isSame(this.#object, readObject(piece))
    if (this.#isEmpty()) {
      if (this.#passedLength > 0) return false
      this.#object = undefined
      this.#setText(piece)
      return true
    }
    if (this.#isComplete()) return isSame(this.#known(), readObject(piece))
    if (isCumulative(this.#text, piece)) {
      this.#setText(piece)
      return true
    }
    this.#text += piece
    this.#rest += piece
    this.#nesting.add(piece)
    this.#parsed = undefined
    this.#mayBeComplete = endsObject(piece)
    return true
  }

  #replace(object: KnownObject): boolean {
    if (this.#passedLength > 0) return isSame(this.#known(), object) || this.#replaceText(object.text)
    this.#object = object
    this.#setText('')
    return true
  }

  #replaceText(text: string): boolean {
    if (this.#passedLength > 0) {
      if (!text.startsWith(this.#text.slice(0, this.#passedLength))) return false
    } else this.#object = undefined
    this.#setText(text)
    return true
  }

  #setText(text: string): void {
    this.#text = text
    this.#rest = text.slice(this.#passedLength)
    this.#nesting = new JsonNesting()
    this.#nesting.add(text)
    this.#parsed = undefined
    this.#mayBeComplete = endsObject(text)
  }

  /** The object that these arguments are. Text is parsed once, and only when its brackets are closed. */
  #known(): KnownObject | undefined {
    if (this.#object !== undefined) return this.#object
    if (!this.#nesting.isWhole) return undefined
    this.#parsed ??= readObject(this.#text) ?? null
    return this.#parsed ?? undefined
  }

  /** True for no arguments, and for an empty object, which a later frame may fill. */
  #isEmpty(): boolean {
    if (this.#object !== undefined) return this.#object.text === '{}'
    return this.#text.length < EMPTY_TEXT_CHARACTERS_MAX && /^\s*(\{\s*\})?\s*$/.test(this.#text)
  }

  #isComplete(): boolean {
    return this.#mayBeComplete && this.#known() !== undefined
  }
}

/** An object with its JSON text, whose length tells without a comparison that two objects differ. */
interface KnownObject {
  object: JsonObject
  text: string
}

function describe(object: JsonObject): KnownObject {
  return { object, text: JSON.stringify(object) }
}

/** Longer text counts as not empty without a search. */
const EMPTY_TEXT_CHARACTERS_MAX = 16

/** True when `piece` repeats the whole text and extends it, instead of continuing it. */
function isCumulative(text: string, piece: string): boolean {
  if (piece.length <= text.length || !piece.startsWith(text)) return false
  return parseObject(piece) !== undefined || parseObject(text + piece) === undefined
}

/** A cheap check before parsing: complete arguments end with a brace. */
function endsObject(text: string): boolean {
  return text.trimEnd().endsWith('}')
}

/** Undefined for text that is no object, or one that nests too deeply to be compared. */
function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) && !isTextTooDeep(text, value) ? keepExactIntegers(text, value) : undefined
  } catch {
    return undefined
  }
}

function readObject(text: string): KnownObject | undefined {
  const object = parseObject(text)
  return object === undefined ? undefined : describe(object)
}

/** Costs no more than `next` is long, however large the known object is: frames may repeat it without end. */
function isSame(known: KnownObject | undefined, next: KnownObject | undefined): boolean {
  if (known === undefined || next === undefined || known.text.length !== next.text.length) return false
  return isEqual(known.object, next.object)
}

/** JSON text of one character: a text that is cut within a pair of surrogates can be longer than the whole text. */
const ESCAPED_CHARACTERS_MAX = 6

/** True when `next` equals `known`, or extends it by further members or, with 'values', by longer texts. */
function isGrown(next: KnownObject, known: KnownObject, growth: ArgumentsGrowth): boolean {
  if (next.text.length * ESCAPED_CHARACTERS_MAX < known.text.length) return false
  return Object.entries(known.object).every(([key, value]) => {
    const other = next.object[key]
    if (isEqual(value, other)) return true
    return growth === 'values' && typeof value === 'string' && typeof other === 'string' && other.startsWith(value)
  })
}

function isEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isEqual(item, right[index]))
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false
  const keys = Object.keys(left)
  return keys.length === Object.keys(right).length && keys.every(key => isEqual(left[key], right[key]))
}
