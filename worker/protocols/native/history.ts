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
import { type CoercedResult, coerceToolResult } from './tool-results.ts'

export interface PlacedResult extends CoercedResult {
  /** The function's name as the client knows it, flattened. */
  name: string
}

export interface PlacedCall {
  id: string | null
  name: string
  call: ToolCallPart
  results: PlacedResult[]
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
  let groups: CallGroup[] = []
  for (const part of message.content) {
    if (part.type !== 'tool-call') continue
    const identity = part.id === null ? undefined : readToolCallId(part.id)
    const ownStateId = identity?.isOwn === true ? identity.stateId : undefined
    const givenStateId = part.state?.native?.toolStateId ?? message.state?.native?.toolStateId
    const stateId = ownStateId ?? givenStateId ?? identity?.stateId
    const placed: PlacedCall = { id: part.id, name: flattenToolName(part), call: part, results: [] }
    groups = joinGroups(groups, [{ stateId, ownStateId, calls: [placed] }])
  }
  return groups
}

/** Puts calls of one turn together. Only state ids that we read from our own ids can tell two messages of the upstream apart. */
export function joinGroups(groups: readonly CallGroup[], more: readonly CallGroup[]): CallGroup[] {
  const joined = [...groups]
  for (const group of more) {
    const last = joined.at(-1)
    const isOther =
      last?.ownStateId !== undefined && group.ownStateId !== undefined && last.ownStateId !== group.ownStateId
    if (last === undefined || isOther) {
      joined.push(group)
      continue
    }
    const ownStateId = last.ownStateId ?? group.ownStateId
    const stateId = ownStateId ?? last.stateId ?? group.stateId
    joined[joined.length - 1] = { stateId, ownStateId, calls: [...last.calls, ...group.calls] }
  }
  return joined
}

/** All calls seen so far; one per request. Agents send long histories, so a result is placed without a walk through them. */
export class CallLedger {
  readonly #callsById = new Map<string, PlacedCall[]>()
  /** Calls without a result, oldest first. */
  #open: PlacedCall[] = []

  add(groups: readonly CallGroup[]): void {
    for (const call of groups.flatMap(group => group.calls)) {
      this.#open.push(call)
      if (call.id === null) continue
      const key = foldCallId(call.id)
      const sameId = this.#callsById.get(key)
      if (sameId === undefined) this.#callsById.set(key, [call])
      else sameId.push(call)
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
      if (isUnanswered(call)) this.#open = this.#open.filter(open => open !== call)
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
    // Careless clients number the calls of every turn from one again: the latest open call of that id is meant.
    return sameId?.findLast(isUnanswered) ?? sameId?.at(-1)
  }

  #findOpen(name: string | undefined): PlacedCall | undefined {
    return this.#open.find(call => call.name === name) ?? this.#open[0]
  }
}

export function isUnanswered(call: PlacedCall): boolean {
  return call.results.length === 0
}

/** Families put their own prefixes before one and the same id. */
function foldCallId(id: string): string {
  return id.replace(/^(?:call_|fc_|toolu_)+/, '')
}
