// What the large bodies and responses of a worker may take together under a memory limit. What finds no room is refused: the kernel would
// otherwise kill a process, and with it the requests of every client (ADR 2026-11-30-memory-of-a-container).
import { GatewayError } from '../normalized/index.ts'

export interface MemoryShare {
  /** Sets how much is in memory; 0 releases it. Raises `gateway_overloaded` where there is no room for more. */
  hold(bytes: number): void
}

export class MemoryRoom {
  #bytesMax = Number.POSITIVE_INFINITY
  #heldBytes = 0

  /** Without this call the room has no bound. */
  limit(bytesMax: number): void {
    this.#bytesMax = bytesMax
  }

  get isLimited(): boolean {
    return this.#bytesMax !== Number.POSITIVE_INFINITY
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  open(): MemoryShare {
    let shareBytes = 0
    return {
      hold: bytes => {
        const heldBytes = this.#heldBytes - shareBytes + bytes
        if (bytes > shareBytes && heldBytes > this.#bytesMax) {
          throw new GatewayError('gateway_overloaded', { retryAfter: '1', cause: 'memory limit' })
        }
        this.#heldBytes = heldBytes
        shareBytes = bytes
      }
    }
  }
}

/** That of the worker. */
export const memoryRoom = new MemoryRoom()
