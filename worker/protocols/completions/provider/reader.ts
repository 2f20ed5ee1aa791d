// Reads whole and streamed responses of the chat completions wire. It is strict about shapes that a client could misread, each with its
// detailed id for the log (bridge.md 8.7), and accepts the dialects of servers that mean the same.

import { isJsonObject, type JsonObject, type NormalizedEvent } from '../../../normalized/index.ts'
import type { ReaderDependencies, ResponseHead, ResponseReader } from '../../provider-face.ts'
import { readExternalErrorEvent } from '../../shared/errors/external-error.ts'
import { type Payload, parseEventObject, parseWholeObject, protocolError } from '../../shared/external-payload.ts'
import { EventReader } from '../../shared/stream/event-reader.ts'
import { EXTERNAL_FRAME_CHARACTERS_MAX } from '../../shared/stream/sse.ts'
import { takeWholeEvents } from '../../shared/stream/take-events.ts'
import { mayCite } from './citations.ts'
import type { ChatCompatibleReading } from './reading.ts'
import { ResponseState, readLegacyCall, readList, readPiece } from './response-state.ts'

const END_MARKER = '[DONE]'
/** Some servers send blanks around the marker. */
const END_MARKER_CHARACTERS_MAX = 16
const ERROR_EVENT = 'error'

/** Creates the reader of one response; streams and whole responses give the same events. */
export function createReader(
  reading: ChatCompatibleReading,
  _head: ResponseHead,
  dependencies: ReaderDependencies
): ResponseReader {
  return new ChatReader(new ResponseState({ ...dependencies, reading }))
}

class ChatReader extends EventReader implements ResponseReader {
  readonly #state: ResponseState
  #isDone = false
  /** The chunk with the usage of the whole response has come, after the finish reason. */
  #isUsageSeen = false

  constructor(state: ResponseState) {
    super(state, EXTERNAL_FRAME_CHARACTERS_MAX)
    this.#state = state
  }

  readBody(bytes: Uint8Array): NormalizedEvent[] {
    return this.#readPayload(parseWholeObject(bytes))
  }

