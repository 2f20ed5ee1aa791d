// Writes JSON in which large texts occur several times. Escaping a text of a million characters takes milliseconds, and the last events of
// a stream may repeat all of its text four times within one turn of the event loop: so each large text is escaped once.

/** Shorter texts are escaped each time. */
export const LARGE_TEXT_CHARACTERS = 65_536

export class LargeTexts {
  readonly #mark: string
  readonly #marked: RegExp
  readonly #numbers = new Map<string, number>()
  readonly #escaped: string[] = []

  /** @param nonce a text of `[0-9A-Za-z-]` that no text of the response contains, such as the id of the request. */
  constructor(nonce: string) {
    this.#mark = `large-text-${nonce}-`
    this.#marked = new RegExp(`"${this.#mark}(\\d+)"`, 'g')
  }

  /** Whether a large text was written before. */
  get hasTexts(): boolean {
    return this.#escaped.length > 0
  }

  /** Like `JSON.stringify`. */
  stringify(value: object): string {
    let hasLarge = false
    const text = JSON.stringify(value, (_name, member: unknown) => {
      if (typeof member !== 'string' || member.length < LARGE_TEXT_CHARACTERS) return member
      hasLarge = true
      return this.#mark + this.#number(member)
    })
    return hasLarge ? text.replaceAll(this.#marked, (_mark, number) => this.#escaped[Number(number)] ?? '') : text
  }

  #number(text: string): number {
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    const number = this.#escaped.push(JSON.stringify(text)) - 1
    this.#numbers.set(text, number)
    return number
  }
}
