// Matches the tool results of a conversation with its tool calls, because the upstream expects each
// result directly after its call. The gateway stores no conversations, so the match uses the
// request only: ids that the gateway issued, ids and names of earlier calls, or their order
// (completions.md 4.5, decisions.md 34).

import {
  flattenToolName,
  GatewayError,
  isGatewayCallId,
  type NormalizedMessage,
  type ProviderState,
  readToolCallId,
  type ToolCallPart,
  type ToolResultPart
} from '../../normalized/index.ts'
import { CallList } from '../shared/tools/call-list.ts'
import { SameIdCalls } from '../shared/tools/same-id-calls.ts'
import { type CoercedResult, coerceToolResult } from '../shared/tools/tool-result.ts'

export interface HistoryResult extends CoercedResult {
  /** The client's name of the function, flattened. */
  name: string
  /** The state id that the client keeps beside the result. */
  givenStateId: string | undefined
}

export interface HistoryCall {
  id: string | null
  name: string
  part: ToolCallPart
  results: HistoryResult[]
  /** Position among all calls of the request. */
  position: number
}

/** Calls that the upstream issued in one message, under one state id. */
export interface CallGroup {
  /** From an id that the gateway issued, which makes it certain. */
  issuedStateId: string | undefined
  /** From a member that the client keeps beside the call. */
  givenStateId: string | undefined
  calls: HistoryCall[]
}

/** The state id of a group; it may stand only beside a result (decisions.md 64). */
export function findGroupStateId(group: CallGroup): string | undefined {
  return group.issuedStateId ?? findResultStateId(group.calls) ?? group.givenStateId
}

function findResultStateId(calls: readonly HistoryCall[]): string | undefined {
  for (const { results } of calls) {
    for (const { givenStateId } of results) if (givenStateId !== undefined) return givenStateId
  }
  return undefined
}

/** A result whose call is not in the request. */
export interface UnmatchedResult extends HistoryResult {
  stateId: string | undefined
  /** Which call of its upstream message it answers, where the id of the call says so. */
  callNumber: number | undefined
}

/** Groups the calls of one client message by the upstream message that contained them. */
export function groupCalls(message: NormalizedMessage): CallGroup[] {
  const groups: CallGroup[] = []
  for (const part of message.content) {
    if (part.type !== 'tool-call') continue
    const identity = part.id === null ? undefined : readToolCallId(part.id)
    const issuedStateId = identity?.stateId
    const givenStateId = readGivenStateId(part.state) ?? readGivenStateId(message.state)
    const call: HistoryCall = { id: part.id, name: flattenToolName(part), part, results: [], position: 0 }
    joinGroup(groups, { issuedStateId, givenStateId, calls: [call] })
  }
  return groups
}

/** Some clients repeat the id of the call as its state id: then the state id is the one that the id carries. */
function readGivenStateId(state: ProviderState | undefined): string | undefined {
  const given = state?.native?.toolStateId
  return given !== undefined && isGatewayCallId(given) ? readToolCallId(given).stateId : given
}

/**
 * Adds calls to the groups of their turn, in place because a history may have thousands. They form a group of their own only when
 * ids that the gateway issued show that they came in another upstream message.
 */
export function joinGroup(groups: CallGroup[], group: CallGroup): void {
  const last = groups.at(-1)
  const isOther =
    last?.issuedStateId !== undefined && group.issuedStateId !== undefined && last.issuedStateId !== group.issuedStateId
  if (last === undefined || isOther) {
    groups.push(group)
    return
  }
  last.issuedStateId ??= group.issuedStateId
  last.givenStateId ??= group.givenStateId
  for (const call of group.calls) last.calls.push(call)
}

/** The calls of one request, indexed because agents send long histories: a result finds its call without a search through all. */
export class CallIndex {
  readonly #callsById = new Map<string, SameIdCalls<HistoryCall>>()
  readonly #inOrder = new CallList(lacksResult)
  readonly #byName = new Map<string, CallList<HistoryCall>>()
  /** Ids of the results that the current turn already has. */
  readonly #answeredIds = new Set<string>()
  #size = 0
  #turn = 0
  #newestWithResult = -1