  #readPayload({ payload, text }: { payload: JsonObject; text: string }): NormalizedEvent[] {
    const state = this.#state
    state.assembler.expectWhole()
    state.begin(payload, text)
    readWhole(payload, state)
    state.finish()
    return takeWholeEvents(state)
  }

  protected override readEvent(data: string, name: string): Payload | undefined {
    if (data.length <= END_MARKER_CHARACTERS_MAX && data.trim() === END_MARKER) {
      if (this.#isDone) throw protocolError('duplicate_stream_done')
      this.#isDone = true
      return undefined
    }
    if (this.#isDone) throw protocolError('stream_data_after_done')
    const payload = parseEventObject(data)
    if (name === ERROR_EVENT) throw readExternalErrorEvent(payload)
    this.#readChunk(payload, data)
    return payload
  }

  protected override readPlainText(payload: Payload): string | undefined {
    return readPlainText(payload)
  }

  protected override takePlainText(text: string): void {
    if (text === '') return
    this.#assertOpen()
    this.#state.text(text)
  }

  protected override endRead(): void {
    // Only now: the read may hold data after the marker, which makes the stream unusable.
    if (this.#isDone) this.#finish()
  }

  protected override endStream(): void {
    if (!this.#isDone && this.#state.hasFinishWord) this.#state.report('end_marker_missing', {})
    this.#finish()
  }

  #readChunk(payload: JsonObject, json: string): void {
    const state = this.#state
    state.begin(payload, json)
    const { choices } = payload
    const usage = findUsage(payload)
    state.usage(usage)
    // Chunks without choices hold the usage, or a report of a filter (field-lessons.md A1).
    const isUsage = isJsonObject(usage)
    const isEmpty = choices === undefined || choices === null ? isUsage : Array.isArray(choices) && choices.length === 0
    if (isEmpty) {
      if (isUsage && state.hasFinishWord) this.#isUsageSeen = true
      return
    }
    if (!Array.isArray(choices)) throw protocolError('invalid_stream_choices')
    for (const choice of choices) {
      if (!isJsonObject(choice)) throw protocolError('invalid_stream_choice')
      const index = choice.index ?? 0
      if (!Number.isSafeInteger(index) || (index as number) < 0) throw protocolError('invalid_stream_choice')
      // The gateway asks for one choice.
      if (index === 0) this.#readChoice(choice, isUsage)
      else state.furtherChoice()
    }
  }

  #readChoice(choice: JsonObject, isWithUsage: boolean): void {
    const state = this.#state
    const delta = choice.delta ?? undefined
    if (delta !== undefined && !isJsonObject(delta)) throw protocolError('invalid_stream_delta')
    if (delta !== undefined) this.#readDelta(delta)
    const reason = choice.finish_reason ?? ''
    // Some servers send '' until the end (field-lessons.md A10).
    if (reason === '') return
    if (typeof reason !== 'string') throw protocolError('invalid_finish_reason')
    if (state.hasFinishWord) {
      // Some servers repeat the last chunk with the usage.
      if (isWithUsage && reason === state.finishWord) return
      throw protocolError('duplicate_stream_terminal')
    }
    state.finishReason(reason, choice)
  }

  #readDelta(delta: JsonObject): void {
    const state = this.#state
    if (hasReasoning(delta)) {
      this.#assertOpen()
      state.reasoning(delta)
    }
    if (typeof delta.content === 'string') this.takePlainText(delta.content)
    else if (isPresent(delta.content)) {
      this.#assertOpen()
      state.content(delta.content, 'invalid_stream_content')
    }
    const refusal = readPiece(delta.refusal, 'invalid_stream_content')
    if (refusal !== '') {
      this.#assertOpen()
      state.refusal(refusal)
    }
    if (mayCite(delta)) state.cite(delta)
    const calls = readList(delta.tool_calls, 'invalid_stream_tool_calls')
    if (calls.length > 0) {
      this.#assertOpen()
      state.beginCalls().readDeltas(calls)
      return
    }
    // A message with both forms repeats the same call.
    const legacy = readLegacyCall(delta.function_call, 'invalid_stream_tool_call')
    if (legacy === undefined) return
    this.#assertOpen()
    state.beginCalls().readLegacyDelta(legacy)
  }

  /** Content must come before the finish reason: the client may have acted on it. */
  #assertOpen(): void {
    if (this.#isDone) throw protocolError('stream_data_after_done')
    if (!this.#state.hasFinishWord) return
    throw protocolError(this.#isUsageSeen ? 'stream_data_after_usage' : 'stream_data_after_terminal')
  }

  #finish(): void {
    const state = this.#state
    if (state.isOver) return
    // Some servers send the end marker without a finish reason (field-lessons.md A11); a stream
    // without both may have been cut off.
    if (!state.hasFinishWord && !(this.#isDone && state.mayEndWithoutReason())) throw protocolError('incomplete_stream')
    state.finish()
  }
}

/** Reads a whole response. Raises `provider_protocol_error` with the detailed id of a malformed member. */
function readWhole(payload: JsonObject, state: ResponseState): void {
  const { choices } = payload
  if (!Array.isArray(choices) || choices.length === 0) throw protocolError('invalid_choices')
  const choice: unknown = choices.find(entry => isJsonObject(entry) && entry.index === 0) ?? choices[0]
  if (!isJsonObject(choice)) throw protocolError('invalid_choice')
  if (choices.length > 1) state.furtherChoice()
  const { message } = choice
  if (!isJsonObject(message)) throw protocolError('invalid_message')
  if (hasReasoning(message)) state.reasoning(message)
  state.content(message.content, 'invalid_message_content')
  state.refusal(readPiece(message.refusal, 'invalid_message_content'))
  if (mayCite(message)) state.cite(message)
  const calls = readList(message.tool_calls, 'invalid_tool_call')
  const legacy = readLegacyCall(message.function_call, 'invalid_tool_call')
  if (calls.length > 0) state.beginCalls().readWhole(calls)
  else if (legacy !== undefined) state.beginCalls().readWholeLegacy(legacy)
  const reason = choice.finish_reason ?? ''
  if (typeof reason !== 'string') throw protocolError('invalid_finish_reason')
  // Some servers leave the reason out: the response is whole all the same.
  if (reason !== '') state.finishReason(reason, choice)
  state.usage(findUsage(payload))
}

/** The counts of a payload: at the top level, in the choice, or in a member of the service. */
function findUsage({ usage, choices, x_groq: service }: Payload): unknown {
  if (isPresent(usage)) return usage
  if (isJsonObject(service) && isPresent(service.usage)) return service.usage
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  return isJsonObject(choice) ? choice.usage : undefined
}

function hasReasoning({ reasoning_content: content, reasoning, reasoning_details: details }: Payload): boolean {
  return isPresent(content) || isPresent(reasoning) || isPresent(details)
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

/** Members of a chunk and of its delta that add something to the response besides text. */
const DELTA_MEMBERS = ['refusal', 'reasoning_content', 'reasoning', 'reasoning_details', 'tool_calls', 'function_call']

/** The text of a chunk that adds only text to the response; undefined for any other chunk. */
function readPlainText(payload: Payload): string | undefined {
  const { choices, error, message } = payload
  if (isPresent(findUsage(payload)) || isPresent(error) || isPresent(message) || mayCite(payload)) return undefined
  if (!Array.isArray(choices) || choices.length !== 1) return undefined
  const [choice] = choices
  if (!isJsonObject(choice) || (choice.index ?? 0) !== 0 || isPresent(choice.finish_reason)) return undefined
  const { delta } = choice
  if (!isJsonObject(delta) || mayCite(delta)) return undefined
  if (DELTA_MEMBERS.some(member => isPresent(delta[member]))) return undefined
  return typeof delta.content === 'string' ? delta.content : undefined
}
