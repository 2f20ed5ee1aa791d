// Collects the function calls of one response in every form in which the upstream sends them. Each
// call is passed on once, in order and as early as possible: its start when the upstream's state
// id, a part of the client's id, is known; text of arguments as it comes; an object of arguments
// when no more can follow (field-lessons.md A18, B1, B2, B3, B5).

import {
  beyondBound,
  type EventAssembler,
  flattenToolName,
  type JsonValue,
  TOOL_CALLS_MAX,
  type ToolCallHead,
  writeToolCallId
} from '../../normalized/index.ts'
import { type ArgumentsGrowth, CallArguments } from './call-arguments.ts'
import { METADATA_VALUE_CHARACTERS_MAX } from './constants.ts'
import type { NativeAnomaly, NativeReaderOptions } from './reading.ts'
import { type ClientToolName, readUndeclaredName } from './tool-names.ts'

/** A call in one frame. */
export interface WireCall {
  /** '' in a frame that only continues a call. */
  name: string
  /** An object, text, or nothing. */
  arguments: unknown
  /** The upstream's id of this call among the calls of one message. */
  partId: string | undefined
  stateId: string | undefined
}

/** A result in the upstream's response to a call of the same response: the upstream ran the function itself. */
export interface WireAnswer {
  name: string
  result: unknown
  stateId: string | undefined
}

/** A call as the response's metadata shows it. */
export interface CallSummary {
  name: string
  arguments?: JsonValue
  stateId?: string
}

/** Results beyond this number are ignored: each is compared with the calls of the response. */
const ANSWERS_MAX = 256

interface CollectedCall {
  tool: ClientToolName
  wireName: string
  partId: string | undefined
  stateId: string | undefined
  readonly arguments: CallArguments
  phase: 'waiting' | 'open' | 'ended'
  isChangeReported: boolean
  /** The last frame with this call: a frame contains a call only once. */
  frameNumber: number
  /** The upstream has run the call itself, so the client does not get it. */
  isAnswered: boolean
}

export interface ToolCallCollectorOptions {
  assembler: EventAssembler
  /** Called for a call that the upstream has run itself. */
  onAnswered: (call: CallSummary, result: unknown) => void
  dependencies: NativeReaderOptions
  /** True when the next turn must return the state id: then a call waits until its state id is known. */
  needsStateId: boolean
}

export class ToolCallCollector {
  readonly #assembler: EventAssembler
  readonly #dependencies: NativeReaderOptions
  readonly #needsStateId: boolean
  readonly #onAnswered: ToolCallCollectorOptions['onAnswered']
  /** Results of the current frame whose calls are still to be read. */
  #answers: WireAnswer[] = []
  #answersTaken = 0
  #answeredCalls = 0
  readonly #calls: CollectedCall[] = []
  #byPartId: Map<string, CollectedCall> | undefined
  /** Every call before this one has ended. At most this call is open: a later one starts when it has ended. */
  #firstActive = 0
  /** Every waiting call before this one has a state id. */
  #firstWithoutState = 0
  #numbersByState: Map<string, number> | undefined
  #frameNumber = 0
  #isFinalFrame = false
  #callsInFrame = 0
  #lastStateId: string | undefined

  constructor(options: ToolCallCollectorOptions) {
    this.#assembler = options.assembler
    this.#dependencies = options.dependencies
    this.#needsStateId = options.needsStateId
    this.#onAnswered = options.onAnswered
  }

  /** The number of calls that are meant for the client. */
  get count(): number {
    return this.#calls.length - this.#answeredCalls
  }

  /** True when the arguments of a call that is meant for the client are incomplete. */
  get hasPartial(): boolean {
    return this.#calls.some(call => !call.isAnswered && call.arguments.isPartial)
  }

  /** The calls that are meant for the client, under the client's names. */
  get summaries(): CallSummary[] {
    return this.#calls.filter(call => !call.isAnswered).map(summarise)
  }

