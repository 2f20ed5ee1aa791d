// Leaves the oldest turns out of a history that is too long for the model (memory.md 3). A result never stays without its call: providers
// refuse it.

import { asBuffer } from '../../shared/bytes.ts'
import type { StoredItem } from '../../shared/memory/store.ts'
import { findJsonMember, listJsonMembers, readJsonText } from '../protocols/shared/json/json-parts.ts'

export type Turns = readonly (readonly StoredItem[])[]

/**
 * The history without the older half of its turns, by their length, and without those behind them that answer calls of that half.
 * Undefined where nothing can be left out, because the request itself answers a call of the oldest turn.
 * @param own the request's own items.
 */
export function dropOldestTurns(turns: Turns, own: readonly StoredItem[]): Turns | undefined {
  let left = countBytes(turns) / 2
  let dropped = 0
  while (dropped < turns.length && (dropped === 0 || left > 0)) left -= countBytes([turns[dropped++] ?? []])
  // A client may send results alone: then there is nothing to keep together.
  const isAnyOrphan = !isAnswerOf(turns, own)
  const isWhole = (from: number) => isAnyOrphan || isAnswerOf(turns.slice(from), own)
  for (let from = dropped; from <= turns.length; from++) {
    if (from > 0 && isWhole(from)) return turns.slice(from)
  }
  // Fewer turns than half of them, where the newest results belong to an older call.
  for (let from = dropped - 1; from > 0; from--) if (isWhole(from)) return turns.slice(from)
  return undefined
}

/** The length of all items together. */
export function countBytes(turns: Turns): number {
  let bytes = 0
  for (const turn of turns) for (const { json } of turn) bytes += json.byteLength + 1
  return bytes
}

/** Whether each result has its call before it. */
function isAnswerOf(turns: Turns, own: readonly StoredItem[]): boolean {
  const calls = new Set<string>()
  for (const turn of [...turns, own]) {
    for (const { callId, isResult } of turn.map(readCall)) {
      if (callId === undefined) continue
      if (!isResult) calls.add(callId)
      else if (!calls.has(callId)) return false
    }
  }
  return true
}

/** The call that an item makes or answers. */
function readCall({ json }: StoredItem): { callId?: string | undefined; isResult: boolean } {
  const bytes = asBuffer(json)
  if (!bytes.includes('call_id')) return { isResult: false }
  const members = listJsonMembers(bytes) ?? []
  const readText = (name: string) => {
    const member = findJsonMember(members, name)
    return member && readJsonText(bytes, member)
  }
  return { callId: readText('call_id'), isResult: readText('type')?.endsWith('_output') === true }
}
