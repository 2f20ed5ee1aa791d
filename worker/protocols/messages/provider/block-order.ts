// The order in which blocks reach the client. A server of this wire may send content for any block that began, and may end blocks late, while
// a response in the normalized form has one open block at a time (decisions.md 82).

import { CallCollector, type EventAssembler } from '../../../normalized/index.ts'

/** A block that writes content. */
export interface OrderedBlock {
  /** Called when another block writes, or the block ends. It closes what the block has open. */
  leave(): void
}

/** One per response. Texts and thoughts are written as they arrive; what comes while a call is incomplete waits behind it. */
export class BlockOrder {
  readonly #assembler: EventAssembler
  readonly calls: CallCollector
  /** The block that wrote last. */
  #current: OrderedBlock | undefined

  constructor(assembler: EventAssembler) {
    this.#assembler = assembler
    this.calls = new CallCollector({ assembler, issueId: ({ id = '' }) => id })
  }

  /** True while content of this block continues what the block has open. */
  isCurrent(block: OrderedBlock): boolean {
    return this.#current === block
  }

  /**
   * Writes content of a block.
   * @param characters what the content counts while it waits.
   */
  write(block: OrderedBlock, characters: number, feed: () => void): void {
    this.calls.pass(characters, () => {
      this.#enter(block)
      feed()
    })
  }

  /** Ends a block. Another block may have written since. */
  end(block: OrderedBlock): void {
    this.calls.pass(0, () => {
      if (this.#current === block) this.#enter(undefined)
    })
  }

  /** Ends the block that wrote last: what follows is no part of it. */
  endCurrent(): void {
    this.calls.pass(0, () => this.#enter(undefined))
  }

  /** True when the arguments of the call that is being written can be whole: then a call without an end does not hold up what follows. */
  get isCallWhole(): boolean {
    return this.#assembler.isCallWhole
  }

  finish(): void {
    this.calls.finish()
    this.endCurrent()
  }

  #enter(block: OrderedBlock | undefined): void {
    if (this.#current === block) return
    this.#current?.leave()
    this.#current = block
  }
}
