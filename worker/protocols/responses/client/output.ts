// Turns the events of a response into output items. Streamed and whole responses go through the
// same machine, so their items are the same (field-lessons.md F3).

import {
  assertNever,
  findCarriedState,
  type GeneratedFile,
  type HostedToolEndEvent,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedRequest,
  type OutputItem,
  type ProviderState,
  type ToolCallStartEvent
} from '../../../normalized/index.ts'
import { writeFileLines } from '../../shared/media/generated-files.ts'
import { type StateOwner, writeStateSignature } from '../../shared/state-signature.ts'
import {
  addStateItem,
  CallBlock,
  type CallHead,
  type ClosingStatus,
  CustomCallBlock,
  ReasoningBlock,
  RefusalBlock,
  TextBlock
} from './blocks.ts'
import { HostedItems } from './hosted-items.ts'
import { type EmitItemEvent, OutputList } from './output-list.ts'
import type { ResponsesOutputItem } from './schema.ts'
import { findItemKey } from './stored-conversation.ts'
import { createNameSplitter } from './tool-names.ts'

type Block = TextBlock | RefusalBlock | ReasoningBlock | CallBlock | CustomCallBlock

export class OutputMachine {
  readonly #list: OutputList
  readonly #hosted: HostedItems
  readonly #request: NormalizedRequest
  readonly #splitName: (call: ToolCallStartEvent) => CallHead
  #block: Block | undefined
  /** The end event of the block has arrived. The block is closed only later, because the end of the response decides its status. */
  #isBlockEnded = false
  #callCount = 0
  /**
   * Signatures with state of parts that were written before. They are written before the next item, and at the end only in a turn with
   * calls: there clients send the turn back at once, while a plain answer must end with its message.
   */
  #waiting: string[] = []
  /** Results of hosted tools since the last text, with the index of their run. */
  #findings: Array<{ run: number; data: JsonObject }> = []
  /** Files without an item of their own; a text at the end names them. */
  readonly #files: GeneratedFile[] = []

