// Bounds of the lists in a request that cost something for each event of its response, or for each of their items at several steps.
// They are generous: only a request that was made to be expensive meets them.

import { invalidRequest } from './error.ts'
import type { NormalizedRequest } from './request.ts'

const STOPS_MAX = 1024
/** Of all stop strings together. */
const STOP_CHARACTERS_MAX = 65_536

/** Each tool is named, mapped, declared and looked up again for the response; agents with every connector have some hundred. */
const TOOLS_MAX = 4096
/** Of a tool choice, which can name each tool once. */
const CHOSEN_NAMES_MAX = TOOLS_MAX

/** Raises `invalid_request` with the client's field for a list beyond its bound. */
export function assertBounded(request: NormalizedRequest): void {
  assertStopsBounded(request)
  assertToolsBounded(request)
}

function assertStopsBounded({ sampling, fieldPaths }: NormalizedRequest): void {
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

function assertToolsBounded({ tools, toolChoice, fieldPaths }: NormalizedRequest): void {
  if (tools.length > TOOLS_MAX) throw invalidRequest(fieldPaths.tools, `At most ${TOOLS_MAX} tools are possible.`)
  if (toolChoice?.type !== 'allowed') return
  const chosenCount = toolChoice.names.length + (toolChoice.kinds?.length ?? 0)
  if (chosenCount > CHOSEN_NAMES_MAX) {
    throw invalidRequest(fieldPaths.toolChoice, `A tool choice may name at most ${CHOSEN_NAMES_MAX} tools.`)
  }
}
