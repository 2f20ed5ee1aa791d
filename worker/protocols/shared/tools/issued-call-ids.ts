// The ids of the calls of one response, as the client sees them.

import { writeToolCallId } from '../../../normalized/index.ts'
import { toShortCallId } from './tool-call-ids.ts'

/** Issues the ids of one response; each is issued once. */
export class IssuedCallIds {
  readonly #issued = new Set<string>()
  readonly #createNonce: () => string

  /** @param createNonce creates the text that makes an id of the gateway unique. */
  constructor(createNonce: () => string) {
    this.#createNonce = createNonce
  }

  /**
   * The provider's own id where it is unique and has the form that clients accept, else an id of the gateway (field-lessons.md B4).
   * @param id of the provider; no text, and an empty one, is none.
   */
  issue(id: unknown): string {
    const wireId = typeof id === 'string' && id !== '' ? toShortCallId(id) : undefined
    const issued = wireId !== undefined && !this.#issued.has(wireId) ? wireId : this.#createId()
    this.#issued.add(issued)
    return issued
  }

  #createId(): string {
    const { size: callNumber } = this.#issued
    return writeToolCallId({ stateId: undefined, name: undefined, callNumber, nonce: this.#createNonce() })
  }
}
