// Builds a stream of events that obeys the grammar of `event.ts`, in any order of the provider's frames: a block opens on
// its first content, closes when another kind begins, and everything is closed before the end.

import type { GeneratedFile, HostedSource, UrlCitation } from './content.ts'
import type { GatewayError } from './error.ts'
import type { FinishEvent, HostedToolStatus, NormalizedEvent, StartEvent } from './event.ts'
import type { JsonObject } from './json.ts'
import { mergeProviderState, type ProviderState } from './state.ts'
import type { HostedToolKind } from './tool.ts'
import type { NormalizedUsage } from './usage.ts'

type BlockKind = 'text' | 'reasoning' | 'refusal'

export interface ToolCallHead {
  id: string
  name: string
  namespace?: string
  state?: ProviderState
}

export class EventAssembler {
  #events: NormalizedEvent[] = []
  #open: BlockKind | 'tool-call' | undefined
  #started = false
  #terminated = false
  #toolCalls = 0
  /** State for the end of the open block. */
  #blockState: ProviderState | undefined
  /** State that came while no block was open: it belongs to the whole message. */
  #messageState: ProviderState | undefined
  readonly #hosted: Array<{ name: string; isOpen: boolean }> = []

  /** True once `finish` or `fail` was called: everything after it is ignored. */
  get isTerminated(): boolean {
    return this.#terminated
  }

  get hasStarted(): boolean {
    return this.#started
  }

  /** The kind of block that is open, if any. */
  get openBlock(): BlockKind | 'tool-call' | undefined {
    return this.#open
  }

  /** How many tool calls the response holds so far. */
  get toolCallCount(): number {
    return this.#toolCalls
  }

