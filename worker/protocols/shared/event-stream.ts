// The streamed half of a response reader, the same on every wire whose events carry one piece of text each: bytes become events, and an
// event that repeats the one before in all but its text is not parsed. What an event means is the wire's own.

import { type EventAssembler, FRAME_CHARACTERS, type NormalizedEvent } from '../../normalized/index.ts'
import { RepeatedFrame } from '../../performance/repeated-frame.ts'
import { createSseParser, type SseParser } from './sse.ts'
import { type ReadingState, takeEvents } from './take-events.ts'

/** Largest event of a stream of an external provider (bridge.md 8.3). */
export const EXTERNAL_FRAME_CHARACTERS_MAX = 1024 * 1024

/** A longer event is no model for the events of a token each. */
const LEARNED_CHARACTERS_MAX = 16_384

export interface StreamedState extends ReadingState {
  readonly assembler: EventAssembler
}

/** What the events of one wire mean. */
export interface StreamedWire {
  readonly frameCharactersMax: number
  /** Reads an event with data. Returns its payload if later events may repeat it with another text. */
  readEvent(data: string, name: string): Record<string, unknown> | undefined
  /** The text of a payload that adds only text to the response; undefined for any other payload. */
  readPlainText(payload: Record<string, unknown>): string | undefined
  /** Called with a payload whose repetitions from now on are given to `takePlainText`. */
  onLearned?(payload: Record<string, unknown>): void
  /** Adds the text of an event that repeats the learned one. */
  takePlainText(text: string): void
  /** Called after the events of one read. */
  endRead?(): void
  /** Called after the last event of the stream, also when the response is over. */
  endStream(): void
}

/** One per streamed response. */
export class EventStream {
  readonly #state: StreamedState
  readonly #wire: StreamedWire
  readonly #parser: SseParser
  #repeated: RepeatedFrame | undefined

  constructor(state: StreamedState, wire: StreamedWire) {
    this.#state = state
    this.#wire = wire
    const takeText = (text: string) => this.#takeText(text)
    this.#parser = createSseParser({
      onEvent: (data, name) => this.#readEvent(data, name),
      readRun: (text, position) => this.#repeated?.readRun(text, position, takeText) ?? position,
      frameCharactersMax: wire.frameCharactersMax
    })
  }

  /** Reads the bytes of one read; returns the events that they make. */
  push(bytes: Uint8Array): NormalizedEvent[] {
    return takeEvents(this.#state, () => {
      this.#parser.push(bytes)
      this.#wire.endRead?.()
    })
  }

  /** Ends the stream; returns the last events. */
  end(): NormalizedEvent[] {
    return takeEvents(this.#state, () => {
      this.#parser.end()
      this.#wire.endStream()
    })
  }

  #takeText(text: string): boolean {
    const state = this.#state
    if (state.isOver) return false
    state.assembler.keep(FRAME_CHARACTERS)
    this.#wire.takePlainText(text)
    return true
  }

  #readEvent(data: string, name: string): void {
    const state = this.#state
    if (state.isOver || data === '') return
    const text = this.#repeated?.match(data, name)
    if (text !== undefined) {
      this.#takeText(text)
      return
    }
    state.assembler.keep(FRAME_CHARACTERS)
    const wire = this.#wire
    const payload = wire.readEvent(data, name)
    if (payload === undefined || data.length > LEARNED_CHARACTERS_MAX) return
    this.#repeated ??= new RepeatedFrame(frame => wire.readPlainText(frame))
    if (this.#repeated.learn(data, name, payload)) wire.onLearned?.(payload)
  }
}
