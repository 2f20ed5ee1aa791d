// Gives errors and notices about an expanded body the places of the client's own body (memory.md 3).

import type { GatewayError } from '../normalized/index.ts'
import type { ExpandedBody } from './expand-body.ts'

export type ItemPlaces = Pick<ExpandedBody, 'historyLength' | 'ownIndexes'>

const ITEM_PATH = /\binput\[(\d+)\]/g

/**
 * The error with the client's own indexes. One about an item of the history names the member that continues it.
 * @param historyField the client's member for the history.
 */
export function shiftError(error: GatewayError, places: ItemPlaces, historyField: string): GatewayError {
  const { historyLength, ownIndexes } = places
  if (historyLength === 0 && ownIndexes.every((own, index) => own === index)) return error
  const { param, message, errors } = error
  const isOfHistory = param !== undefined && shiftPath(param, places) === undefined
  const changes = {
    message: shiftTexts(message, places, historyField),
    ...(param !== undefined && { param: isOfHistory ? historyField : shiftPath(param, places) }),
    ...(errors !== undefined && {
      errors: errors.map(({ path, message: text }) => ({
        path: shiftPath(path, places) ?? historyField,
        message: shiftTexts(text, places, historyField)
      }))
    })
  }
  return error.with(changes)
}

/** The fields that a route leaves out, without those of the history: they were noted with their own turn. */
export function shiftFields(paths: readonly string[], places: ItemPlaces): string[] {
  return paths.flatMap(path => shiftPath(path, places) ?? [])
}

/** Undefined for a place in the history. */
function shiftPath(path: string, { historyLength, ownIndexes }: ItemPlaces): string | undefined {
  const [place, digits] = /^input\[(\d+)\]/.exec(path) ?? []
  if (place === undefined) return path
  const index = Number(digits) - historyLength
  return index < 0 ? undefined : `input[${ownIndexes[index] ?? index}]${path.slice(place.length)}`
}

function shiftTexts(text: string, places: ItemPlaces, historyField: string): string {
  return text.replaceAll(ITEM_PATH, path => shiftPath(path, places) ?? historyField)
}
