// Reads answers of the v2 contract: messages of parts, as a whole or as named events (upstream.md 4.3 and 4.4). Payloads are
// read by what they hold: names of events are a hint, and where a member stands differs between builds.

import { isJsonObject } from '../../../normalized/index.ts'
import { hasOnlyMembers } from '../../../performance/repeated-frame.ts'
import type { ResponseReader } from '../../face.ts'
import { NativeReader, type PayloadReader } from '../reader.ts'
import type { NativeReaderOptions } from '../reading.ts'
import { findStateId, type NativeResponseState, type Payload } from '../response-state.ts'
import { readV2Usage } from '../usage.ts'

/** A reader for one answer of v2; streams and whole answers give the same events. */
export function createNativeV2Reader(dependencies: NativeReaderOptions): ResponseReader {
  return new NativeReader(dependencies, 'v2', new V2PayloadReader())
}

const DONE_EVENT = 'response.message.done'

class V2PayloadReader implements PayloadReader {
  #textLength = 0
  /** The text of the event repeats what was delivered. */
  #isRepetition = false

  readWhole(payload: Payload, answer: NativeResponseState): boolean {
    if (!Array.isArray(payload.messages)) return false
    this.#read(payload, answer)
    return true
  }

  readEvent(payload: Payload, name: string, answer: NativeResponseState): void {
    const isDone = name === DONE_EVENT || isWord(payload.finish_reason)
    answer.calls.beginFrame(isDone)
    this.#isRepetition = isDone && this.#textLength > 0 && countText(payload) === this.#textLength
    this.#read(payload, answer)
  }

  readPlainText(payload: Payload): string | undefined {
    return readPlainText(payload)
  }

  takePlainText(text: string, answer: NativeResponseState): void {
    this.#textLength += text.length
    answer.text(text)
  }

  isTerminal(name: string): boolean {
    return name === DONE_EVENT
  }

  #read(payload: Payload, answer: NativeResponseState): void {
    answer.hosted.report(payload.tool_execution)
    if (Array.isArray(payload.messages)) {
      for (const message of payload.messages) if (isJsonObject(message)) this.#readMessage(message, answer)
    }
    const stateId = findStateId(payload)
    if (stateId !== undefined) answer.noteStateId(stateId, false)
    answer.finishWord(payload.finish_reason)
    if (payload.usage !== undefined) answer.usage(readV2Usage(payload.usage))
  }

  #readMessage(message: Payload, answer: NativeResponseState): void {
    const role = readRole(message)
    answer.noteMessageId(message.message_id)
    answer.hosted.report(message.tool_execution)
    answer.inlineData(message.inline_data)
    answer.reasoning(message.reasoning_content)
    const stateId = findStateId(message)
    const { content } = message
    let hasCall = false
    if (typeof content === 'string') this.#readText(content, role, answer)
    else if (Array.isArray(content)) {
      for (const part of content) {
        if (!isJsonObject(part)) continue
        this.#readPart(part, { role, stateId }, answer)
        hasCall ||= isJsonObject(part.function_call)
      }
    }
    if (message.function_call !== undefined) {
      answer.functionCall(message.function_call, message, stateId)
      hasCall ||= isJsonObject(message.function_call)
    }
    if (stateId !== undefined) answer.noteStateId(stateId, hasCall)
    answer.finishWord(message.finish_reason)
  }

  /** A part may combine members: what a search found stands before the text that refers to it. */
  #readPart(part: Payload, of: { role: string; stateId: string | undefined }, answer: NativeResponseState): void {
    if (part.tool_execution !== undefined) answer.hosted.report(part.tool_execution)
    if (part.inline_data !== undefined) answer.inlineData(part.inline_data)
    if (part.text !== undefined) this.#readText(part.text, of.role, answer)
    if (part.files !== undefined) answer.files(part.files)
    if (part.function_call !== undefined) answer.functionCall(part.function_call, part, of.stateId)
  }

  #readText(text: unknown, role: string, answer: NativeResponseState): void {
    if (typeof text !== 'string' || this.#isRepetition) return
    this.#textLength += text.length
    // Words of other roles are the upstream's own business with its tools.
    if (role === 'assistant') answer.text(text)
    else if (role === 'reasoning') answer.reasoning(text)
  }
}

/** Without a role a message is the answer: reasoning always says so, and an answer taken for reasoning would be lost. */
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
