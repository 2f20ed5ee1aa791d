// Writes the tool calls of a stream as members of deltas: the head of a call once, then only pieces
// of its arguments (field-lessons.md B5).

import {
  flattenToolName,
  mergeProviderState,
  type ProviderState,
  type ToolCallDeltaEvent,
  type ToolCallEndEvent,
  type ToolCallStartEvent
} from '../../../normalized/index.ts'
import { FreeFormInput } from '../../shared/tools/free-form-input.ts'
import { NO_ARGUMENTS } from '../../shared/tools/tool-arguments.ts'
import { writeExtraContent } from './provider-state.ts'

/** Every writing method returns an empty text when there is nothing to write. */
export interface CallDeltas {
  /** Number of started calls that the client's form can show. */
  readonly count: number
  start(event: ToolCallStartEvent): void
  writeArguments(event: ToolCallDeltaEvent): string
  writeEnd(event: ToolCallEndEvent): string
  /** Writes the head of a call whose arguments have not arrived yet. */
  writePending(): string
}

/**
 * @param usesLegacyFunctions writes the legacy `function_call` form, which has no ids and only one call.
 * @param freeForms the flat names of custom tools, whose calls have a text in place of arguments.
 */
export function createCallDeltas(usesLegacyFunctions: boolean, freeForms: ReadonlySet<string> | undefined): CallDeltas {
  const tail = usesLegacyFunctions ? '}' : '}}]'
  /** Kept until the first arguments arrive, so that a call that arrives in one piece becomes one delta. */
  let head: ToolCallStartEvent | undefined
  let hasArguments = false
  /** Of the last call, when it is that of a custom tool. */
  let input: FreeFormInput | undefined

  function isShown(index: number): boolean {
    return !usesLegacyFunctions || index === 0
  }

  function writeHead(event: ToolCallStartEvent): string {
    const name = JSON.stringify(flattenToolName(event))
    if (usesLegacyFunctions) return `"function_call":{"name":${name},"arguments":`
    const id = JSON.stringify(event.id)
    const state = writeState(event.state)
    if (input !== undefined) {
      return `"tool_calls":[{"index":${event.index},"id":${id},"type":"custom",${state}"custom":{"name":${name},"input":`
    }
    return `"tool_calls":[{"index":${event.index},"id":${id},"type":"function",${state}"function":{"name":${name},"arguments":`
  }

  function writeState(state: ProviderState | undefined): string {
    const extra = writeExtraContent(state)
    return extra === undefined ? '' : `"extra_content":${JSON.stringify(extra)},`
  }

  /** @param state came with the piece, after the start of the call. */
  function writePiece(index: number, piece: string, state?: ProviderState): string {
    const begun = head
    head = undefined
    let before: string
    if (begun !== undefined) {
      before = writeHead(state === undefined ? begun : { ...begun, state: mergeProviderState(begun.state, state) })
    } else if (usesLegacyFunctions) before = '"function_call":{"arguments":'
    else {
      const member = input === undefined ? '"function":{"arguments":' : '"custom":{"input":'
      before = `"tool_calls":[{"index":${index},${writeState(state)}${member}`
    }
    const members = before + JSON.stringify(piece) + tail
    hasArguments ||= piece !== ''
    return members
  }

  function writeInputEnd({ index, state }: ToolCallEndEvent, rest: string): string {
    const hasMore = rest !== '' || head !== undefined || writeExtraContent(state) !== undefined
    return hasMore ? writePiece(index, rest, state) : ''
  }

  const deltas = {
    count: 0,
    start(event: ToolCallStartEvent): void {
      if (!isShown(event.index)) return
      deltas.count += 1
      head = event
      hasArguments = false
      input = freeForms?.has(flattenToolName(event)) === true && !usesLegacyFunctions ? new FreeFormInput() : undefined
    },
    writeArguments(event: ToolCallDeltaEvent): string {
      if (!isShown(event.index)) return ''
      if (input === undefined) return writePiece(event.index, event.arguments)
      const piece = input.add(event.arguments)
      return piece === '' ? '' : writePiece(event.index, piece)
    },
    writeEnd(event: ToolCallEndEvent): string {
      if (!isShown(event.index)) return ''
      if (input !== undefined) return writeInputEnd(event, input.end())
      if (!hasArguments) return writePiece(event.index, NO_ARGUMENTS, event.state)
      const isLate = !usesLegacyFunctions && writeExtraContent(event.state) !== undefined
      return isLate ? writePiece(event.index, '', event.state) : ''
    },
    writePending(): string {
      return head === undefined ? '' : writePiece(0, '')
    }
  }
  return deltas
}
