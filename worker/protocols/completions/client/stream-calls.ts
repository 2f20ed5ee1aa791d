// Writes the tool calls of a stream as members of deltas: the head of a call once, then only pieces of its arguments (field
// lesson B5).

import {
  flattenToolName,
  type ToolCallDeltaEvent,
  type ToolCallEndEvent,
  type ToolCallStartEvent
} from '../../../normalized/index.ts'
import { NO_ARGUMENTS } from '../../shared/tool-arguments.ts'
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

/** @param usesLegacyFunctions writes the legacy `function_call` form, which has no ids and only one call. */
export function createCallDeltas(usesLegacyFunctions: boolean): CallDeltas {
  const tail = usesLegacyFunctions ? '}' : '}}]'
  let count = 0
  /** Kept until the first arguments arrive, so that a call that arrives in one piece becomes one delta. */
  let head: string | undefined
  let hasArguments = false

  function isShown(index: number): boolean {
    return !usesLegacyFunctions || index === 0
  }

  function writeHead(event: ToolCallStartEvent): string {
    const name = JSON.stringify(flattenToolName(event))
    if (usesLegacyFunctions) return `"function_call":{"name":${name},"arguments":`
    const id = JSON.stringify(event.id)
    const extra = writeExtraContent(event.state)
    const state = extra === undefined ? '' : `"extra_content":${JSON.stringify(extra)},`
    return `"tool_calls":[{"index":${event.index},"id":${id},"type":"function",${state}"function":{"name":${name},"arguments":`
  }

  function writePiece(index: number, piece: string): string {
    const continued = usesLegacyFunctions
      ? '"function_call":{"arguments":'
      : `"tool_calls":[{"index":${index},"function":{"arguments":`
    const members = (head ?? continued) + JSON.stringify(piece) + tail
    head = undefined
    hasArguments ||= piece !== ''
    return members
  }

  return {
    get count() {
      return count
    },
    start(event) {
      if (!isShown(event.index)) return
      count += 1
      head = writeHead(event)
      hasArguments = false
    },
    writeArguments(event) {
      return isShown(event.index) ? writePiece(event.index, event.arguments) : ''
    },
    writeEnd(event) {
      if (!isShown(event.index)) return ''
      if (!hasArguments) return writePiece(event.index, NO_ARGUMENTS)
      const extra = usesLegacyFunctions ? undefined : writeExtraContent(event.state)
      return extra === undefined
        ? ''
        : `"tool_calls":[{"index":${event.index},"extra_content":${JSON.stringify(extra)},"function":{"arguments":""}}]`
    },
    writePending() {
      return head === undefined ? '' : writePiece(0, '')
    }
  }
}
