// Translates one body with many different edits, within bounds: every probe costs as much as a
// translation of the body.

import type { JsonObject } from '../../normalized/index.ts'
import type { Edits } from './paths.ts'
import type { Accepted, Probe, Refused } from './probe.ts'

const PROBES_MAX = 3000
/** Enough for every member of a body itself. */
const PROBES_MIN = 64
const PROBED_BYTES_MAX = 96 * 1024 * 1024
/** After this time no further probe begins, and the explanation is cut (decisions.md 103). */
const TIME_MS_MAX = 1000
/** Between turns of the event loop. */
const TURN_BYTES = 512 * 1024

export interface BoundedProbeOptions {
  probe: Probe
  /** The length of the body. */
  bytes: number
  /** Lets other work of the event loop go on. */
  pause: () => Promise<void>
  /** A clock that only runs forward. */
  nowMs: () => number
}

export class BoundedProbe {
  readonly #body: JsonObject
  readonly #options: BoundedProbeOptions
  readonly #endMs: number
  #left: number
  #bytesOfTurn = 0

  constructor(body: JsonObject, options: BoundedProbeOptions) {
    this.#body = body
    this.#options = options
    this.#endMs = options.nowMs() + TIME_MS_MAX
    const affordable = Math.ceil(PROBED_BYTES_MAX / Math.max(options.bytes, 1))
    this.#left = Math.max(PROBES_MIN, Math.min(PROBES_MAX, affordable))
  }

  /**
   * How many probes the bounds still allow. The caller checks it before: a probe is never refused.
   */
  get left(): number {
    return this.isLate ? 0 : this.#left
  }

  /** The time is over. */
  get isLate(): boolean {
    return this.#options.nowMs() >= this.#endMs
  }

  /**
   * Resolves with the outcome of the body with these edits. Rejects only with faults of the
   * gateway.
   */
  async look(edits: Edits): Promise<Accepted | Refused> {
    this.#left--
    this.#bytesOfTurn += this.#options.bytes
    if (this.#bytesOfTurn > TURN_BYTES) {
      this.#bytesOfTurn = 0
      await this.#options.pause()
    }
    return this.#options.probe(edits.apply(this.#body))
  }
}
