// The outer half of both readers: bytes to payloads, and every way in which an answer can end too early.

import { GatewayError, isJsonObject, type NormalizedEvent } from '../../normalized/index.ts'
import { RepeatedFrame } from '../../performance/repeated-frame.ts'
import type { ResponseReader } from '../face.ts'
import { createSseParser, type SseParser } from '../shared/sse.ts'
import { mapErrorEvent } from './errors.ts'
import type { NativeReaderOptions } from './reading.ts'
import { NativeResponseState, type Payload } from './response-state.ts'

/** What a contract does with a payload. */
export interface PayloadReader {
  /** Reads the whole answer. False when the payload is none. */
  readWhole(payload: Payload, answer: NativeResponseState): boolean
  /** Reads one event of a stream. `name` is its event name, '' without one. */
  readEvent(payload: Payload, name: string, answer: NativeResponseState): void
  /** The text of a payload that holds text of the answer and nothing else that matters; undefined for any other. */
  readPlainText(payload: Payload): string | undefined
  /** Takes the text of such a payload. */
  takePlainText(text: string, answer: NativeResponseState): void
  /** True for an event that the contract calls the last one, even if nothing in it says why the answer ended. */
  isTerminal(name: string): boolean
}

const END_MARKER = '[DONE]'
const ERROR_EVENT = 'response.error'

/** One per answer: it keeps the state of its stream. */
export class NativeReader implements ResponseReader {
  readonly #answer: NativeResponseState
  readonly #payloads: PayloadReader
  /** Only streams need these two: the parser's decoder alone costs as much as the reading of a small whole answer. */
  #openedParser: SseParser | undefined
  #repeated: RepeatedFrame | undefined
  /** The upstream itself said that nothing more comes. */
  #isTerminatorSeen = false

  constructor(dependencies: NativeReaderOptions, contract: 'v1' | 'v2', payloads: PayloadReader) {
    this.#answer = new NativeResponseState({ dependencies, contract })
    this.#payloads = payloads
  }

  readBody(bytes: Uint8Array): NormalizedEvent[] {
    const answer = this.#answer
    const payload = parsePayload(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
    if (payload === undefined) answer.failProtocol('the answer is no JSON object')
    else if (answer.begin(payload)) {
      answer.calls.beginFrame(true)
      if (this.#payloads.readWhole(payload, answer)) answer.finish()
      else answer.failProtocol('the answer has no content')
    }
    const events = answer.assembler.take()
    const last = events.at(-1)
    if (last?.type === 'error') throw last.error
    return events
  }

  push(bytes: Uint8Array): NormalizedEvent[] {
    return this.#guard(() => this.#parser.push(bytes))
  }

  end(): NormalizedEvent[] {
    return this.#guard(() => {
      this.#parser.end()
      if (!this.#answer.isOver) this.#end()
    })
  }

  get #parser(): SseParser {
    this.#openedParser ??= createSseParser({ onEvent: (data, name) => this.#readEvent(data, name) })
    return this.#openedParser
  }

  #readEvent(data: string, name: string): void {
    const answer = this.#answer
    const payloads = this.#payloads
    if (answer.isOver || data === '') return
    const text = this.#repeated?.match(data, name)
    if (text !== undefined) {
      payloads.takePlainText(text, answer)
      return
    }
    if (data === END_MARKER) {
      this.#isTerminatorSeen = true
      this.#end()
      return
    }
    const payload = parsePayload(data)
    if (payload === undefined) answer.failProtocol('a frame of the stream is no JSON object')
    else if (name === ERROR_EVENT) answer.fail(mapErrorEvent(payload))
    else if (answer.begin(payload)) {
      payloads.readEvent(payload, name, answer)
      if (!payloads.isTerminal(name)) {
        this.#repeated ??= new RepeatedFrame(frame => payloads.readPlainText(frame))
        this.#repeated.learn(data, name, payload)
        return
      }
      this.#isTerminatorSeen = true
      // Without a reason more may follow: then the end of the bytes is the end.
      if (answer.hasFinishWord) answer.finish()
    }
  }

  #end(): void {
    const answer = this.#answer
    const isComplete = answer.hasFinishWord || (this.#isTerminatorSeen && answer.assembler.hasStarted)
    if (isComplete) answer.finish()
    else answer.failProtocol('the stream ended before the answer did')
  }

  #guard(read: () => void): NormalizedEvent[] {
    const answer = this.#answer
    if (answer.isOver) return []
    try {
      read()
    } catch (thrown) {
      if (!GatewayError.is(thrown)) throw thrown
      answer.fail(thrown)
    }
    return answer.assembler.take()
  }
}

function parsePayload(text: string): Payload | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
