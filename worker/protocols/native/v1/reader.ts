// Reads responses of the v1 contract: one choice, as a whole or as deltas (upstream.md 3.2 and 3.3).

import { isJsonObject } from '../../../normalized/index.ts'
import type { ResponseReader } from '../../provider-face.ts'
import { findFirstChoice, hasReadableChoice, readChoiceContent, readPlainChoice } from '../choices.ts'
import { NativeReader, type PayloadReader } from '../reader.ts'
import type { NativeReaderOptions } from '../reading.ts'
import { findStateId, type NativeResponseState, type Payload } from '../response-state.ts'
import { readUsage } from '../usage.ts'

/** Creates the reader of one v1 response; streams and whole responses give the same events. */
export function createNativeV1Reader(dependencies: NativeReaderOptions): ResponseReader {
  return new NativeReader(dependencies, 'v1', v1Payloads)
}

const v1Payloads: PayloadReader = {
  isReadable: payload => hasReadableChoice(payload) || isJsonObject(payload.usage),
  readWhole(payload, state) {
    if (!Array.isArray(payload.choices)) return false
    readPayload(payload, state, 'message')
    return true
  },
  readEvent(payload, _name, state) {
    // A chunk without choices, or with an empty list of them, may still carry the usage
    // (field-lessons.md A1).
    readPayload(payload, state, 'delta')
  },
  readPlainText: readPlainChoice,
  takePlainText(text, state) {
    state.text(text)
  },
  isTerminal: () => false
}

function readPayload(payload: Payload, state: NativeResponseState, member: 'message' | 'delta'): void {
  const choice = findFirstChoice(payload)
  if (choice !== undefined) {
    const content = readChoiceContent(choice, member)
    if (content !== undefined) readContent(content, state)
    state.finishWord(choice.finish_reason)
  }
  if (payload.usage !== undefined) state.usage(readUsage(payload.usage))
}

function readContent(content: Payload, state: NativeResponseState): void {
  if (content.reasoning_content !== undefined) state.reasoning(content.reasoning_content)
  const stateId = findStateId(content)
  // Messages of other roles report the upstream's progress and are not part of the response.
  if (content.role === undefined || content.role === null || content.role === 'assistant') state.text(content.content)
  else if (content.role === 'function') {
    state.functionResult({ name: content.name, result: content.content }, stateId)
  }
  if (isJsonObject(content.function_call)) {
    state.calls.beginFrame(false)
    state.functionCall(content.function_call, content, stateId)
  }
  if (stateId !== undefined) state.noteStateId(stateId, { role: readRole(content), holdsCalls: false })
  if (content.id !== undefined) state.noteMessageId(content.id)
}

function readRole({ role }: Payload): string {
  return typeof role === 'string' && role !== '' ? role : 'assistant'
}
