// Builds a stream of events that obeys the grammar of `event.ts`, in any order of the provider's frames: a block opens on
// its first content, closes when another kind begins, and everything is closed before the end.

import type { GeneratedFile, HostedSource, UrlCitation } from './content.ts'
import { GatewayError } from './error.ts'
import type { FinishEvent, HostedToolStatus, NormalizedEvent, StartEvent } from './event.ts'
import type { JsonObject } from './json.ts'
import { JsonNesting } from './json-nesting.ts'
import {
  beyondBound,
  ENTRY_CHARACTERS,
  FILES_MAX,
  HOSTED_RUNS_MAX,
  PIECE_CHARACTERS,
  RESPONSE_CHARACTERS_MAX,
  TOOL_CALLS_MAX,
  WHOLE_RESPONSE_CHARACTERS_MAX
} from './response-bounds.ts'
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
  #hasContent = false
  #textLength = 0
  #toolCalls = 0
  /** State for the end of the open block. */
  #blockState: ProviderState | undefined
  /** State that came while no block was open: it belongs to the whole message. */
  #messageState: ProviderState | undefined
  readonly #hosted: Array<{ name: string; isOpen: boolean }> = []
  /** The open runs by name. */
  #openHosted: Map<string, number> | undefined
  #files = 0
  /** The characters of the events so far, and of what a reader keeps beside them. */
  #characters = 0
  #charactersMax = RESPONSE_CHARACTERS_MAX
  #keptCharacters = 0
  /** Nesting of the open call's arguments. */
  #nesting: JsonNesting | undefined

  /** True once `finish` or `fail` was called: everything after it is ignored. */
  get isTerminated(): boolean {
    return this.#terminated
  }

  get hasStarted(): boolean {
    return this.#started
  }

  /** The response has a text or a refusal. */
  get hasContent(): boolean {
    return this.#hasContent
  }

  /** The kind of block that is open, if any. */
  get openBlock(): BlockKind | 'tool-call' | undefined {
    return this.#open
  }

  /** The characters of the open text, or of the last one. */
  get textLength(): number {
    return this.#textLength
  }

  /** True when a call is open whose arguments can be one whole object. */
  get isCallWhole(): boolean {
    return this.#open === 'tool-call' && this.#nesting?.isWhole === true
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

  /**
   * Counts what a reader keeps of a response beside its events, such as arguments that wait for an id. Beyond the bound the response
   * ends with an error.
   */
  keep(characters: number): void {
    this.#keptCharacters += characters
    if (this.#keptCharacters > this.#charactersMax) this.fail(beyondBound('characters'))
  }

  /** The response is not streamed: its bound is that of whole responses. */
  expectWhole(): void {
    this.#charactersMax = WHOLE_RESPONSE_CHARACTERS_MAX
  }

  start(head: Omit<StartEvent, 'type'>): void {
    if (this.#started) return
    this.#started = true
    this.#events.push({ type: 'start', ...head })
  }

  /** Visible text. An empty piece opens nothing (field-lessons.md A7, C2). */
  text(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('text')
    this.#textLength += piece.length
    if (this.#count(piece.length + PIECE_CHARACTERS)) this.#events.push({ type: 'text-delta', text: piece })
  }

  /** A citation of the open text; without an open text it has no target and is dropped. */
  citation(citation: UrlCitation): void {
    if (this.#terminated || this.#open !== 'text') return
    if (this.#count(citation.url.length + citation.title.length + ENTRY_CHARACTERS)) {
      this.#events.push({ type: 'citation', citation })
    }
  }

  reasoning(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('reasoning')
    if (this.#count(piece.length + PIECE_CHARACTERS)) this.#events.push({ type: 'reasoning-delta', text: piece })
  }

  refusal(piece: string): void {
    if (piece === '' || this.#terminated) return
    this.#openBlock('refusal')
    if (this.#count(piece.length + PIECE_CHARACTERS)) this.#events.push({ type: 'refusal-delta', text: piece })
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
    if (this.#terminated || !this.#count(measureState(state))) return
    if (this.#open === undefined) this.#messageState = mergeProviderState(this.#messageState, state)
    else this.#blockState = mergeProviderState(this.#blockState, state)
  }

  /** Opens a tool call and returns its index; it stays open until another block or call begins, or the response ends. */
  startToolCall(head: ToolCallHead): number {
    this.closeBlock()
    const index = this.#toolCalls++
    if (index >= TOOL_CALLS_MAX) this.fail(beyondBound('tool calls'))
    const characters = head.id.length + head.name.length + (head.namespace?.length ?? 0) + measureState(head.state)
    if (this.#terminated || !this.#count(characters + ENTRY_CHARACTERS)) return index
    this.#open = 'tool-call'
    this.#nesting = undefined
    this.#events.push({ type: 'tool-call-start', index, ...head })
    return index
  }

  /** A piece of the open call's arguments text. */
  toolCallArguments(piece: string): void {
    if (piece === '' || this.#terminated || this.#open !== 'tool-call') return
    if (!this.#count(piece.length + PIECE_CHARACTERS)) return
    this.#nesting ??= new JsonNesting()
    this.#nesting.add(piece)
    if (this.#nesting.isTooDeep) {
      this.fail(
        new GatewayError('provider_protocol_error', { cause: 'the arguments of a tool call are nested too deeply' })
      )
      return
    }
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
    const known = this.#openHosted?.get(tool.name)
    if (known !== undefined) return known
    this.#closeReasoning()
    const index = this.#hosted.push({ name: tool.name, isOpen: false }) - 1
    if (index >= HOSTED_RUNS_MAX) this.fail(beyondBound('hosted tool runs'))
    if (this.#terminated || !this.#count(tool.name.length + ENTRY_CHARACTERS)) return index
    this.#hosted[index] = { name: tool.name, isOpen: true }
    this.#openHosted ??= new Map()
    this.#openHosted.set(tool.name, index)
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
    if (this.#terminated || this.#hosted[index]?.isOpen !== true || !this.#count(ENTRY_CHARACTERS)) return
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
    const { query = '', inlineData, sources = [] } = outcome
    const found = inlineData === undefined ? 0 : JSON.stringify(inlineData).length
    if (!this.#count(found + query.length + sources.length * ENTRY_CHARACTERS)) return
    run.isOpen = false
    this.#openHosted?.delete(run.name)
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
    if (++this.#files > FILES_MAX) this.fail(beyondBound('files'))
    if (this.#terminated || !this.#count(measureFile(file) + measureState(state) + ENTRY_CHARACTERS)) return
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
    if (this.#terminated) return
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

  /** False when the response is beyond its bound: then it has ended with an error. */
  #count(characters: number): boolean {
    this.#characters += characters
    if (this.#characters <= this.#charactersMax) return true
    this.fail(beyondBound('characters'))
    return false
  }

  #closeReasoning(): void {
    if (this.#open === 'reasoning') this.closeBlock()
  }

  #opaqueBlock(kind: 'text' | 'reasoning', state: ProviderState): void {
    if (this.#terminated) return
    this.closeBlock()
    this.#openBlock(kind)
    if (this.#count(measureState(state))) this.#blockState = state
    this.closeBlock()
  }

  #openBlock(kind: BlockKind): void {
    if (this.#open === kind && this.#blockState === undefined) return
    this.closeBlock()
    if (!this.#count(ENTRY_CHARACTERS)) return
    this.#open = kind
    this.#hasContent ||= kind !== 'reasoning'
    switch (kind) {
      case 'text':
        this.#textLength = 0
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

function measureState(state: ProviderState | undefined): number {
  return state === undefined ? 0 : JSON.stringify(state).length
}

function measureFile({ fileId, mediaType = '', target = '', url = '' }: GeneratedFile): number {
  return fileId.length + mediaType.length + target.length + url.length
}
