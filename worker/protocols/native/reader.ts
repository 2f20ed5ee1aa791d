// The reader that both contracts share: parses bytes into payloads and detects a response that ends too early.

import { asBuffer } from '../../../shared/bytes.ts'
import {
  isJsonObject,
  isTextTooDeep,
  type JsonObject,
  keepExactIntegers,
  type NormalizedEvent
} from '../../normalized/index.ts'
import type { ResponseReader } from '../provider-face.ts'
import { EventReader } from '../shared/stream/event-reader.ts'
import { SSE_FRAME_CHARACTERS_MAX } from '../shared/stream/sse.ts'
import { takeWholeEvents } from '../shared/stream/take-events.ts'
import { mapErrorEvent } from './errors.ts'
import type { NativeReaderOptions } from './reading.ts'
import { NativeResponseState, type Payload } from './response-state.ts'

/** How a contract reads a payload. */
export interface PayloadReader {
  /**
   * False for a payload without message, finish reason and usage: alone it is no response
   * (decisions.md 61).
   */
  isReadable(payload: Payload): boolean
  /** Reads the payload of a whole response. False when it has no content. */
  readWhole(payload: Payload, state: NativeResponseState): boolean
  /** Reads one event of a stream. `name` is its event name, '' without one. */
  readEvent(payload: Payload, name: string, state: NativeResponseState): void
  /** The text of a payload that adds only text to the response; undefined for any other payload. */
  readPlainText(payload: Payload): string | undefined
  /** Adds the text that `readPlainText` found. */
  takePlainText(text: string, state: NativeResponseState): void
  /** True for the name of the contract's last event, which may come without a finish reason. */
  isTerminal(name: string): boolean
}

const END_MARKER = '[DONE]'
const ERROR_EVENT = 'response.error'

/** One per response: it keeps the state of the stream. */
export class NativeReader extends EventReader implements ResponseReader {
  readonly #state: NativeResponseState
  readonly #payloads: PayloadReader
  /** The upstream has sent its end marker or its last event. */
  #isTerminatorSeen = false

  constructor(dependencies: NativeReaderOptions, contract: 'v1' | 'v2', payloads: PayloadReader) {
    const state = new NativeResponseState({ dependencies, contract })
    super(state, SSE_FRAME_CHARACTERS_MAX)
    this.#state = state
    this.#payloads = payloads
  }

  readBody(bytes: Uint8Array): NormalizedEvent[] {
    const state = this.#state
    state.assembler.expectWhole()
    const text = asBuffer(bytes).toString('utf8')
    const payload = this.#parse(text, 'the answer')
    const isReadable = payload !== undefined && this.#payloads.isReadable(payload)
    if (payload !== undefined && state.begin(payload, isReadable)) {
      state.calls.beginFrame(true)
      if (isReadable && this.#payloads.readWhole(payload, state)) state.finish()
      else state.failProtocol('the answer has no content')
    }
    return takeWholeEvents(state)
  }

  protected override readPlainText(payload: Payload): string | undefined {
    return this.#payloads.readPlainText(payload)
  }

  protected override takePlainText(text: string): void {
    this.#payloads.takePlainText(text, this.#state)
  }

  protected override readEvent(data: string, name: string): Payload | undefined {
    const state = this.#state
    const payloads = this.#payloads
    if (data === END_MARKER) {
      this.#isTerminatorSeen = true
      this.#end()
      return undefined
    }
    const payload = this.#parse(data, 'a frame of the stream')
    if (payload === undefined) return undefined
    if (name === ERROR_EVENT) {
      state.fail(mapErrorEvent(payload))
      return undefined
    }
    if (!state.begin(payload, state.assembler.hasStarted || payloads.isReadable(payload))) return undefined
    if (state.assembler.hasStarted) payloads.readEvent(payload, name, state)
    if (!payloads.isTerminal(name)) return payload
    this.#isTerminatorSeen = true
    // Without a finish reason further events may follow, so the response ends with its bytes.
    if (state.hasFinishWord) state.finish()
    return undefined
  }

  protected override endStream(): void {
    if (!this.#state.isOver) this.#end()
  }

  /** Ends the response when the text is no object, or one that nests deeper than the gateway's own recursion may follow. */
  #parse(text: string, part: string): Payload | undefined {
    const payload = parseObject(text)
    if (payload === undefined) this.#state.failProtocol(`${part} is no JSON object`)
    else if (isTextTooDeep(text, payload as JsonObject)) this.#state.failProtocol(`${part} is nested too deeply`)
    else return payload
    return undefined
  }

  #end(): void {
    const state = this.#state
    const isComplete = state.hasFinishWord || (this.#isTerminatorSeen && state.assembler.hasStarted)
    if (isComplete) state.finish()
    else state.failProtocol('the stream ended before the answer did')
  }
}

/** A member with the arguments of a call: a quote within a text is escaped. */
const ARGUMENTS = '"arguments"'

/** Parses a payload. One with a call may contain raw JSON, because the digits of arguments must not change. */
function parseObject(text: string): Payload | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isJsonObject(value)) return undefined
    return text.includes(ARGUMENTS) ? keepExactIntegers(text, value) : value
  } catch {
    return undefined
  }
}
