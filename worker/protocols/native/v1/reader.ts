// Reads responses of the v1 contract: one choice, as a whole or as deltas (upstream.md 3.2 and 3.3).

import { isJsonObject } from '../../../normalized/index.ts'
import { hasOnlyMembers } from '../../../performance/repeated-frame.ts'
import type { ResponseReader } from '../../face.ts'
import { NativeReader, type PayloadReader } from '../reader.ts'
import type { NativeReaderOptions } from '../reading.ts'
import { findStateId, type NativeResponseState, type Payload } from '../response-state.ts'
import { readV1Usage } from '../usage.ts'

/** Creates the reader of one v1 response; streams and whole responses give the same events. */
export function createNativeV1Reader(dependencies: NativeReaderOptions): ResponseReader {
  return new NativeReader(dependencies, 'v1', v1Payloads)
}

const v1Payloads: PayloadReader = {
  readWhole(payload, state) {
    if (!Array.isArray(payload.choices)) return false
    readPayload(payload, state, 'message')
    return true
  },
  readEvent(payload, _name, state) {
    // A chunk without choices, or with an empty list of them, may still carry the usage (field lesson A1).
    readPayload(payload, state, 'delta')
  },
  readPlainText,
  takePlainText(text, state) {
    state.text(text)
  },
  isTerminal: () => false
}

const PLAIN_MEMBERS = new Set(['choices', 'created', 'model', 'object'])
const PLAIN_CHOICE_MEMBERS = new Set(['delta', 'index'])
const PLAIN_DELTA_MEMBERS = new Set(['content'])

function readPlainText(payload: Payload): string | undefined {
  const { choices } = payload
  if (!hasOnlyMembers(payload, PLAIN_MEMBERS) || !Array.isArray(choices) || choices.length !== 1) return undefined
  const [choice] = choices
  if (!hasOnlyMembers(choice, PLAIN_CHOICE_MEMBERS) || !isFirstChoice(choice)) return undefined
  const { delta } = choice
  if (!hasOnlyMembers(delta, PLAIN_DELTA_MEMBERS)) return undefined
  return typeof delta.content === 'string' ? delta.content : undefined
}

function readPayload(payload: Payload, state: NativeResponseState, member: 'message' | 'delta'): void {
  const choice = Array.isArray(payload.choices) ? payload.choices.find(isFirstChoice) : undefined
  if (choice !== undefined) {
    const content = isJsonObject(choice[member]) ? choice[member] : choice[member === 'delta' ? 'message' : 'delta']
    if (isJsonObject(content)) readContent(content, state)
    state.finishWord(choice.finish_reason)
  }
  if (payload.usage !== undefined) state.usage(readV1Usage(payload.usage))
}

/** The gateway requests one choice, so further choices are ignored. */
function isFirstChoice(choice: unknown): choice is Payload {
  return isJsonObject(choice) && (choice.index === undefined || choice.index === 0)
}

function readContent(content: Payload, state: NativeResponseState): void {
  if (content.reasoning_content !== undefined) state.reasoning(content.reasoning_content)
  // Messages of other roles report the upstream's progress and are not part of the response.
  if (content.role === undefined || content.role === null || content.role === 'assistant') state.text(content.content)
  const stateId = findStateId(content)
  if (isJsonObject(content.function_call)) {
    state.calls.beginFrame(false)
    state.functionCall(content.function_call, content, stateId)
  }
  if (stateId !== undefined) state.noteStateId(stateId, false)
  if (content.id !== undefined) state.noteMessageId(content.id)
}
