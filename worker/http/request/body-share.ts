// The share of one request body in the memory of the worker, from its first byte to the end of its request.
import { BODY_COPIES } from '../../../shared/memory-plan.ts'
import { type MemoryRoom, type MemoryShare, memoryRoom } from '../../performance/memory-room.ts'

/** Of a stream that has begun: the body for the provider. */
const COPIES_OF_STREAM = 1

export class BodyShare {
  readonly #share: MemoryShare
  #bytes = 0

  constructor(room: MemoryRoom = memoryRoom) {
    this.#share = room.open()
  }

  /** So many bytes have arrived or were announced. Raises `gateway_overloaded` where there is no room for them. */
  grow(bytes: number): void {
    if (bytes <= this.#bytes) return
    this.#share.hold(bytes * BODY_COPIES)
    this.#bytes = bytes
  }

  /** The response has begun: what was read from the body is no longer needed. */
  shrink(): void {
    this.#share.hold(this.#bytes * COPIES_OF_STREAM)
  }

  release(): void {
    this.#share.hold(0)
    this.#bytes = 0
  }
}
