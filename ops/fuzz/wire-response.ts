// What the fuzz suite's clients get, and how long they wait for it.

/** A response as it came over the wire. */
export interface WireResponse {
  status: number
  headers: Headers
  bytes: Buffer
  /** `broken`: the connection closed before the end of the body. */
  end: 'complete' | 'broken'
}

export const EXCHANGE_DEADLINE_MS = 20_000
