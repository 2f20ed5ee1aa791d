// The output of a request for a summary: one item with the sealed text, in place of the items that the model wrote (memory.md 5).

import { GatewayError, type NormalizedEvent } from '../../../normalized/index.ts'
import { type EmitItemEvent, type ItemKeys, OutputList } from './output-list.ts'
import type { ResponsesCompaction, ResponsesOutputItem } from './schema.ts'

export interface SummaryOutputOptions extends ItemKeys {
  /** Absent for a whole response. */
  emit?: EmitItemEvent | undefined
  /** `ResponseContext.seal`. */
  seal: (text: string) => string
}

export class SummaryOutput {
  readonly #list: OutputList
  readonly #seal: (text: string) => string
  #text = ''
  #place: { item: ResponsesCompaction; index: number } | undefined

  constructor({ requestId, responseKey, emit, seal }: SummaryOutputOptions) {
    this.#list = new OutputList({ requestId, responseKey }, emit)
    this.#seal = seal
  }

  get items(): ResponsesOutputItem[] {
    return this.#list.items
  }

  push(event: NormalizedEvent): void {
    if (event.type === 'text-start') this.#open()
    else if (event.type === 'text-delta') this.#text += event.text
  }

  /** Raises `provider_protocol_error` where the model wrote no text: a conversation would be lost without a word. */
  finish(): void {
    if (this.#text.trim() === '') {
      throw new GatewayError('provider_protocol_error', { message: 'The model wrote no summary of the conversation.' })
    }
    const { item, index } = this.#open()
    item.encrypted_content = this.#seal(this.#text)
    this.#list.finish(index, item)
  }

  /** Half of a summary stands for nothing. */
  listPartial(): ResponsesOutputItem[] {
    return []
  }

  fail(): void {
    this.#list.dropUnfinished()
  }

  #open(): { item: ResponsesCompaction; index: number } {
    if (this.#place !== undefined) return this.#place
    const item: ResponsesCompaction = { id: this.#list.createId('cmp'), type: 'compaction', encrypted_content: '' }
    this.#place = { item, index: this.#list.add(item) }
    return this.#place
  }
}
