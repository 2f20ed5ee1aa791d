// The output of one answer while it grows: its items in the order of their first appearance, their ids, and the events that tell a
// client about them. The place of an item here is its `output_index` in every event (responses.md 5 and 7).

import type { ResponsesItemEvent, ResponsesOutputItem } from './schema.ts'

/** Takes an event and is done with it at once: the item in it goes on changing. */
export type EmitItemEvent = (event: ResponsesItemEvent) => void

type IdPrefix = 'msg' | 'rs' | 'ws' | 'ig'

export class OutputList {
  readonly items: ResponsesOutputItem[] = []
  /** Absent where nobody listens: then no event is even made. */
  readonly emit: EmitItemEvent | undefined
  readonly #requestId: string
  readonly #counts = new Map<IdPrefix, number>()

  constructor(requestId: string, emit: EmitItemEvent | undefined) {
    this.#requestId = requestId
    this.emit = emit
  }

  /** An id that no other item has. Ids are built on the request's, so they are known before the upstream names anything. */
  createId(prefix: IdPrefix): string {
    const number = this.#counts.get(prefix) ?? 0
    this.#counts.set(prefix, number + 1)
    const id = `${prefix}_${this.#requestId}`
    return number === 0 && prefix !== 'ig' ? id : `${id}_${number}`
  }

  /** Adds an item and returns its place. */
  add(item: ResponsesOutputItem): number {
    const index = this.items.push(item) - 1
    this.emit?.({ type: 'response.output_item.added', output_index: index, item })
    return index
  }

  /** The item will not change any more. */
  finish(index: number, item: ResponsesOutputItem): void {
    this.emit?.({ type: 'response.output_item.done', output_index: index, item })
  }
}
