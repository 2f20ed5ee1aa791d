// The timer of the phase that an exchange is in, and that of the whole exchange.

export class PhaseTimer {
  readonly #onTimeout: (limitMs: number) => void
  #limitMs = 0
  /** Runs out when the phase takes too long; undefined while nothing is limited. */
  #timer: NodeJS.Timeout | undefined
  #totalTimer: NodeJS.Timeout | undefined

  /** @param onTimeout called with the limit of the phase that took too long. */
  constructor(onTimeout: (limitMs: number) => void) {
    this.#onTimeout = onTimeout
  }

  /** Limits the time until `end`. */
  limitTotal(limitMs: number, onTimeout: (limitMs: number) => void): void {
    this.#totalTimer = setTimeout(onTimeout, limitMs, limitMs)
  }

  /** Begins a phase; 0 sets no limit. */
  begin(limitMs: number): void {
    // Limits of adjacent phases are often equal, and restarting a timer costs less than replacing it.
    if (this.#timer !== undefined && limitMs === this.#limitMs) {
      this.#timer.refresh()
      return
    }
    this.pause()
    this.#limitMs = limitMs
    if (limitMs > 0) this.#timer = setTimeout(this.#onTimeout, limitMs, limitMs)
  }

  /** Restarts the limit of the phase that runs. */
  refresh(): void {
    this.#timer?.refresh()
  }

  /** Nothing limits the phase until the next one begins. */
  pause(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  end(): void {
    this.pause()
    clearTimeout(this.#totalTimer)
  }
}
