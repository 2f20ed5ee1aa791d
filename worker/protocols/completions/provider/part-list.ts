// The parts of one message on the chat completions wire.

import type { JsonObject, NormalizedMessage } from '../../../normalized/index.ts'

/** The parts of one message. Reasoning is no part: it goes back in a member of its own, or not at all (field-lessons.md C1). */
export class PartList {
  readonly #parts: JsonObject[] = []
  readonly #isOneText: boolean
  /** The open text of a message whose texts are one that was cut anywhere (decisions.md 60). */
  #text: string | undefined

  constructor(isOneText: boolean) {
    this.#isOneText = isOneText
  }

  addText(text: string): void {
    if (this.#isOneText && this.#text !== undefined) {
      this.#text += text
      this.#parts[this.#parts.length - 1] = writeText(this.#text)
    } else {
      this.#text = text
      this.#parts.push(writeText(text))
    }
  }

  addWhole(part: JsonObject): void {
    this.#parts.push(part)
    this.#text = undefined
  }

  finish(form: NormalizedMessage['form']): string | JsonObject[] | undefined {
    const sent = this.#parts.length > 1 ? this.#parts.filter(part => part.text !== '') : this.#parts
    const [only] = sent
    if (only === undefined) return undefined
    const isText = sent.length === 1 && (form === 'text' || form === 'pieces' || only.text === '')
    return isText && typeof only.text === 'string' ? only.text : sent
  }
}

/** A text part. */
export function writeText(text: string): JsonObject {
  return { type: 'text', text }
}
