// Bounds what the large responses of a worker hold together while they arrive: a thousand streams
// may run at once, and each may end in a picture of the size that its profile allows (bridge.md 8.3).

import { GatewayError } from '../../normalized/index.ts'
import { memoryRoom } from '../../performance/memory-room.ts'

const MEBIBYTE = 1024 * 1024

/** A response up to here counts nothing. */
const UNCOUNTED_BYTES = MEBIBYTE

/** Of all responses together. A response that is the only one may be larger: its own bound holds for it. */
const TOTAL_BYTES_MAX = 512 * MEBIBYTE

/** A response, what is read from it, and what the client gets: counted where the worker has a memory limit. */
const COPIES = 3

export class ResponseMemory {
  readonly #bytesMax: number
  #heldBytes = 0

  constructor(bytesMax: number = TOTAL_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** The share of one response, which is released with it. */
  open(): ResponseShare {
    const room = memoryRoom.open()
    let shareBytes = 0
    return {
      hold: bytes => {
        const counted = Math.max(0, bytes - UNCOUNTED_BYTES)
        const others = this.#heldBytes - shareBytes
        if (others > 0 && counted > shareBytes && others + counted > this.#bytesMax) {
          throw new GatewayError('gateway_overloaded', { retryAfter: '1', cause: 'memory of large responses' })
        }
        room.hold(counted * COPIES)
        this.#heldBytes = others + counted
        shareBytes = counted
      }
    }
  }
}

export interface ResponseShare {
  /**
   * Sets how much of the response is in memory; 0 releases it. Raises `gateway_overloaded` where the responses would hold too much
   * together: waiting would keep what is held already.
   */
  hold(bytes: number): void
}

/** That of the worker. */
export const responseMemory = new ResponseMemory()