  /** The events since the last take; the caller owns the array. */
  take(): NormalizedEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  start(head: Omit<StartEvent, 'type'>): void {
    if (this.#started) return
    this.#started = true
    this.#events.push({ type: 'start', ...head })
  }

  /** Visible text. An empty piece opens nothing (field lessons A7, C2). */
  text(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('text')
    this.#events.push({ type: 'text-delta', text: piece })
  }

  /** A citation of the open text; without an open text it has no target and is dropped. */
  citation(citation: UrlCitation): void {
    if (this.#terminated || this.#open !== 'text') return
    this.#events.push({ type: 'citation', citation })
  }

  reasoning(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('reasoning')
    this.#events.push({ type: 'reasoning-delta', text: piece })
  }

  refusal(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('refusal')
    this.#events.push({ type: 'refusal-delta', text: piece })
  }

  /** A reasoning block without text: redacted reasoning, or a signature that stands alone. */
  opaqueReasoning(state: ProviderState): void {
    this.#opaqueBlock('reasoning', state)
  }

  /** A text block without text: a signature that its provider sent with an empty text. */
  opaqueText(state: ProviderState): void {
    this.#opaqueBlock('text', state)
  }

  /**
   * State of the open block; it travels with the block's end. A signature covers exactly the text before it, so a later piece opens
   * a new block; only the arguments of a call continue. Without an open block the state belongs to the whole message.
   */
  blockState(state: ProviderState): void {
    if (this.#terminated) return
    if (this.#open === undefined) this.#messageState = mergeProviderState(this.#messageState, state)
    else this.#blockState = mergeProviderState(this.#blockState, state)
  }

  /** Opens a tool call and returns its index; it stays open until another block or call begins, or the response ends. */
  startToolCall(head: ToolCallHead): number {
    this.closeBlock()
    const index = this.#toolCalls++
    if (this.#terminated) return index
    this.#open = 'tool-call'
    this.#events.push({ type: 'tool-call-start', index, ...head })
    return index
  }

  /** A piece of the open call's arguments text. */
  toolCallArguments(piece: string): void {
    if (piece === '' || this.#terminated || this.#open !== 'tool-call') return
    this.#events.push({
      type: 'tool-call-delta',
      index: this.#toolCalls - 1,
      arguments: piece
    })
  }

  /** A call that arrived whole. */
  toolCall(head: ToolCallHead, argumentsText: string): void {
    this.startToolCall(head)
    this.toolCallArguments(argumentsText)
    this.closeBlock()
  }

  /**
   * Opens a hosted tool run, or returns the index of the open run of that name. It ends reasoning: what follows the tool's request is
   * a new thought.
   */
  startHostedTool(tool: { kind: HostedToolKind | 'other'; name: string }): number {
    const known = this.#hosted.findLastIndex(run => run.name === tool.name && run.isOpen)
    if (known >= 0) return known
    this.#closeReasoning()
    const index = this.#hosted.push({ name: tool.name, isOpen: !this.#terminated }) - 1
    if (!this.#terminated)
      this.#events.push({
        type: 'hosted-tool-start',
        index,
        kind: tool.kind,
        name: tool.name
      })
    return index
  }

  hostedToolProgress(
    index: number,
    progress: {
      status: HostedToolStatus
      secondsLeft?: number
      isCensored?: boolean
    }
  ): void {
    if (this.#terminated || this.#hosted[index]?.isOpen !== true) return
    this.#events.push({ type: 'hosted-tool-progress', index, ...progress })
  }

  endHostedTool(
    index: number,
    outcome: {
      status: 'completed' | 'failed'
      sources?: HostedSource[]
      query?: string
      inlineData?: JsonObject
    }
  ): void {
    const run = this.#hosted[index]
    if (this.#terminated || run?.isOpen !== true) return
    run.isOpen = false
    this.#events.push({
      type: 'hosted-tool-end',
      index,
      sources: [],
      ...outcome
    })
  }

  file(file: GeneratedFile, state?: ProviderState): void {
    if (this.#terminated) return
    this.#closeReasoning()
    this.#events.push(state === undefined ? { type: 'file', file } : { type: 'file', file, state })
  }

  /** Ends the open block, if any. */
  closeBlock(): void {
    if (this.#terminated) return
    const open = this.#open
    const state = this.#blockState
    this.#open = undefined
    this.#blockState = undefined
    switch (open) {
      case undefined:
        return
      case 'text':
        this.#events.push(state === undefined ? { type: 'text-end' } : { type: 'text-end', state })
        return
      case 'refusal':
        this.#events.push(state === undefined ? { type: 'refusal-end' } : { type: 'refusal-end', state })
        return
      case 'reasoning':
        this.#events.push(state === undefined ? { type: 'reasoning-end' } : { type: 'reasoning-end', state })
        return
      case 'tool-call': {
        const index = this.#toolCalls - 1
        this.#events.push(
          state === undefined ? { type: 'tool-call-end', index } : { type: 'tool-call-end', index, state }
        )
        return
      }
    }
  }

  /** Closes everything, reports the usage if it is known, and ends the response. A second end is ignored. */
  finish(end: Omit<FinishEvent, 'type'>, usage: NormalizedUsage | null): void {
    if (this.#terminated) return
    this.closeBlock()
    // A run without a reported end has delivered its result: the response itself is complete.
    for (const [index, run] of this.#hosted.entries())
      if (run.isOpen) this.endHostedTool(index, { status: 'completed' })
    if (usage !== null) this.#events.push({ type: 'usage', usage })
    const event: FinishEvent = { type: 'finish', ...end }
    if (this.#messageState !== undefined) {
      event.state = end.state === undefined ? this.#messageState : mergeProviderState(this.#messageState, end.state)
    }
    this.#events.push(event)
    this.#terminated = true
  }

  fail(error: GatewayError): void {
    if (this.#terminated) return
    this.#events.push({ type: 'error', error })
    this.#terminated = true
  }

  #closeReasoning(): void {
    if (this.#open === 'reasoning') this.closeBlock()
  }

  #opaqueBlock(kind: 'text' | 'reasoning', state: ProviderState): void {
    if (this.#terminated) return
    this.closeBlock()
    this.#openBlock(kind)
    this.#blockState = state
    this.closeBlock()
  }

  #openBlock(kind: BlockKind): void {
    if (this.#open === kind && this.#blockState === undefined) return
    this.closeBlock()
    this.#open = kind
    switch (kind) {
      case 'text':
        this.#events.push({ type: 'text-start' })
        return
      case 'reasoning':
        this.#events.push({ type: 'reasoning-start' })
        return
      case 'refusal':
        this.#events.push({ type: 'refusal-start' })
        return
    }
  }
}