  /** The number of calls, which is the position of the next one. */
  get size(): number {
    return this.#size
  }

  /** True when a call at this position or a later one has a result. */
  hasResultFrom(position: number): boolean {
    return this.#newestWithResult >= position
  }

  add(groups: readonly CallGroup[]): void {
    for (const call of groups.flatMap(group => group.calls)) {
      call.position = this.#size++
      this.#inOrder.add(call, this.#turn)
      const sameName = this.#byName.get(call.name) ?? new CallList(lacksResult)
      this.#byName.set(call.name, sameName)
      sameName.add(call, this.#turn)
      if (call.id === null) continue
      const key = foldCallId(call.id)
      const sameId = this.#callsById.get(key)
      const place = { turn: this.#turn, name: call.name }
      if (sameId === undefined) this.#callsById.set(key, new SameIdCalls(lacksResult, call, place))
      else sameId.add(call, place)
    }
  }

  /** Ends the model's turn: a result goes to a later call first. A call that the user passed over may stay without a result for ever. */
  endTurn(): void {
    this.#turn++
  }

  /** Begins a turn of the user: a later result of the same id is another result. */
  beginTurn(): void {
    this.#answeredIds.clear()
  }

  /**
   * Adds a result to its call, except one that repeats an id of the same turn: an agent that
   * resumes sends it twice. Returns the result when its call is not in the request but its name is
   * known. Raises `invalid_request` with the result's path when it has neither a call nor a name
   * (field-lessons.md B9).
   */
  addResult(part: ToolResultPart): UnmatchedResult | undefined {
    const identity = part.callId === null ? undefined : readToolCallId(part.callId)
    const isIssued = identity?.isOwn === true
    const givenName = (isIssued ? identity.name : undefined) ?? part.name
    // An id that the gateway issued belongs to its own call only.
    const call = this.#findById(part) ?? (isIssued ? undefined : this.#findOpen(part.name))
    if (this.#isRepeated(part, call)) return undefined
    const givenStateId = readGivenStateId(part.state)
    const result = { ...coerceToolResult(part.content, part.isError), givenStateId }
    if (call !== undefined) {
      this.#newestWithResult = Math.max(this.#newestWithResult, call.position)
      call.results.push({ ...result, name: givenName ?? call.name })
      return undefined
    }
    if (givenName === undefined) {
      throw new GatewayError('invalid_request', {
        param: part.path,
        message: 'The tool result belongs to no tool call of this request.'
      })
    }
    const stateId = givenStateId ?? identity?.stateId
    const isNumbered = identity !== undefined && identity.stateId === stateId
    return { ...result, name: givenName, stateId, callNumber: isNumbered ? identity.callNumber : undefined }
  }

  /** Notes the id of a result. True when the turn already has a result of this id and no call still waits for one. */
  #isRepeated({ callId, name }: ToolResultPart, call: HistoryCall | undefined): boolean {
    if (callId === null) return false
    // Results of one upstream message may share its state id as their id.
    const key = `${foldCallId(callId)} ${name ?? ''}`
    const isKnown = this.#answeredIds.has(key)
    this.#answeredIds.add(key)
    return isKnown && (call === undefined || !lacksResult(call))
  }

  #findById({ callId, name }: ToolResultPart): HistoryCall | undefined {
    return callId === null ? undefined : this.#callsById.get(foldCallId(callId))?.find(name)
  }

  #findOpen(name: string | undefined): HistoryCall | undefined {
    const sameName = name === undefined ? undefined : this.#byName.get(name)
    return sameName?.findOldest() ?? this.#inOrder.findOldest()
  }
}

export function lacksResult(call: HistoryCall): boolean {
  return call.results.length === 0
}

/** The client protocols put different prefixes before the same id. */
function foldCallId(id: string): string {
  return id.replace(/^(?:call_|fc_|toolu_)+/, '')
}
