// Reads responses of the v2 contract: messages of parts, as a whole or as named events (upstream.md 4.3 and 4.4). A payload is
// read by its members, because event names are only a hint and builds of the upstream put members in different places.

import { isJsonObject } from '../../../normalized/index.ts'
import { hasOnlyMembers } from '../../../performance/repeated-frame.ts'
import type { ResponseReader } from '../../provider-face.ts'
import { findFirstChoice, hasReadableChoice, readChoiceContent, readPlainChoice } from '../choices.ts'
import { NativeReader, type PayloadReader } from '../reader.ts'
import type { NativeReaderOptions } from '../reading.ts'
import { findStateId, type NativeResponseState, type Payload } from '../response-state.ts'
import { readUsage } from '../usage.ts'
import { SeenText } from './seen-text.ts'

/** Creates the reader of one v2 response; streams and whole responses give the same events. */
export function createNativeV2Reader(dependencies: NativeReaderOptions): ResponseReader {
  return new NativeReader(dependencies, 'v2', new V2PayloadReader())
}

const DONE_EVENT = 'response.message.done'

class V2PayloadReader implements PayloadReader {
  readonly #text = new SeenText()
  readonly #reasoning = new SeenText()
  /** True while an event is read whose text, or reasoning, repeats that of all earlier events. */
  #repeatsText = false
  #repeatsReasoning = false

  isReadable(payload: Payload): boolean {
    return (
      (Array.isArray(payload.messages) && payload.messages.some(isJsonObject)) ||
      hasReadableChoice(payload) ||
      isWord(payload.finish_reason) ||
      isJsonObject(payload.usage) ||
      isJsonObject(payload.tool_execution)
    )
  }

  readWhole(payload: Payload, state: NativeResponseState): boolean {
    if (!Array.isArray(payload.messages) && !Array.isArray(payload.choices)) return false
    this.#read(payload, state)
    return true
  }

  readEvent(payload: Payload, name: string, state: NativeResponseState): void {
    const isDone = name === DONE_EVENT || isWord(payload.finish_reason)
    state.calls.beginFrame(isDone)
    if (isDone) this.#findRepetition(payload)
    this.#read(payload, state)
  }

  readPlainText(payload: Payload): string | undefined {
    return payload.choices === undefined ? readPlainText(payload) : readPlainChoice(payload)
  }

  takePlainText(text: string, state: NativeResponseState): void {
    this.#text.add(text)
    state.text(text)
  }

  isTerminal(name: string): boolean {
    return name === DONE_EVENT
  }

  /**
   * The last event may repeat the text of the earlier ones; any other text is more text
   * (decisions.md 61).
   */
  #findRepetition(payload: Payload): void {
    let text = ''
    let reasoning = ''
    for (const message of listMessages(payload)) {
      const role = readRole(message)
      if (typeof message.reasoning_content === 'string') reasoning += message.reasoning_content
      if (role === 'assistant') text += joinText(message)
      else if (role === 'reasoning') reasoning += joinText(message)
    }
    this.#repeatsText = this.#text.isRepeatedBy(text)
    this.#repeatsReasoning = this.#reasoning.isRepeatedBy(reasoning)
  }

  #read(payload: Payload, state: NativeResponseState): void {
    if (payload.additional_data !== undefined) state.hosted.readSteps(payload.additional_data)
    if (payload.tool_execution !== undefined) state.hosted.report(payload.tool_execution)
    const messages = listMessages(payload)
    for (const message of messages) readResults(message, state)
    for (const message of messages) this.#readMessage(message, state)
    const stateId = findStateId(payload)
    if (stateId !== undefined) state.noteStateId(stateId, { role: 'assistant', holdsCalls: false })
    state.finishWord(payload.finish_reason)
    if (payload.usage !== undefined) state.usage(readUsage(payload.usage))
  }

  #readMessage(message: Payload, state: NativeResponseState): void {
    const role = readRole(message)
    state.noteMessageId(message.message_id)
    if (message.tool_execution !== undefined) state.hosted.report(message.tool_execution)
    state.inlineData(message.inline_data)
    this.#readReasoning(message.reasoning_content, state)
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
    if (message.files !== undefined) state.files(message.files)
    if (message.function_call !== undefined) {
      state.functionCall(message.function_call, message, stateId)
      hasCall ||= isJsonObject(message.function_call)
    }
    if (Array.isArray(message.tool_calls)) {
      for (const call of message.tool_calls) if (isJsonObject(call)) state.functionCall(call.function, call, stateId)
    }
    if (stateId !== undefined) state.noteStateId(stateId, { role, holdsCalls: hasCall })
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
    // Text of other roles is exchanged between the upstream and its tools, not with the client.
    if (role === 'reasoning') this.#readReasoning(text, state)
    else if (role === 'assistant' && typeof text === 'string' && !this.#repeatsText) {
      this.#text.add(text)
      state.text(text)
    }
  }

  #readReasoning(text: unknown, state: NativeResponseState): void {
    if (typeof text !== 'string' || this.#repeatsReasoning) return
    this.#reasoning.add(text)
    state.reasoning(text)
  }
}

/** The messages of a payload; a choice in the form of chat completions is one message. */
function listMessages(payload: Payload): Payload[] {
  if (Array.isArray(payload.messages)) return payload.messages.filter(isJsonObject)
  const choice = findFirstChoice(payload)
  if (choice === undefined) return []
  const { finish_reason: word } = choice
  const content = readChoiceContent(choice, 'delta')
  return [word === undefined ? (content ?? {}) : { ...content, finish_reason: word }]
}

/** Reads the results of functions that the upstream has run itself. */
function readResults(message: Payload, state: NativeResponseState): void {
  const { content } = message
  if (!Array.isArray(content)) return
  for (const part of content) {
    const result: unknown = isJsonObject(part) ? part.function_result : undefined
    if (result !== undefined) state.functionResult(result, findStateId(message))
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

/** All text of a message. */
function joinText({ content }: Payload): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const part of Array.isArray(content) ? content : []) {
    if (isJsonObject(part) && typeof part.text === 'string') text += part.text
  }
  return text
}
