// Bounds of the lists in a request that cost something for each event of its response. They are generous: only a request that was made
// to be expensive meets them.

import { invalidRequest } from './error.ts'
import type { NormalizedRequest } from './request.ts'

const STOPS_MAX = 1024
/** Of all stop strings together. */
const STOP_CHARACTERS_MAX = 65_536

/** Raises `invalid_request` with the client's field for a list beyond its bound. */
export function assertBounded({ sampling, fieldPaths }: NormalizedRequest): void {
  const { stop } = sampling
  if (stop === undefined) return
  if (stop.length > STOPS_MAX) throw invalidRequest(fieldPaths.stop, `At most ${STOPS_MAX} stop strings are possible.`)
  const characters = stop.reduce((sum, text) => sum + text.length, 0)
  if (characters > STOP_CHARACTERS_MAX) {
    throw invalidRequest(
      fieldPaths.stop,
      `All stop strings together must not exceed ${STOP_CHARACTERS_MAX} characters.`
    )
  }
}
