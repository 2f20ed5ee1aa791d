// Reads whole and streamed responses of the Anthropic Messages wire (messages.md 7). It is strict about an order of frames that a client
// could misread, each fault with its detailed id for the log (bridge.md 8.7), and accepts what servers of this wire leave out.

import {
  type GatewayError,
  isJsonObject,
  isTextTooDeep,
  type JsonObject,
  keepExactIntegers,
  type NormalizedEvent
} from '../../../normalized/index.ts'
import type { ReaderDependencies, ResponseHead, ResponseReader } from '../../provider-face.ts'
import { readExternalErrorEvent } from '../../shared/errors/external-error.ts'
import {
  type Payload,
  parseEventObject,
  parseJson,
  parseWholeObject,
  protocolError
} from '../../shared/external-payload.ts'
import { EventReader } from '../../shared/stream/event-reader.ts'
import { EXTERNAL_FRAME_CHARACTERS_MAX } from '../../shared/stream/sse.ts'
import { takeWholeEvents } from '../../shared/stream/take-events.ts'
import type { MessagesCompatibleReading } from './reading.ts'
import { ResponseState } from './response-state.ts'

/** Some servers end their stream with the marker of another wire. */
const FOREIGN_END_MARKER = '[DONE]'

/** Creates the reader of one response; streams and whole responses give the same events. */
export function createReader(
  reading: MessagesCompatibleReading,
  _head: ResponseHead,
  dependencies: ReaderDependencies
): ResponseReader {
  return new MessagesReader(new ResponseState({ ...dependencies, reading }))
}

class MessagesReader extends EventReader implements ResponseReader {
  readonly #state: ResponseState
  /** The index of the block whose frames are learned. */
  #repeatedIndex = 0
  #isDone = false

  constructor(state: ResponseState) {
    super(state, EXTERNAL_FRAME_CHARACTERS_MAX)
    this.#state = state
  }

  readBody(bytes: Uint8Array): NormalizedEvent[] {
    const { text, payload: message } = parseWholeObject(bytes)
    const state = this.#state
    state.assembler.expectWhole()
    state.begin(message)
    readWhole(message, text, state)
    state.finish()
    return takeWholeEvents(state)
  }

  protected override readPlainText(payload: Payload): string | undefined {
    return readPlainText(payload)
  }

  protected override takePlainText(text: string): void {
    this.#assertOpen()
    this.#state.addDelta(this.#repeatedIndex, { type: 'text_delta', text })
  }

  protected override onLearned(payload: Payload): void {
    this.#repeatedIndex = readIndex(payload)
  }

  protected override readEvent(data: string, name: string): Payload | undefined {
    if (data.length <= FOREIGN_END_MARKER.length && data === FOREIGN_END_MARKER) return undefined
    // An event of this name is an error with any data (decisions.md 82).
    if (name === 'error') throw readNamedError(data)
    const payload = parseEventObject(data)
    // Some servers leave the names of the events out, and some the type in their data.
    const type = typeof payload.type === 'string' ? payload.type : name
    if (type === 'error' || isJsonObject(payload.error)) throw readExternalErrorEvent(payload)
    this.#readFrame(type, payload, data)
    return type === 'content_block_delta' ? payload : undefined
  }

