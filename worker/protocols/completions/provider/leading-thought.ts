// Some servers send the reasoning as the beginning of the text, between `<think>` and `</think>`. It is passed on as reasoning, also when a
// tag is split over several pieces. Tags anywhere else are text: the model may write about them.

import type { EventAssembler } from '../../../normalized/index.ts'

const OPEN_TAG = '<think>'
const CLOSE_TAG = '</think>'

/** White space before the tag. More of it is text, so that no text is held back for long. */
const SPACE_CHARACTERS_MAX = 64

export class LeadingThought {
  readonly #assembler: EventAssembler
  #place: 'beginning' | 'thought' | 'text' = 'beginning'
  /** Text that may begin a tag; the next piece decides. */
  #held = ''

  constructor(assembler: EventAssembler) {
    this.#assembler = assembler
  }

  /** Adds a piece of the provider's text. */
  push(piece: string): void {
    if (this.#place === 'text') this.#assembler.text(piece)
    else if (this.#place === 'thought') this.#readThought(this.#held + piece)
    else this.#readBeginning(this.#held + piece)
  }

  /** The provider marks its reasoning in another way, so a tag at the beginning of the text is text. */
  expectText(): void {
    if (this.#place === 'beginning' && this.#held === '') this.#place = 'text'
  }

  /** Passes on what is held back, because other content begins or the response ends. */
  flush(): void {
    const held = this.#held
    this.#held = ''
    if (this.#place === 'thought') this.#assembler.reasoning(held)
    else this.#assembler.text(held)
  }

  #readBeginning(text: string): void {
    const start = text.search(/\S/)
    const beginning = start < 0 ? '' : text.slice(start, start + OPEN_TAG.length).toLowerCase()
    const space = start < 0 ? text.length : start
    if (space <= SPACE_CHARACTERS_MAX && OPEN_TAG.startsWith(beginning)) {
      if (beginning !== OPEN_TAG) {
        this.#held = text
        return
      }
      this.#place = 'thought'
      this.#readThought(text.slice(space + OPEN_TAG.length))
      return
    }
    this.#place = 'text'
    this.#held = ''
    this.#assembler.text(text)
  }

  #readThought(text: string): void {
    this.#held = ''
    for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at + 1)) {
      const found = text.slice(at, at + CLOSE_TAG.length).toLowerCase()
      if (!CLOSE_TAG.startsWith(found)) continue
      this.#assembler.reasoning(text.slice(0, at))
      if (found !== CLOSE_TAG) {
        this.#held = text.slice(at)
        return
      }
      this.#place = 'text'
      this.#assembler.text(text.slice(at + CLOSE_TAG.length))
      return
    }
    this.#assembler.reasoning(text)
  }
}