  beginFrame(isFinal: boolean): void {
    this.#frameNumber++
    this.#isFinalFrame = isFinal
    this.#callsInFrame = 0
    if (this.#answers.length > 0) this.#answers = []
  }

  /**
   * Takes a result of the frame, before the calls of the frame are added. It belongs to a waiting call of an earlier frame, else to
   * a call of this frame. A call that the client already has got stays a call.
   */
  expectAnswer(answer: WireAnswer): void {
    if (this.#answersTaken >= ANSWERS_MAX) return
    this.#answersTaken++
    this.#assembler.keep(answer.result === undefined ? 0 : JSON.stringify(answer.result).length)
    const call = this.#findWaiting(answer)
    if (call === undefined) this.#answers.push(answer)
    else this.#answer(call, answer)
  }

  add(shown: WireCall): void {
    if (this.#assembler.isTerminated) return
    if (shown.stateId !== undefined) this.#lastStateId = shown.stateId
    const call = this.#findShown(shown) ?? this.#create(shown)
    this.#callsInFrame++
    if (call === undefined) return
    call.frameNumber = this.#frameNumber
    call.stateId ??= shown.stateId
    this.#identify(call, shown.partId)
    this.#addArguments(call, shown.arguments)
    if (this.#answers.length > 0) this.#takeAnswer(call)
    this.#advance()
  }

  /** Takes a state id that is not attached to one call: it applies to every waiting call without a state id. */
  noteStateId(stateId: string): void {
    this.#lastStateId = stateId
    for (const call of this.#calls.slice(this.#firstWithoutState))
      if (call.phase === 'waiting') call.stateId ??= stateId
    this.#firstWithoutState = this.#calls.length
    this.#advance()
  }

  /** Ends the open call, because other content begins. */
  settle(): void {
    const call = this.#findActive()
    if (call?.phase === 'open') this.#end(call)
  }

  /** Ends all calls, also those that still wait for a state id, because the upstream has finished. */
  finish(): void {
    for (const call of this.#calls) {
      if (call.phase === 'ended') continue
      if (call.phase === 'waiting') this.#start(call)
      this.#end(call)
    }
  }

  /**
   * Finds the call that a frame repeats: by id when the upstream sends ids, else by position and equal arguments. A repeated call
   * must not run twice, but the same function with other arguments is another call.
   */
  #findShown(shown: WireCall): CollectedCall | undefined {
    if (shown.partId !== undefined) {
      const sameId = this.#byPartId?.get(shown.partId)
      if (sameId !== undefined) return sameId
    }
    if (shown.name === '') return this.#calls.at(-1)
    const samePlace = this.#calls[this.#callsInFrame]
    if (samePlace !== undefined && this.#isShownAgain(samePlace, shown, this.#isFinalFrame ? 'values' : 'none')) {
      return samePlace
    }
    const last = this.#calls.at(-1)
    return last !== undefined && this.#isShownAgain(last, shown, 'members') ? last : undefined
  }

  #isShownAgain(call: CollectedCall, shown: WireCall, growth: ArgumentsGrowth): boolean {
    if (call.frameNumber === this.#frameNumber || call.wireName !== shown.name) return false
    const isOtherPart = call.partId !== undefined && shown.partId !== undefined
    const isOtherState = call.stateId !== undefined && shown.stateId !== undefined && call.stateId !== shown.stateId
    if (isOtherPart || isOtherState) return false
    return call.arguments.accepts(shown.arguments, call.phase === 'ended' ? 'none' : growth)
  }

  /** Creates a call; undefined without a name, because a frame without a name can only continue a call. */
  #create(shown: WireCall): CollectedCall | undefined {
    if (shown.name === '') return undefined
    if (this.#calls.length >= TOOL_CALLS_MAX) {
      this.#assembler.fail(beyondBound('tool calls'))
      return undefined
    }
    const tool = this.#dependencies.reading.toolNames.get(shown.name) ?? { name: readUndeclaredName(shown.name) }
    const call: CollectedCall = {
      tool,
      wireName: shown.name,
      partId: undefined,
      stateId: shown.stateId,
      arguments: new CallArguments(),
      phase: 'waiting',
      isChangeReported: false,
      frameNumber: this.#frameNumber,
      isAnswered: false
    }
    this.#assembler.keep(shown.name.length + (shown.partId?.length ?? 0) + (shown.stateId?.length ?? 0))
    this.#calls.push(call)
    return call
  }

  #identify(call: CollectedCall, partId: string | undefined): void {
    if (call.partId !== undefined || partId === undefined) return
    call.partId = partId
    this.#byPartId ??= new Map()
    this.#byPartId.set(partId, call)
  }

  #addArguments(call: CollectedCall, added: unknown): void {
    const { length } = call.arguments
    const isTaken = call.arguments.add(added)
    this.#assembler.keep(Math.max(0, call.arguments.length - length))
    if (isTaken || call.isChangeReported) return
    call.isChangeReported = true
    this.#report('tool_call_changed_late', { tool: call.wireName })
  }

  /** The number of results and that of calls are bounded, so the search is too. */
  #findWaiting(answer: WireAnswer): CollectedCall | undefined {
    return this.#calls.find(call => call.phase === 'waiting' && isAnswerOf(answer, call))
  }

