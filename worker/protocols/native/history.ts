// Pairs the calls of a conversation with their results and orders them as the upstream needs them: every result directly
// after the calls it belongs to. The gateway keeps no conversation, so everything is found in the request itself: by the id
// that the gateway issued, by the ids and names of earlier calls, or by order (completions.md 4.5, decisions 34).

import {
  flattenToolName,
  GatewayError,
  type NormalizedMessage,
  readToolCallId,
  type ToolCallPart,
  type ToolResultPart
} from '../../normalized/index.ts'
import { type CoercedResult, coerceToolResult } from '../shared/tool-result.ts'

export interface PlacedResult extends CoercedResult {
  /** The function's name as the client knows it, flattened. */
  name: string
}

export interface PlacedCall {
  id: string | null
  name: string
  call: ToolCallPart
  results: PlacedResult[]
  /** Its number in the order of all calls of the request. */
  number: number
}

/** Calls that the upstream issued in one message, under one state id. */
export interface CallGroup {
  stateId: string | undefined
  /** The state id as far as it is certain: read from an id that we issued. */
  ownStateId: string | undefined
  calls: PlacedCall[]
}

/** A result whose call is not in the request. */
export interface LoneResult extends PlacedResult {
  stateId: string | undefined
}

/** The calls of one message of the client, grouped by the upstream's messages that they came in. */
export function groupCalls(message: NormalizedMessage): CallGroup[] {
  const groups: CallGroup[] = []
  for (const part of message.content) {
    if (part.type !== 'tool-call') continue
    const identity = part.id === null ? undefined : readToolCallId(part.id)
    const ownStateId = identity?.isOwn === true ? identity.stateId : undefined
    const givenStateId = part.state?.native?.toolStateId ?? message.state?.native?.toolStateId
    const stateId = ownStateId ?? givenStateId ?? identity?.stateId
    const placed: PlacedCall = { id: part.id, name: flattenToolName(part), call: part, results: [], number: 0 }
    joinGroup(groups, { stateId, ownStateId, calls: [placed] })
  }
  return groups
}

/**
 * Puts calls to the others of their turn, in place: a history may have thousands. Only state ids that we read from our own ids can
 * tell two messages of the upstream apart.
 */
export function joinGroup(groups: CallGroup[], group: CallGroup): void {
  const last = groups.at(-1)
  const isOther =
    last?.ownStateId !== undefined && group.ownStateId !== undefined && last.ownStateId !== group.ownStateId
  if (last === undefined || isOther) {
    groups.push(group)
    return
  }
  last.ownStateId ??= group.ownStateId
  last.stateId = last.ownStateId ?? last.stateId ?? group.stateId
  for (const call of group.calls) last.calls.push(call)
}

/** The calls of one id. */
interface CallsOfId {
  latest: PlacedCall
  /** In their order; answered ones are taken off the end when somebody looks. */
  unanswered: PlacedCall[]
}

/** All calls seen so far; one per request. Agents send long histories, so a result is placed without a walk through them. */
export class CallLedger {
  readonly #callsById = new Map<string, CallsOfId>()
  /** Calls without a result, oldest first. */
  readonly #open = new Set<PlacedCall>()
  readonly #openByName = new Map<string, Set<PlacedCall>>()
  #size = 0
  #newestAnswered = -1

  /** How many calls were seen: the number of the next one. */
  get size(): number {
    return this.#size
  }

  /** Whether any call from this number on has a result. */
  isAnsweredFrom(number: number): boolean {
    return this.#newestAnswered >= number
  }

  add(groups: readonly CallGroup[]): void {
    for (const call of groups.flatMap(group => group.calls)) {
      call.number = this.#size++
      this.#open.add(call)
      const sameName = this.#openByName.get(call.name)
      if (sameName === undefined) this.#openByName.set(call.name, new Set([call]))
      else sameName.add(call)
      if (call.id === null) continue
      const key = foldCallId(call.id)
      const sameId = this.#callsById.get(key)
      if (sameId === undefined) this.#callsById.set(key, { latest: call, unanswered: [call] })
      else {
        sameId.latest = call
        sameId.unanswered.push(call)
      }
    }
  }

  /**
   * Gives a result to the call that it answers. Returns it where its call is not in the request but its name is known.
   * Raises `invalid_request` with the result's path where it cannot be placed at all (field lesson B9).
   */
  place(part: ToolResultPart): LoneResult | undefined {
    const identity = part.callId === null ? undefined : readToolCallId(part.callId)
    const ownName = identity?.isOwn === true ? identity.name : undefined
    const givenName = ownName ?? part.name
    // An id of ours that says the name answers nothing but its own call.
    const call = this.#findById(part.callId) ?? (ownName === undefined ? this.#findOpen(part.name) : undefined)
    const result = coerceToolResult(part.content, part.isError)
    if (call !== undefined) {
      this.#newestAnswered = Math.max(this.#newestAnswered, call.number)
      this.#open.delete(call)
      this.#openByName.get(call.name)?.delete(call)
      call.results.push({ ...result, name: givenName ?? call.name })
      return undefined
    }
    if (givenName === undefined) {
      throw new GatewayError('invalid_request', {
        param: part.path,
        message: 'The tool result belongs to no tool call of this request.'
      })
    }
    return { ...result, name: givenName, stateId: part.state?.native?.toolStateId ?? identity?.stateId }
  }

  #findById(callId: string | null): PlacedCall | undefined {
    if (callId === null) return undefined
    const sameId = this.#callsById.get(foldCallId(callId))
    if (sameId === undefined) return undefined
    const { latest, unanswered } = sameId
    // Careless clients number the calls of every turn from one again: the latest open call of that id is meant.
    while (unanswered.length > 0) {
      const call = unanswered.at(-1)
      if (call !== undefined && isUnanswered(call)) return call
      unanswered.pop()
    }
    return latest
  }

  #findOpen(name: string | undefined): PlacedCall | undefined {
    const sameName = name === undefined ? undefined : this.#openByName.get(name)
    const [oldest] = sameName === undefined || sameName.size === 0 ? this.#open : sameName
    return oldest
  }
}

export function isUnanswered(call: PlacedCall): boolean {
  return call.results.length === 0
}

/** Families put their own prefixes before one and the same id. */
function foldCallId(id: string): string {
  return id.replace(/^(?:call_|fc_|toolu_)+/, '')
}
