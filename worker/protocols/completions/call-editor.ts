// Puts the calls of one choice right in the bytes, where official SDKs could not read them: a call without type or id, arguments that are an
// object, and calls of a stream that SDKs would add up to something else (decisions.md 81).

import { isJsonObject, type JsonObject, type JsonValue, writeToolCallId } from '../../normalized/index.ts'
import type { JsonEdits } from '../shared/json/edits.ts'

export interface CallEditor {
  /** How many calls the choice has so far. */
  readonly count: number
  /** Edits the calls of a whole message. */
  editWhole(message: JsonObject, edits: JsonEdits): void
  /** Edits the deltas of one chunk. */
  editDeltas(delta: JsonObject, edits: JsonEdits): void
}

/** A call of a stream. */
interface OpenCall {
  /** As the client knows it. */
  index: number
  /** As the provider sent them; '' where it sent none. */
  id: string
  name: string
}

/** @param createNonce makes ids unique. */
export function createCallEditor(createNonce: () => string): CallEditor {
  const byIndex = new Map<JsonValue | undefined, OpenCall>()
  let last: OpenCall | undefined
  let count = 0

  function issueId(): string {
    return writeToolCallId({ stateId: undefined, name: undefined, callNumber: count, nonce: createNonce() })
  }

  /** Gives a call what it must have. */
  function editHead(call: JsonObject, edits: JsonEdits): void {
    if (readText(call.type) === '') edits.set(['type'], 'function')
    if (readText(call.id) === '') edits.set(['id'], issueId())
  }

  function editDelta(call: JsonObject, edits: JsonEdits): void {
    const { function: definition, id: givenId, index } = call
    const id = readText(givenId)
    const name = isJsonObject(definition) ? readText(definition.name) : ''
    const known = typeof index === 'number' ? byIndex.get(index) : (byIndex.get(id) ?? (id === '' ? last : undefined))
    const open = known === undefined || isOther(known, { id, name }) ? undefined : known
    if (open === undefined) {
      editHead(call, edits)
      const isFree = typeof index === 'number' && known === undefined
      const begun: OpenCall = { index: isFree ? index : count, id, name }
      count++
      last = begun
      if (typeof index === 'number') byIndex.set(index, begun)
      if (id !== '') byIndex.set(id, begun)
      if (index !== begun.index) edits.set(['index'], begun.index)
    } else {
      if (index !== open.index) edits.set(['index'], open.index)
      // SDKs join what the deltas of a call repeat.
      if (id !== '') edits.drop('id')
      if (name !== '' && name === open.name) edits.drop('function', 'name')
      if (open.name === '') open.name = name
    }
    if (isJsonObject(definition) && isJsonObject(definition.arguments)) edits.quote('function', 'arguments')
  }

  return {
    get count() {
      return count
    },
    editWhole({ tool_calls: calls, function_call: legacy }, edits) {
      for (const [number, call] of listCalls(calls)) {
        const inner = edits.at('tool_calls', number)
        editHead(call, inner)
        count++
        if (isJsonObject(call.function)) editArguments(call.function, inner.at('function'))
      }
      if (isJsonObject(legacy)) editArguments(legacy, edits.at('function_call'))
    },
    editDeltas({ tool_calls: calls, function_call: legacy }, edits) {
      for (const [number, call] of listCalls(calls)) editDelta(call, edits.at('tool_calls', number))
      if (isJsonObject(legacy) && isJsonObject(legacy.arguments)) edits.quote('function_call', 'arguments')
    }
  }
}

/** True for a delta that begins another call: some servers send several calls with one index. */
function isOther(known: OpenCall, { id, name }: { id: string; name: string }): boolean {
  if (id !== '' && known.id !== '') return id !== known.id
  return name !== '' && known.name !== '' && name !== known.name
}

/** Clients parse the arguments of a whole call. */
function editArguments({ arguments: given }: JsonObject, edits: JsonEdits): void {
  if (isJsonObject(given)) edits.quote('arguments')
  else if (given === undefined || given === null || given === '') edits.set(['arguments'], '{}')
}

function readText(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

function* listCalls(calls: JsonValue | undefined): Generator<[number, JsonObject]> {
  if (!Array.isArray(calls)) return
  for (const [index, call] of calls.entries()) if (isJsonObject(call)) yield [index, call]
}