  /** The first call that has not ended. */
  #findActive(): CollectedCall | undefined {
    while (this.#calls[this.#firstActive]?.phase === 'ended') this.#firstActive++
    return this.#calls[this.#firstActive]
  }

  #takeAnswer(call: CollectedCall): void {
    const index = this.#answers.findIndex(answer => isAnswerOf(answer, call))
    const [answer] = index < 0 ? [] : this.#answers.splice(index, 1)
    if (answer !== undefined && call.phase === 'waiting') this.#answer(call, answer)
  }

  #answer(call: CollectedCall, { result, stateId }: WireAnswer): void {
    call.isAnswered = true
    call.phase = 'ended'
    call.stateId ??= stateId
    this.#answeredCalls++
    this.#onAnswered(summarise(call), result)
  }

  #advance(): void {
    const { buffersToolCalls, declaredNames } = this.#dependencies.reading
    if (buffersToolCalls) return
    for (let call = this.#findActive(); call !== undefined; call = this.#findActive()) {
      if (call.phase === 'waiting') {
        // The result of a function that the client does not have may follow in a later frame.
        const mayBeAnswered = !declaredNames.has(call.wireName)
        if (mayBeAnswered || (this.#needsStateId && call.stateId === undefined)) return
        this.#start(call)
      }
      if (this.#firstActive === this.#calls.length - 1) {
        this.#assembler.toolCallArguments(call.arguments.takeAvailable())
        return
      }
      this.#end(call)
    }
  }

  #start(call: CollectedCall): void {
    const stateId = call.stateId ?? (this.#needsStateId ? this.#lastStateId : undefined) ?? call.partId
    const key = stateId ?? ''
    this.#numbersByState ??= new Map()
    const callNumber = this.#numbersByState.get(key) ?? 0
    this.#numbersByState.set(key, callNumber + 1)
    const { reading, createNonce } = this.#dependencies
    const id = writeToolCallId({
      stateId,
      name: reading.namesCallsInIds ? flattenToolName(call.tool) : undefined,
      callNumber,
      nonce: createNonce(),
      // Only v2 needs the state id of a call back.
      onStateLeftOut: () => {
        if (this.#needsStateId) this.#report('tool_state_id_left_out', { tool: call.wireName })
      }
    })
    const head: ToolCallHead = { id, ...call.tool }
    if (stateId !== undefined) head.state = { native: { toolStateId: stateId } }
    this.#assembler.startToolCall(head)
    call.phase = 'open'
  }

  #end(call: CollectedCall): void {
    this.#assembler.toolCallArguments(call.arguments.takeAll())
    this.#assembler.closeBlock()
    call.phase = 'ended'
  }

  #report(name: NativeAnomaly, details: Record<string, string | number>): void {
    this.#dependencies.onAnomaly?.(name, details)
  }
}

function isAnswerOf(answer: WireAnswer, call: CollectedCall): boolean {
  const isOtherState = answer.stateId !== undefined && call.stateId !== undefined && answer.stateId !== call.stateId
  return answer.name === call.wireName && !isOtherState
}

function summarise(call: CollectedCall): CallSummary {
  const summary: CallSummary = { name: flattenToolName(call.tool) }
  const shown = call.arguments.show(METADATA_VALUE_CHARACTERS_MAX)
  if (shown !== undefined) summary.arguments = shown
  if (call.stateId !== undefined) summary.stateId = call.stateId
  return summary
}