  protected override endRead(): void {
    // Only now: the read may hold data after the last event, which makes the stream unusable.
    if (this.#isDone) this.#finish()
  }

  protected override endStream(): void {
    if (!this.#isDone && this.#state.hasStopReason) this.#state.report('end_marker_missing', {})
    this.#finish()
  }

  #readFrame(type: string, payload: JsonObject, data: string): void {
    const state = this.#state
    if (type === 'ping') return
    if (this.#isDone) throw protocolError('stream_data_after_done')
    switch (type) {
      case 'message_start':
        if (state.assembler.hasStarted) throw protocolError('duplicate_stream_start')
        state.begin(readObject(payload.message, 'invalid_stream_chunk'), true)
        return
      case 'content_block_start': {
        this.#assertOpen()
        const block = readObject(payload.content_block, 'invalid_stream_block')
        const digits = () => readObject(keepExactIntegers(data, payload).content_block, 'invalid_stream_block')
        state.startBlock(readIndex(payload), block, digits)
        return
      }
      case 'content_block_delta':
        this.#assertOpen()
        state.addDelta(readIndex(payload), readObject(payload.delta, 'invalid_stream_delta'))
        return
      case 'content_block_stop':
        this.#assertStarted()
        state.stopBlock(readIndex(payload))
        return
      case 'message_delta':
        this.#readEnd(payload)
        return
      case 'message_stop':
        this.#assertStarted()
        this.#isDone = true
        return
      default:
        state.ignoreEvent(type)
    }
  }

  #readEnd({ delta, usage }: JsonObject): void {
    const state = this.#state
    this.#assertStarted()
    state.usage(usage)
    if (delta === undefined || delta === null) return
    const { stop_reason: reason, stop_sequence: stopSequence } = readObject(delta, 'invalid_stream_delta')
    if (reason === undefined || reason === null || reason === '') return
    if (typeof reason !== 'string') throw protocolError('invalid_finish_reason')
    state.stop(reason, stopSequence)
  }

  #assertStarted(): void {
    if (!this.#state.assembler.hasStarted) throw protocolError('stream_data_before_start')
  }

  /** Content must come before the stop reason: the client may have acted on it. */
  #assertOpen(): void {
    this.#assertStarted()
    if (this.#isDone) throw protocolError('stream_data_after_done')
    if (this.#state.hasStopReason) throw protocolError('stream_data_after_terminal')
  }

  #finish(): void {
    const state = this.#state
    if (state.isOver) return
    // Some servers end a stream without a stop reason (field-lessons.md A11); a stream without both
    // may have been cut off.
    const isComplete = state.hasStopReason || (this.#isDone && state.mayEndWithoutReason)
    if (!isComplete) throw protocolError('incomplete_stream')
    state.finish()
  }
}

/** Reads a whole response. Raises `provider_protocol_error` with the detailed id of a malformed member. */
function readWhole(message: JsonObject, text: string, state: ResponseState): void {
  const { content, stop_reason: reason, stop_sequence: stopSequence } = message
  if (!Array.isArray(content)) throw protocolError('invalid_message_content')
  /** Read once, for the first call with arguments. */
  let exact: JsonObject | undefined
  for (const [index, block] of content.entries()) {
    state.startBlock(index, readObject(block, 'invalid_message_content'), () => {
      exact ??= keepExactIntegers(text, message)
      return readObject(Array.isArray(exact.content) ? exact.content[index] : undefined, 'invalid_message_content')
    })
    state.stopBlock(index)
  }
  // Some servers leave the reason out where the message has calls.
  const isMissing = reason === undefined || reason === null || reason === ''
  if (isMissing && state.assembler.toolCallCount > 0) return
  if (typeof reason !== 'string' || isMissing) throw protocolError('invalid_finish_reason')
  state.stop(reason, stopSequence)
}

/** Reads the data of an event that its name marks as an error: a payload of any form, or a text. */
function readNamedError(data: string): GatewayError {
  const payload = parseJson(data)
  const isUsable = isJsonObject(payload) && !isTextTooDeep(data, payload)
  return readExternalErrorEvent(isUsable ? payload : { message: data })
}

function readObject(value: unknown, fault: string): JsonObject {
  if (!isJsonObject(value)) throw protocolError(fault)
  return value
}

function readIndex({ index }: Payload): number {
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0)
    throw protocolError('invalid_stream_block')
  return index
}

/** The text of a frame that adds only text to the response; undefined for any other frame. */
function readPlainText({ type, delta, error }: Payload): string | undefined {
  if (type !== 'content_block_delta' || isJsonObject(error) || !isJsonObject(delta)) return undefined
  return delta.type === 'text_delta' && typeof delta.text === 'string' ? delta.text : undefined
}
