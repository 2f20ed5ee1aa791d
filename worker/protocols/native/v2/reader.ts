// Reads responses of the v2 contract: messages of parts, as a whole or as named events (upstream.md 4.3 and 4.4). A payload is
// read by its members, because event names are only a hint and builds of the upstream put members in different places.

import { isJsonObject } from '../../../normalized/index.ts'
import { hasOnlyMembers } from '../../../performance/repeated-frame.ts'
import type { ResponseReader } from '../../face.ts'
import { NativeReader, type PayloadReader } from '../reader.ts'
import type { NativeReaderOptions } from '../reading.ts'
import { findStateId, type NativeResponseState, type Payload } from '../response-state.ts'
import { readV2Usage } from '../usage.ts'

/** Creates the reader of one v2 response; streams and whole responses give the same events. */
export function createNativeV2Reader(dependencies: NativeReaderOptions): ResponseReader {
  return new NativeReader(dependencies, 'v2', new V2PayloadReader())
}

const DONE_EVENT = 'response.message.done'

class V2PayloadReader implements PayloadReader {
  #textLength = 0
  /** True while an event is read whose text repeats the text of the earlier events. */
  #isRepetition = false

  readWhole(payload: Payload, state: NativeResponseState): boolean {
    if (!Array.isArray(payload.messages)) return false
    this.#read(payload, state)
    return true
  }

  readEvent(payload: Payload, name: string, state: NativeResponseState): void {
    const isDone = name === DONE_EVENT || isWord(payload.finish_reason)
    state.calls.beginFrame(isDone)
    this.#isRepetition = isDone && this.#textLength > 0 && countText(payload) === this.#textLength
    this.#read(payload, state)
  }

  readPlainText(payload: Payload): string | undefined {
    return readPlainText(payload)
  }

  takePlainText(text: string, state: NativeResponseState): void {
    this.#textLength += text.length
    state.text(text)
  }

  isTerminal(name: string): boolean {
    return name === DONE_EVENT
  }

  #read(payload: Payload, state: NativeResponseState): void {
    state.hosted.report(payload.tool_execution)
    if (Array.isArray(payload.messages)) {
      for (const message of payload.messages) if (isJsonObject(message)) this.#readMessage(message, state)
    }
    const stateId = findStateId(payload)
    if (stateId !== undefined) state.noteStateId(stateId, false)
    state.finishWord(payload.finish_reason)
    if (payload.usage !== undefined) state.usage(readV2Usage(payload.usage))
  }

  #readMessage(message: Payload, state: NativeResponseState): void {
    const role = readRole(message)
    state.noteMessageId(message.message_id)
    state.hosted.report(message.tool_execution)
    state.inlineData(message.inline_data)
    state.reasoning(message.reasoning_content)
    const stateId = findStateId(message)
    const { content } = message
    let hasCall = false
    if (typeof content === 'string') this.#readText(content, role, state)
    else if (Array.isArray(content)) {
      for (const part of content) {
        if (!isJsonObject(part)) continue
        this.#readPart(part, { role, stateId }, state)
        hasCall ||= isJsonObject(part.function_call)
      }
    }
    if (message.function_call !== undefined) {
      state.functionCall(message.function_call, message, stateId)
      hasCall ||= isJsonObject(message.function_call)
    }
    if (stateId !== undefined) state.noteStateId(stateId, hasCall)
    state.finishWord(message.finish_reason)
  }

  /** Reads a part, which may combine members: sources come before the text that refers to them. */
  #readPart(part: Payload, of: { role: string; stateId: string | undefined }, state: NativeResponseState): void {
    if (part.tool_execution !== undefined) state.hosted.report(part.tool_execution)
    if (part.inline_data !== undefined) state.inlineData(part.inline_data)
    if (part.text !== undefined) this.#readText(part.text, of.role, state)
    if (part.files !== undefined) state.files(part.files)
    if (part.function_call !== undefined) state.functionCall(part.function_call, part, of.stateId)
  }

  #readText(text: unknown, role: string, state: NativeResponseState): void {
    if (typeof text !== 'string' || this.#isRepetition) return
    this.#textLength += text.length
    // Text of other roles is exchanged between the upstream and its tools, not with the client.
    if (role === 'assistant') state.text(text)
    else if (role === 'reasoning') state.reasoning(text)
  }
}

/** A message without a role is the assistant's: reasoning always has its role, and text taken for reasoning would be lost. */
function readRole(message: Payload): string {
  return typeof message.role === 'string' && message.role !== '' ? message.role : 'assistant'
}

const PLAIN_MEMBERS = new Set(['messages', 'model', 'created_at'])
const PLAIN_MESSAGE_MEMBERS = new Set(['role', 'content'])
const PLAIN_PART_MEMBERS = new Set(['text'])

function readPlainText(payload: Payload): string | undefined {
  const { messages } = payload
  if (!hasOnlyMembers(payload, PLAIN_MEMBERS) || !Array.isArray(messages) || messages.length !== 1) return undefined
  const [message] = messages
  if (!hasOnlyMembers(message, PLAIN_MESSAGE_MEMBERS) || readRole(message) !== 'assistant') return undefined
  const { content } = message
  if (!Array.isArray(content) || content.length !== 1) return undefined
  const [part] = content
  if (!hasOnlyMembers(part, PLAIN_PART_MEMBERS)) return undefined
  return typeof part.text === 'string' ? part.text : undefined
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** Length of all texts of a payload. */
function countText(payload: Payload): number {
  let length = 0
  for (const message of Array.isArray(payload.messages) ? payload.messages : []) {
    const content: unknown = isJsonObject(message) ? message.content : undefined
    for (const part of Array.isArray(content) ? content : []) {
      if (isJsonObject(part) && typeof part.text === 'string') length += part.text.length
    }
  }
  return length
}