  /**
   * @param options.emit receives the events of a stream; absent for a whole response.
   * @param options.responseKey stands in the ids of items other than reasoning; the request's id unless given. A response of the gateway's own
   * memory has a key of its own.
   */
  constructor(
    request: NormalizedRequest,
    { emit, responseKey }: { emit?: EmitItemEvent; responseKey?: string | undefined } = {}
  ) {
    this.#request = request
    this.#list = new OutputList(
      { requestId: request.requestId, responseKey: findItemKey(request) ?? responseKey ?? request.requestId },
      emit
    )
    this.#hosted = new HostedItems(this.#list, request)
    this.#splitName = createNameSplitter(request.tools)
  }

  /** The items so far, and only the finished ones after the end of the response. */
  get items(): ResponsesOutputItem[] {
    return this.#list.items
  }

  push(event: NormalizedEvent): void {
    switch (event.type) {
      case 'text-delta':
        if (this.#block?.kind === 'text') this.#block.add(event.text)
        return
      case 'reasoning-delta':
        if (this.#block?.kind === 'reasoning') this.#block.add(event.text)
        return
      case 'refusal-delta':
        if (this.#block?.kind === 'refusal') this.#block.add(event.text)
        return
      case 'tool-call-delta':
        if (this.#block?.kind === 'call') this.#block.add(event.arguments)
        return
      case 'citation':
        if (this.#block?.kind === 'text') this.#block.cite(event.citation)
        return
      case 'text-start':
        this.#open(() => new TextBlock(this.#list))
        return
      case 'reasoning-start':
        this.#open(() => new ReasoningBlock(this.#list))
        return
      case 'refusal-start':
        this.#open(() => new RefusalBlock(this.#list))
        return
      case 'tool-call-start':
        this.#callCount++
        this.#open(() => this.#createCall(event))
        return
      case 'text-end':
      case 'refusal-end':
        this.#isBlockEnded = true
        this.#keepState(event.state, 'previous-text')
        return
      case 'tool-call-end':
        this.#isBlockEnded = true
        this.#keepState(event.state, 'previous-call')
        return
      case 'reasoning-end':
        this.#closeReasoning(sign(event.state))
        return
      case 'hosted-tool-start':
        this.#closeReasoning()
        this.#hosted.start(event)
        return
      case 'hosted-tool-progress':
        this.#hosted.progress(event)
        return
      case 'hosted-tool-end':
        this.#noteFindings(event)
        this.#hosted.end(event)
        return
      case 'file':
        this.#closeReasoning()
        if (!this.#hosted.file(event.file)) this.#files.push(event.file)
        return
      case 'start':
      case 'usage':
      case 'finish':
      case 'error':
        return
      default:
        assertNever(event)
    }
  }

  /**
   * Ends the response: closes all items, and writes an empty message for a response without items.
   * @param state of the whole message.
   */
  finish(status: ClosingStatus, state?: ProviderState): void {
    const lines = writeFileLines(this.#files, this.#request, this.#block?.kind === 'text')
    if (lines !== '' && this.#block?.kind !== 'text') {
      this.#closeBlock(status)
      this.#writeWaiting()
      this.#block = new TextBlock(this.#list)
    }
    if (this.#block?.kind === 'text') this.#block.add(lines)
    this.#closeBlock(status)
    this.#keepState(state)
    if (this.#callCount > 0) this.#writeWaiting()
    this.#hosted.finish()
    if (this.items.length > 0) return
    const message = new TextBlock(this.#list)
    message.open()
    message.close(status, undefined)
  }

  /** The items so far; the open one has what came of it. Changes nothing. */
  listPartial(): ResponsesOutputItem[] {
    const open = this.#block?.peek(this.#isBlockEnded ? 'completed' : 'incomplete')
    return open === undefined ? [...this.items] : this.items.map(item => (item.id === open.id ? open : item))
  }

  /**
   * Ends a failed response. An item whose end was not reached is left out and never reported as
   * done, because agents keep every item that is done and send its fragment back with the next
   * request (decisions.md 51).
   */
  fail(): void {
    if (this.#isBlockEnded) this.#closeBlock('completed')
    this.#list.dropUnfinished()
  }

  #open(create: () => Block): void {
    this.#closeBlock('completed')
    this.#writeWaiting()
    this.#block = create()
  }

  #createCall(event: ToolCallStartEvent): CallBlock | CustomCallBlock {
    const signature = sign(event.state, 'next-call')
    if (signature !== undefined) addStateItem(this.#list, signature)
    const head = this.#splitName(event)
    return head.isFreeForm === true ? new CustomCallBlock(this.#list, head) : new CallBlock(this.#list, head)
  }

  #keepState(state: ProviderState | undefined, owner?: StateOwner): void {
    const signature = sign(state, owner)
    if (signature !== undefined) this.#waiting.push(signature)
  }

  #writeWaiting(): void {
    if (this.#waiting.length === 0) return
    for (const signature of this.#waiting) addStateItem(this.#list, signature)
    this.#waiting = []
  }

  #closeReasoning(signature?: string): void {
    if (this.#block?.kind !== 'reasoning') return
    this.#block.close(signature)
    this.#block = undefined
  }

  #closeBlock(status: ClosingStatus): void {
    const block = this.#block
    this.#block = undefined
    this.#isBlockEnded = false
    if (block?.kind === 'text') block.close(status, block.isOpen ? this.#takeFindings() : undefined)
    else block?.close(status)
  }

  #noteFindings(event: HostedToolEndEvent): void {
    if (event.inlineData !== undefined) this.#findings.push({ run: event.index, data: event.inlineData })
  }

  #takeFindings(): JsonObject | undefined {
    if (this.#findings.length === 0) return undefined
    const sorted = this.#findings.toSorted((left, right) => left.run - right.run)
    this.#findings = []
    const merged: JsonObject = {}
    for (const { data } of sorted) Object.assign(merged, data)
    return merged
  }
}

/** The signature of state that a client must carry; undefined for none. */
function sign(state: ProviderState | undefined, owner?: StateOwner): string | undefined {
  const carried = findCarriedState(state)
  if (carried === undefined) return undefined
  return writeStateSignature(carried, owner === undefined ? {} : { owner })
}

/** Replays the items of a whole response as events, in an order that gives the same output items as its original events. */
export function* replayItems(items: readonly OutputItem[]): Iterable<NormalizedEvent> {
  /** The ends of runs, by the number of items that the response had. */
  const ends = new Map<number, HostedToolEndEvent[]>()
  let calls = 0
  let runs = 0
  for (const [position, item] of items.entries()) {
    yield* ends.get(position) ?? []
    ends.delete(position)
    switch (item.type) {
      case 'text':
        yield { type: 'text-start' }
        yield { type: 'text-delta', text: item.text }
        for (const citation of item.citations) yield { type: 'citation', citation }
        yield writeEnd('text-end', item.state)
        break
      case 'reasoning':
        yield { type: 'reasoning-start' }
        yield { type: 'reasoning-delta', text: item.text }
        yield writeEnd('reasoning-end', item.state)
        break
      case 'refusal':
        yield { type: 'refusal-start' }
        yield { type: 'refusal-delta', text: item.text }
        yield writeEnd('refusal-end', item.state)
        break
      case 'tool-call': {
        const { arguments: text, ...head } = item
        const index = calls++
        yield { ...head, type: 'tool-call-start', index }
        yield { type: 'tool-call-delta', index, arguments: text }
        yield { type: 'tool-call-end', index }
        break
      }
      case 'hosted-tool': {
        const { kind, name, sources, query, inlineData, itemsAtEnd = position + 1 } = item
        const index = runs++
        yield { type: 'hosted-tool-start', index, kind, name }
        const status = item.status === 'failed' ? 'failed' : 'completed'
        const end: HostedToolEndEvent = { type: 'hosted-tool-end', index, status, sources }
        if (query !== undefined) end.query = query
        if (inlineData !== undefined) end.inlineData = inlineData
        const place = Math.max(itemsAtEnd, position + 1)
        const ended = ends.get(place)
        if (ended === undefined) ends.set(place, [end])
        else ended.push(end)
        break
      }
      case 'file':
        yield { type: 'file', file: item.file }
        break
      default:
        assertNever(item)
    }
  }
  for (const ended of ends.values()) yield* ended
}

function writeEnd<Type extends 'text-end' | 'reasoning-end' | 'refusal-end'>(
  type: Type,
  state: ProviderState | undefined
): { type: Type; state?: ProviderState } {
  return state === undefined ? { type } : { type, state }
}
