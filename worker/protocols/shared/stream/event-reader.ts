// The streamed half of a response reader, the same on every wire whose events carry one piece of text each: bytes become events, and an
// event that repeats the one before in all but its text is not parsed. What an event means is the wire's own.

import { type EventAssembler, FRAME_CHARACTERS, type NormalizedEvent } from '../../../normalized/index.ts'
import { RepeatedFrame } from '../../../performance/repeated-frame.ts'
import { createSseParser, type SseParser } from './sse.ts'
import { type ReadingState, takeEvents } from './take-events.ts'

/** A longer event is no model for the events of a token each. */
const LEARNED_CHARACTERS_MAX = 16_384

export interface StreamedState extends ReadingState {
  readonly assembler: EventAssembler
}

/** One per response. A wire extends it with what its events mean. */
export abstract class EventReader {
  readonly #state: StreamedState
  readonly #frameCharactersMax: number
  /** Created for streams only: the parser's decoder alone costs as much as reading a small whole response. */
  #openedParser: SseParser | undefined
  #repeated: RepeatedFrame | undefined

  constructor(state: StreamedState, frameCharactersMax: number) {
    this.#state = state
    this.#frameCharactersMax = frameCharactersMax
  }

  /** Reads an event with data. Returns its payload if later events may repeat it with another text. */
  protected abstract readEvent(data: string, name: string): Record<string, unknown> | undefined
  /** The text of a payload that adds only text to the response; undefined for any other payload. */
  protected abstract readPlainText(payload: Record<string, unknown>): string | undefined
  /** Adds the text of an event that repeats the learned one. */
  protected abstract takePlainText(text: string): void
  /** Called after the last event of the stream, also when the response is over. */
  protected abstract endStream(): void
  /** Called with a payload whose repetitions from now on are given to `takePlainText`. */
  protected onLearned?(payload: Record<string, unknown>): void
  /** Called after the events of one read. */
  protected endRead?(): void

  push(bytes: Uint8Array): NormalizedEvent[] {
    return takeEvents(this.#state, () => {
      this.#parser.push(bytes)
      this.endRead?.()
    })
  }

  end(): NormalizedEvent[] {
    return takeEvents(this.#state, () => {
      this.#parser.end()
      this.endStream()
    })
  }

  get #parser(): SseParser {
    if (this.#openedParser !== undefined) return this.#openedParser
    const takeText = (text: string) => this.#takeText(text)
    this.#openedParser = createSseParser({
      onEvent: (data, name) => this.#readEvent(data, name),
      readRun: (text, position) => this.#repeated?.readRun(text, position, takeText) ?? position,
      frameCharactersMax: this.#frameCharactersMax
    })
    return this.#openedParser
  }

  #takeText(text: string): boolean {
    const state = this.#state
    if (state.isOver) return false
    state.assembler.keep(FRAME_CHARACTERS)
    this.takePlainText(text)
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
    const payload = this.readEvent(data, name)
    if (payload === undefined || data.length > LEARNED_CHARACTERS_MAX) return
    this.#repeated ??= new RepeatedFrame(frame => this.readPlainText(frame))
    if (this.#repeated.learn(data, name, payload)) this.onLearned?.(payload)
  }
}
