// The upstream's text can contain reasoning between `<think>` tags and, on v2, markers of sources. This removes both while the
// text streams, also when a tag or marker is split over several pieces (completions.md 6.3).

import type { EventAssembler } from '../../normalized/index.ts'

export interface VisibleTextOptions {
  assembler: EventAssembler
  /** Called with the ids of a marker at its position in the text; absent when the contract has no markers. */
  onSourceMarker?: (ids: string[]) => void
}

const OPEN_TAG = '<think>'
const CLOSE_TAG = '</think>'
const MARKER_START = '[sources=['
const MARKER_IDS_CHARACTERS_MAX = 256

export class VisibleText {
  readonly #assembler: EventAssembler
  readonly #onSourceMarker: ((ids: string[]) => void) | undefined
  /** Text that may begin a tag or a marker; the next piece decides. */
  #held = ''
  #isThinking = false
  /** True when the next reasoning starts a new passage. */
  #isNewPassage = false
  #blockLength = 0
  #hasText = false

  constructor(options: VisibleTextOptions) {
    this.#assembler = options.assembler
    this.#onSourceMarker = options.onSourceMarker
  }

  /** True once any text was delivered. */
  get hasText(): boolean {
    return this.#hasText
  }

  /** Length of the text in the open block, in UTF-16 units; 0 when no text is open. */
  get offset(): number {
    return this.#assembler.openBlock === 'text' ? this.#blockLength : 0
  }

  /** Adds a piece of the upstream's text. */
  push(piece: string): void {
    const isPlain =
      this.#held === '' &&
      !this.#isThinking &&
      !piece.includes('<') &&
      (this.#onSourceMarker === undefined || !piece.includes('['))
    if (isPlain) this.deliver(piece)
    else this.#scan(this.#held + piece)
  }

  /** Adds a piece of reasoning that the upstream sent as reasoning. */
  pushReasoning(piece: string): void {
    if (piece === '') return
    this.flush()
    this.#reason(piece)
  }

  /** Passes on text without tags and markers. */
  deliver(text: string): void {
    if (text === '') return
    if (this.#assembler.openBlock !== 'text') this.#blockLength = 0
    this.#assembler.text(text)
    this.#blockLength += text.length
    this.#hasText = true
  }

  /** Passes on the held text, because no further piece can complete a tag or a marker. */
  flush(): void {
    const held = this.#held
    this.#held = ''
    if (this.#isThinking) this.#reason(held)
    else this.deliver(held)
  }

  #scan(text: string): void {
    this.#held = ''
    let position = 0
    while (position < text.length) {
      position = this.#isThinking ? this.#scanReasoning(text, position) : this.#scanText(text, position)
    }
  }

  #scanReasoning(text: string, start: number): number {
    let from = start
    for (;;) {
      const at = text.indexOf('<', from)
      if (at < 0) {
        this.#reason(text.slice(start))
        return text.length
      }
      const found = matchTag(text, at, CLOSE_TAG)
      if (found === 'no') {
        from = at + 1
        continue
      }
      this.#reason(text.slice(start, at))
      if (found === 'maybe') return this.#hold(text, at)
      this.#isThinking = false
      this.#isNewPassage = true
      return at + CLOSE_TAG.length
    }
  }

  #scanText(text: string, start: number): number {
    let from = start
    for (;;) {
      const at = this.#findSpecial(text, from)
      if (at < 0) {
        this.deliver(text.slice(start))
        return text.length
      }
      if (text.charCodeAt(at) === LESS_THAN) {
        const found = matchTag(text, at, OPEN_TAG)
        if (found === 'yes') {
          this.deliver(text.slice(start, at))
          this.#isThinking = true
          this.#isNewPassage = true
          return at + OPEN_TAG.length
        }
        if (found === 'maybe') {
          this.deliver(text.slice(start, at))
          return this.#hold(text, at)
        }
      } else {
        const marker = matchMarker(text, at)
        if (marker !== undefined) {
          this.deliver(text.slice(start, at))
          if (marker === 'maybe') return this.#hold(text, at)
          this.#onSourceMarker?.(marker.ids)
          return marker.end
        }
      }
      from = at + 1
    }
  }

  #findSpecial(text: string, from: number): number {
    if (this.#onSourceMarker === undefined) return text.indexOf('<', from)
    // One search for both: two searches would each run to the end of a text that has only one of the characters.
    SPECIAL.lastIndex = from
    return SPECIAL.test(text) ? SPECIAL.lastIndex - 1 : -1
  }

  #hold(text: string, from: number): number {
    this.#held = text.slice(from)
    return text.length
  }

  #reason(piece: string): void {
    if (piece === '') return
    if (this.#isNewPassage && this.#assembler.openBlock === 'reasoning') this.#assembler.closeBlock()
    this.#isNewPassage = false
    this.#assembler.reasoning(piece)
  }
}

const SPECIAL = /[<[]/g
const LESS_THAN = 60
const CLOSING_BRACKET = 93

/** Whether `tag`, in any letter case, begins at `at`; 'maybe' when the text ends inside it. */
function matchTag(text: string, at: number, tag: string): 'yes' | 'no' | 'maybe' {
  const found = text.slice(at, at + tag.length).toLowerCase()
  if (found === tag) return 'yes'
  return found.length < tag.length && tag.startsWith(found) ? 'maybe' : 'no'
}

/** The marker `[sources=[1, 2]]` at `at`; 'maybe' when the text ends inside one. */
function matchMarker(text: string, at: number): { ids: string[]; end: number } | 'maybe' | undefined {
  const head = text.slice(at, at + MARKER_START.length)
  if (head !== MARKER_START) {
    return head.length < MARKER_START.length && MARKER_START.startsWith(head) ? 'maybe' : undefined
  }
  const first = at + MARKER_START.length
  const limit = Math.min(text.length, first + MARKER_IDS_CHARACTERS_MAX)
  let position = first
  while (position < limit && isIdCharacter(text.charCodeAt(position))) position++
  if (position >= text.length) return 'maybe'
  if (text.charCodeAt(position) !== CLOSING_BRACKET) return undefined
  if (position + 1 >= text.length) return 'maybe'
  if (text.charCodeAt(position + 1) !== CLOSING_BRACKET) return undefined
  return { ids: readIds(text.slice(first, position)), end: position + 2 }
}

/** True for the characters of a marker's list of ids. */
function isIdCharacter(code: number): boolean {
  const isDigit = code >= 48 && code <= 57
  const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
  return isDigit || isLetter || ID_SEPARATORS.includes(code)
}

/** Space, comma, hyphen, full stop, colon, underscore. */
const ID_SEPARATORS: readonly number[] = [32, 44, 45, 46, 58, 95]

function readIds(text: string): string[] {
  return text
    .split(',')
    .map(id => id.trim())
    .filter(id => id !== '')
}
