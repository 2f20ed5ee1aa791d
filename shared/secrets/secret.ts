// A text that must not leak: printing it gives a placeholder, and only the code that builds an outgoing header reveals it.

const PLACEHOLDER = '[redacted]'

/** Holds one secret text. Printing, serializing or inspecting it yields `[redacted]`; two secrets are compared by revealing both. */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** Returns the secret text. Call it only where the text is used. */
  reveal(): string {
    return this.#text
  }

  toString(): string {
    return PLACEHOLDER
  }

  toJSON(): string {
    return PLACEHOLDER
  }

  [Symbol.toPrimitive](): string {
    return PLACEHOLDER
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return PLACEHOLDER
  }
}
