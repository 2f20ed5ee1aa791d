// Collects `reasoning_details`: reasoning in entries with signatures and encrypted parts, which the
// provider wants back unchanged on the next turn (field-lessons.md C3). A stream sends an entry in
// pieces.

import { isJsonObject, type JsonObject } from '../../../normalized/index.ts'

/** The members of an entry that a stream sends in pieces. */
const PIECED_MEMBERS: ReadonlySet<string> = new Set(['text', 'summary'])

export class ReasoningDetails {
  #entries: JsonObject[] = []

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** Adds the entries of one frame, or of a whole message. */
  add(list: readonly unknown[]): void {
    for (const entry of list) {
      if (!isJsonObject(entry)) continue
      const last = this.#entries.at(-1)
      if (last === undefined || !continues(entry, last)) {
        this.#entries.push({ ...entry })
        continue
      }
      for (const [member, value] of Object.entries(entry)) {
        if (value === null) continue
        const known = last[member]
        const isPiece = typeof value === 'string' && typeof known === 'string' && PIECED_MEMBERS.has(member)
        last[member] = isPiece ? known + value : value
      }
    }
  }

  /** The entries so far as JSON text; undefined when there are none. Later entries are collected anew. */
  take(): string | undefined {
    if (this.isEmpty) return undefined
    const entries = this.#entries
    this.#entries = []
    return JSON.stringify(entries)
  }
}

/** The visible text of entries. */
export function readDetailsText(list: readonly unknown[]): string {
  let text = ''
  for (const entry of list) {
    if (!isJsonObject(entry)) continue
    const piece = entry.text ?? entry.summary
    if (typeof piece === 'string') text += piece
  }
  return text
}

/** Encrypted data is never continued: each entry holds a whole. */
function continues(entry: JsonObject, last: JsonObject): boolean {
  if (entry.type !== last.type || entry.data !== undefined || entry.index === undefined) return false
  return entry.index === last.index && (entry.id ?? last.id ?? null) === (last.id ?? entry.id ?? null)
}
