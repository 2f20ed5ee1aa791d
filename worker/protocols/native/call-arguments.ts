// The arguments of one call while they arrive: as an object, as text, as pieces of text, or repeated with more content each time.
// Decides whether a value belongs to the call and how much of it can be passed on already (field lessons B3 and B5).

import { isJsonObject, type JsonObject, type JsonValue } from '../../normalized/index.ts'

/**
 * How a repetition of known arguments may differ from them: not at all, by further members, or by further members and longer
 * texts.
 */
export type ArgumentsGrowth = 'none' | 'members' | 'values'

export class CallArguments {
  /** The text received so far, when the upstream sends text. */
  #text = ''
  #object: JsonObject | undefined
  #passedLength = 0
  #mayBeComplete = false

  /** True when `value` can repeat these arguments with the differences that `growth` allows; else it belongs to another call. */
  accepts(value: unknown, growth: ArgumentsGrowth): boolean {
    if (value === undefined || value === null) return true
    if (growth !== 'none' && this.#isEmpty()) return true
    if (typeof value === 'string') {
      if (value === this.#text && this.#object === undefined) return true
      if (growth !== 'none' && this.#object === undefined && !this.#isComplete()) return true
      const next = parseObject(value)
      return next !== undefined && isEqual(this.#object ?? parseObject(this.#text), next)
    }
    if (!isJsonObject(value)) return false
    if (growth !== 'none' && this.#object === undefined && !this.#isComplete()) return true
    const known = this.#object ?? parseObject(this.#text)
    return known !== undefined && (isEqual(known, value) || (growth !== 'none' && isGrown(value, known, growth)))
  }

  /** Adds `value`. Returns false and changes nothing when it contradicts text that was passed on already. */
  add(value: unknown): boolean {
    if (value === undefined || value === null) return true
    if (typeof value === 'string') return this.#addText(value)
    return isJsonObject(value) ? this.#replace(JSON.stringify(value), value) : this.#replace(JSON.stringify(value))
  }

  /** Takes the text that can be passed on now. An object may still grow, so it stays until `takeAll`. */
  takeAvailable(): string {
    if (this.#object !== undefined || this.#isEmpty()) return ''
    return this.#takeRest()
  }

  /** Takes the rest of the text: `{}` for a call without arguments. */
  takeAll(): string {
    if (this.#object !== undefined && this.#text === '') this.#text = JSON.stringify(this.#object)
    if (this.#text.trim() === '' && this.#passedLength === 0) this.#text = '{}'
    return this.#takeRest()
  }

  /** The arguments for display: an object, or text that is no object; undefined when they are longer than `charactersMax`. */
  show(charactersMax: number): JsonValue | undefined {
    const text = this.#object !== undefined && this.#text === '' ? JSON.stringify(this.#object) : this.#text
    if (text.length > charactersMax) return undefined
    return text.trim() === '' ? {} : (parseObject(text) ?? text)
  }

  #takeRest(): string {
    if (this.#passedLength === this.#text.length) return ''
    const rest = this.#text.slice(this.#passedLength)
    this.#passedLength = this.#text.length
    return rest
  }

  #addText(piece: string): boolean {
    if (piece === '' || piece === this.#text) return true
    if (this.#object !== undefined && !this.#isEmpty()) return isEqual(this.#object, parseObject(piece))
    if (this.#isEmpty()) {
      if (this.#passedLength > 0) return false
      this.#object = undefined
      this.#setText(piece)
      return true
    }
    if (this.#isComplete()) return isEqual(parseObject(this.#text), parseObject(piece))
    if (isCumulative(this.#text, piece)) {
      this.#setText(piece)
      return true
    }
    this.#text += piece
    this.#mayBeComplete = endsObject(piece)
    return true
  }

  #replace(text: string, object?: JsonObject): boolean {
    if (this.#passedLength > 0) {
      const isSame = object !== undefined && isEqual(object, parseObject(this.#text))
      if (isSame) return true
      if (!text.startsWith(this.#text.slice(0, this.#passedLength))) return false
      this.#setText(text)
      return true
    }
    this.#object = object
    this.#setText(object === undefined ? text : '')
    return true
  }

  #setText(text: string): void {
    this.#text = text
    this.#mayBeComplete = endsObject(text)
  }

  /** True for no arguments, and for an empty object, which a later frame may fill. */
  #isEmpty(): boolean {
    if (this.#object !== undefined) return Object.keys(this.#object).length === 0
    return this.#text.length < EMPTY_TEXT_CHARACTERS_MAX && /^\s*(\{\s*\})?\s*$/.test(this.#text)
  }

  #isComplete(): boolean {
    return this.#mayBeComplete && parseObject(this.#text) !== undefined
  }
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

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** True when `next` equals `known`, or extends it by further members or, with 'values', by longer texts. */
function isGrown(next: JsonObject, known: JsonObject, growth: ArgumentsGrowth): boolean {
  return Object.entries(known).every(([key, value]) => {
    const other = next[key]
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
