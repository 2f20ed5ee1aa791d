// Collects the output items of one response in the order of their start, creates their ids, and emits the events of a stream about
// them. The index of an item in this list is its `output_index` in every event (responses.md 5 and 7).

import type { ResponsesItemEvent, ResponsesOutputItem } from './schema.ts'

/** Receives an event. It must serialize the event at once, because the item in it changes afterwards. */
export type EmitItemEvent = (event: ResponsesItemEvent) => void

/** What the ids of items are made from. */
export interface ItemKeys {
  requestId: string
  /** The provider's id of the response where it has one, else the request's id. */
  responseKey: string
}

type IdPrefix = 'cmp' | 'msg' | 'rs' | 'ws' | 'ig' | 'm3d'

export class OutputList {
  #items: ResponsesOutputItem[] = []
  readonly #finished = new Set<ResponsesOutputItem>()
  /** Absent for a whole response: then no events are created. */
  readonly emit: EmitItemEvent | undefined
  readonly #keys: ItemKeys
  readonly #counts = new Map<IdPrefix, number>()

  constructor(keys: ItemKeys, emit: EmitItemEvent | undefined) {
    this.#keys = keys
    this.emit = emit
  }

  get items(): ResponsesOutputItem[] {
    return this.#items
  }

  /** Removes the items that were not finished; no item may be added or finished afterwards. */
  dropUnfinished(): void {
    this.#items = this.#items.filter(item => this.#finished.has(item))
  }

  /**
   * Creates a unique item id. Reasoning always has the request's id: the gateway accepts its own reasoning items back, and it recognises
   * them by this form.
   */
  createId(prefix: IdPrefix): string {
    const number = this.#counts.get(prefix) ?? 0
    this.#counts.set(prefix, number + 1)
    const id = `${prefix}_${prefix === 'rs' ? this.#keys.requestId : this.#keys.responseKey}`
    return number === 0 && prefix !== 'ig' ? id : `${id}_${number}`
  }

  /** Adds an item and returns its index. */
  add(item: ResponsesOutputItem): number {
    const index = this.#items.push(item) - 1
    this.emit?.({ type: 'response.output_item.added', output_index: index, item })
    return index
  }

  /** Reports an item that does not change any more. */
  finish(index: number, item: ResponsesOutputItem): void {
    this.#finished.add(item)
    this.emit?.({ type: 'response.output_item.done', output_index: index, item })
  }
}
