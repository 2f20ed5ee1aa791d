// The arguments of one call while they arrive: as an object, as text, as pieces of text, or several times over, growing. Decides
// what belongs to the call and how much of it can be passed on already (field lessons B3 and B5).

import { isJsonObject, type JsonObject } from '../../normalized/index.ts'

/**
 * How far arguments may differ from those already known and still be the same: not at all, by further members, or by members and
 * by more text in them.
 */
export type ArgumentsGrowth = 'none' | 'members' | 'values'

export class CallArguments {
  /** The text so far, where the upstream sends text. Joined lazily: pieces are passed on as they are. */
  #text = ''
  #object: JsonObject | undefined
  #passedLength = 0
  #mayBeComplete = false

  /** True when `value` can be these arguments once more, grown as far as `growth` allows; else it is another call's. */
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

  /** Takes `value`. False when what was passed on already contradicts it: then nothing changes. */
  add(value: unknown): boolean {
    if (value === undefined || value === null) return true
    if (typeof value === 'string') return this.#addText(value)
    return isJsonObject(value) ? this.#replace(JSON.stringify(value), value) : this.#replace(JSON.stringify(value))
  }

  /** The text that can be passed on now: pieces of text at once, an object only when it is certain not to grow. */
  takeAvailable(): string {
    if (this.#object !== undefined || this.#isEmpty()) return ''
    return this.#takeRest()
  }

  /** The rest of the text. A call without arguments has an empty object of them. */
  takeAll(): string {
    if (this.#object !== undefined && this.#text === '') this.#text = JSON.stringify(this.#object)
    if (this.#text.trim() === '' && this.#passedLength === 0) this.#text = '{}'
    return this.#takeRest()
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

  /** Nothing, or an empty object that a later frame may fill. */
  #isEmpty(): boolean {
    if (this.#object !== undefined) return Object.keys(this.#object).length === 0
    return this.#text.length < EMPTY_TEXT_CHARACTERS_MAX && /^\s*(\{\s*\})?\s*$/.test(this.#text)
  }

  #isComplete(): boolean {
    return this.#mayBeComplete && parseObject(this.#text) !== undefined
  }
}

/** Longer text is not looked at to see whether it is empty. */
const EMPTY_TEXT_CHARACTERS_MAX = 16

/** True when `piece` is all of the text again, and more, instead of what follows it. */
function isCumulative(text: string, piece: string): boolean {
  if (piece.length <= text.length || !piece.startsWith(text)) return false
  return parseObject(piece) !== undefined || parseObject(text + piece) === undefined
}

/** A cheap look before the parser: whole arguments end with a brace. */
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

/** True when `next` is `known` with members added, or the same. */
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
