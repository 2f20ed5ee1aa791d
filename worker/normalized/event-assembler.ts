// Builds a stream of events that obeys the grammar of `event.ts`, whatever order the provider's frames come in: a block
// opens on its first content, closes when another kind begins, and everything is closed before the end.

import type { GeneratedFile, HostedSource, UrlCitation } from './content.ts'
import type { GatewayError } from './error.ts'
import type { FinishEvent, HostedToolStatus, NormalizedEvent, StartEvent } from './event.ts'
import type { JsonObject } from './json.ts'
import type { ProviderState } from './state.ts'
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
  #reasoningState: ProviderState | undefined
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

  /** How many tool calls the answer holds so far. */
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
    this.#events.push({
      type: 'start',
      providerModel: head.providerModel,
      metadata: head.metadata
    })
  }

  /** Visible text. Empty pieces say nothing and open nothing (field lessons A7, C2). */
  text(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('text')
    this.#events.push({ type: 'text-delta', text: piece })
  }

  /** A citation of the open text; without one it has nothing to point into and is dropped. */
  citation(citation: UrlCitation): void {
    if (this.#terminated || this.#open !== 'text') return
    this.#events.push({ type: 'citation', citation })
  }

  reasoning(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('reasoning')
    this.#events.push({ type: 'reasoning-delta', text: piece })
  }

  /** Opaque state of the reasoning block that is open; it travels with the block's end. */
  reasoningState(state: ProviderState): void {
    if (this.#open === 'reasoning') this.#reasoningState = { ...this.#reasoningState, ...state }
  }

  refusal(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('refusal')
    this.#events.push({ type: 'refusal-delta', text: piece })
  }

  /** Opens a tool call and returns its index; it stays open until another block or call begins, or the answer ends. */
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
   * Opens a hosted tool run, or returns the index of the open run of that name. It ends reasoning: what is thought after the tool
   * was asked is another thought.
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

  file(file: GeneratedFile): void {
    if (this.#terminated) return
    this.#closeReasoning()
    this.#events.push({ type: 'file', file })
  }

  /** Ends whatever block is open. */
  closeBlock(): void {
    if (this.#terminated) return
    const open = this.#open
    this.#open = undefined
    switch (open) {
      case undefined:
        return
      case 'text':
        this.#events.push({ type: 'text-end' })
        return
      case 'refusal':
        this.#events.push({ type: 'refusal-end' })
        return
      case 'reasoning':
        this.#events.push(
          this.#reasoningState === undefined
            ? { type: 'reasoning-end' }
            : { type: 'reasoning-end', state: this.#reasoningState }
        )
        this.#reasoningState = undefined
        return
      case 'tool-call':
        this.#events.push({
          type: 'tool-call-end',
          index: this.#toolCalls - 1
        })
        return
    }
  }

  /** Closes everything, reports the usage if it is known, and ends the answer. A second end is ignored. */
  finish(end: Omit<FinishEvent, 'type'>, usage: NormalizedUsage | null): void {
    if (this.#terminated) return
    this.closeBlock()
    // A run whose end nobody reported has delivered what it had: the answer itself is complete.
    for (const [index, run] of this.#hosted.entries())
      if (run.isOpen) this.endHostedTool(index, { status: 'completed' })
    if (usage !== null) this.#events.push({ type: 'usage', usage })
    this.#events.push({ type: 'finish', ...end })
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

  #openBlock(kind: BlockKind): void {
    if (this.#open === kind) return
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
