// Puts tool calls whose pieces arrive interleaved into the order that `event.ts` demands: one call at a time, in order of first
// appearance. It serves wires with `tool_calls[index]` deltas, with content-block indices, and with calls that arrive whole.

import { GatewayError } from './error.ts'
import type { EventAssembler, ToolCallHead } from './event-assembler.ts'
import { beyondBound, ENTRY_CHARACTERS, RESPONSE_CHARACTERS_MAX, TOOL_CALLS_MAX } from './response-bounds.ts'
import { mergeProviderState, type ProviderState } from './state.ts'

/** Characters that may wait behind the call being written: as much as a whole response. */
export const WAITING_CHARACTERS_MAX = RESPONSE_CHARACTERS_MAX

/** A piece of a call, as one frame shows it. */
export interface CallPiece {
  /** The wire's index; absent where the id tells the calls apart, or where calls arrive whole. */
  index?: number | undefined
  id?: string | undefined
  name?: string | undefined
  namespace?: string | undefined
  /** A piece of the arguments' JSON text. */
  arguments?: string | undefined
  state?: ProviderState | undefined
  /** The call has no further pieces. */
  isComplete?: boolean
}

/** What the id of a call is made from. */
export interface CallIdentity {
  /** The wire's id, undefined where it has none. */
  id: string | undefined
  name: string
  /** Counts the calls of the response from 0. */
  number: number
}

export interface CallCollectorOptions {
  assembler: EventAssembler
  /** Gives the id that the client sees: the wire's own, or a new one. */
  issueId: (call: CallIdentity) => string
}

interface CollectedCall {
  type: 'call'
  /** Counts the calls of the response from 0. */
  number: number
  index: number | undefined
  id: string | undefined
  name: string | undefined
  namespace: string | undefined
  state: ProviderState | undefined
  /** Pieces of the arguments that are not passed on yet. */
  waiting: string[]
  isStarted: boolean
  isComplete: boolean
}

interface OtherContent {
  type: 'other'
  feed: () => void
}

/** One per response. After `finish` it takes nothing more. */
export class CallCollector {
  readonly #assembler: EventAssembler
  readonly #issueId: (call: CallIdentity) => string
  /** Every call of the response, in order of first appearance. */
  readonly #calls: CollectedCall[] = []
  /** The latest call of each index, and the first call of each id. */
  readonly #byIndex = new Map<number, CollectedCall>()
  readonly #byId = new Map<string, CollectedCall>()
  /** What is not passed on whole yet; the entry at `#first` is being passed on. */
  #queue: Array<CollectedCall | OtherContent> = []
  #first = 0
  #waitingCharacters = 0

  constructor(options: CallCollectorOptions) {
    this.#assembler = options.assembler
    this.#issueId = options.issueId
  }

  /** How many calls were seen. */
  get count(): number {
    return this.#calls.length
  }

  /** Takes a piece. Ends the response with `provider_protocol_error` where a piece continues no call, or too much waits. */
  add(piece: CallPiece): void {
    if (this.#assembler.isTerminated || isEmpty(piece)) return
    const call = this.#find(piece) ?? this.#create(piece)
    if (call === undefined || (call.isComplete && hasContent(piece))) {
      this.#failProtocol('a piece of a tool call that is complete or unknown')
      return
    }
    this.#identify(call, piece.id)
    call.name ??= piece.name === '' ? undefined : piece.name
    call.namespace ??= piece.namespace
    if (piece.arguments !== undefined && piece.arguments !== '') {
      call.waiting.push(piece.arguments)
      this.#count(piece.arguments.length + ENTRY_CHARACTERS)
    }
    if (piece.state !== undefined) call.state = mergeProviderState(call.state, piece.state)
    if (piece.isComplete === true) call.isComplete = true
    this.#advance()
  }

  /** The call with this index has no further pieces. An unknown index is ignored. */
  complete(index: number): void {
    const call = this.#byIndex.get(index)
    if (call === undefined || this.#assembler.isTerminated) return
    call.isComplete = true
    this.#advance()
  }

  /**
   * Feeds the assembler with content of another kind: at once, or after the calls that began before it.
   * @param characters what the content counts while it waits.
   */
  pass(characters: number, feed: () => void): void {
    if (this.#assembler.isTerminated) return
    if (this.#queue.length === 0) {
      feed()
      return
    }
    this.#queue.push({ type: 'other', feed })
    this.#count(characters + ENTRY_CHARACTERS)
  }

  /** The wire has no further pieces at all: passes on everything that waits. */
  finish(): void {
    for (const call of this.#calls) call.isComplete = true
    this.#advance()
  }

  /** The latest call of the index, else of the id. Some providers give all calls of a response one index: there the id decides. */
  #find(piece: CallPiece): CollectedCall | undefined {
    const { index, id, name } = piece
    const hasId = id !== undefined && id !== ''
    const hasName = name !== undefined && name !== ''
    if (index === undefined && hasId) return this.#byId.get(id)
    const known = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index)
    if (known === undefined || (index === undefined && hasName)) return undefined
    if (hasId && known.id !== undefined && known.id !== id) return this.#byId.get(id)
    const isOther = hasName && known.name !== undefined && known.name !== name
    return isOther ? undefined : known
  }

  #create(piece: CallPiece): CollectedCall | undefined {
    const isContinuation = piece.index === undefined && (piece.name === undefined || piece.name === '')
    if (isContinuation && (piece.id === undefined || piece.id === '')) return undefined
    if (this.#calls.length >= TOOL_CALLS_MAX) {
      this.#fail(beyondBound('tool calls'))
      return undefined
    }
    const call: CollectedCall = {
      type: 'call',
      number: this.#calls.length,
      index: piece.index,
      id: undefined,
      name: undefined,
      namespace: undefined,
      state: undefined,
      waiting: [],
      isStarted: false,
      isComplete: false
    }
    this.#calls.push(call)
    if (piece.index !== undefined) this.#byIndex.set(piece.index, call)
    this.#queue.push(call)
    this.#count(ENTRY_CHARACTERS)
    return call
  }

  /** Two calls of different indexes may have one id: then the earlier call is found by it. */
  #identify(call: CollectedCall, id: string | undefined): void {
    if (call.id !== undefined || id === undefined || id === '') return
    call.id = id
    const known = this.#byId.get(id)
    if (known === undefined || known.number > call.number) this.#byId.set(id, call)
  }

  #advance(): void {
    while (!this.#assembler.isTerminated) {
      const first = this.#queue[this.#first]
      if (first === undefined) return
      if (first.type === 'other') first.feed()
      else if (!this.#write(first)) return
      this.#first++
      if (this.#first < this.#queue.length) continue
      this.#queue = []
      this.#first = 0
      this.#waitingCharacters = 0
    }
  }

  /** Passes on what a call has. True when the call is passed on whole. */
  #write(call: CollectedCall): boolean {
    if (!call.isStarted && !this.#start(call)) return false
    const hasMore = call.waiting.length > 0 || call.state !== undefined
    if (hasMore && this.#assembler.openBlock !== 'tool-call') {
      this.#failProtocol('other content ended a tool call that continues')
      return false
    }
    for (const piece of call.waiting) {
      this.#assembler.toolCallArguments(piece)
      this.#waitingCharacters -= piece.length + ENTRY_CHARACTERS
    }
    call.waiting = []
    if (call.state !== undefined) this.#assembler.blockState(call.state)
    call.state = undefined
    if (call.isComplete) this.#assembler.closeBlock()
    return call.isComplete
  }

  /** A call cannot be sent to a client without its name, so it starts when the name has arrived. */
  #start(call: CollectedCall): boolean {
    const { name, namespace, state } = call
    if (name === undefined) {
      if (call.isComplete) this.#failProtocol('a tool call without a name')
      return false
    }
    const head: ToolCallHead = {
      id: this.#issueId({ id: call.id, name, number: this.#assembler.toolCallCount }),
      name
    }
    if (namespace !== undefined) head.namespace = namespace
    if (state !== undefined) head.state = state
    call.state = undefined
    call.isStarted = true
    this.#assembler.startToolCall(head)
    return true
  }

  #count(characters: number): void {
    this.#waitingCharacters += characters
    if (this.#waitingCharacters > WAITING_CHARACTERS_MAX) this.#failProtocol('too much waits behind an open tool call')
  }

  /** @param reason for the log. */
  #failProtocol(reason: string): void {
    this.#fail(new GatewayError('provider_protocol_error', { cause: reason }))
  }

  #fail(error: GatewayError): void {
    this.#queue = []
    this.#first = 0
    this.#assembler.fail(error)
  }
}

function hasContent({ arguments: piece, state }: CallPiece): boolean {
  return (piece !== undefined && piece !== '') || state !== undefined
}

function isEmpty(piece: CallPiece): boolean {
  const hasHead = Boolean(piece.id) || Boolean(piece.name)
  return !hasHead && !hasContent(piece) && piece.isComplete !== true
}
