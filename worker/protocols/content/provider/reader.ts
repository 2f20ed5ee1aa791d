// Reads whole and streamed responses of the content wire: every chunk of a stream is a response with a piece of the content. It is strict
// about shapes that a client could misread, each with its detailed id for the log (bridge.md 8.7).

import { asBuffer } from '../../../../shared/bytes.ts'
import {
  FRAME_CHARACTERS,
  isJsonObject,
  isTextTooDeep,
  JsonNesting,
  type JsonObject,
  type JsonValue,
  keepExactIntegers,
  type NormalizedEvent
} from '../../../normalized/index.ts'
import type { ReaderDependencies, ResponseHead, ResponseReader } from '../../provider-face.ts'
import { type Payload, parseEventData, parseJson, protocolError } from '../../shared/external-payload.ts'
import { createSseParser, EXTERNAL_FRAME_CHARACTERS_MAX, type SseParser } from '../../shared/stream/sse.ts'
import { takeEvents, takeWholeEvents } from '../../shared/stream/take-events.ts'
import type { ContentCompatibleReading } from './reading.ts'
import { ResponseState } from './response-state.ts'

/** Proxies in front of some services end their streams with the mark of another wire. */
const END_MARKER = '[DONE]'

/** Creates the reader of one response; streams and whole responses give the same events. */
export function createReader(
  reading: ContentCompatibleReading,
  _head: ResponseHead,
  dependencies: ReaderDependencies
): ResponseReader {
  return new ContentReader(new ResponseState({ ...dependencies, reading }))
}

class ContentReader implements ResponseReader {
  readonly #state: ResponseState
  /** Created for streams only: the parser's decoder alone costs as much as reading a small whole response. */
  #openedParser: SseParser | undefined
  #looseJson: LooseJson | undefined

  constructor(state: ResponseState) {
    this.#state = state
  }

  readBody(bytes: Uint8Array): NormalizedEvent[] {
    const state = this.#state
    state.assembler.expectWhole()
    this.#readPayload(parseBody(bytes))
    state.finish()
    return takeWholeEvents(state)
  }

  push(bytes: Uint8Array): NormalizedEvent[] {
    return takeEvents(this.#state, () => this.#parser.push(bytes))
  }

  end(): NormalizedEvent[] {
    const state = this.#state
    return takeEvents(state, () => {
      this.#parser.end()
      if (state.isOver) return
      // The wire has no end mark: a stream without a reason may have been cut off anywhere.
      if (!state.hasEnd) throw protocolError('incomplete_stream')
      state.finish()
    })
  }

  get #parser(): SseParser {
    this.#openedParser ??= createSseParser({
      onEvent: data => this.#readEvent(data),
      onOtherLine: line => this.#readLine(line),
      frameCharactersMax: EXTERNAL_FRAME_CHARACTERS_MAX
    })
    return this.#openedParser
  }

  #readEvent(data: string): void {
    const state = this.#state
    if (state.isOver || data === '') return
    state.assembler.keep(FRAME_CHARACTERS)
    if (data.trim() === END_MARKER) return
    this.#readValue(parseEventData(data), data)
  }

  /** The error of a stream may come as plain JSON, over several lines. */
  #readLine(line: string): void {
    const state = this.#state
    if (state.isOver) return
    state.assembler.keep(FRAME_CHARACTERS)
    this.#looseJson ??= new LooseJson()
    const text = this.#looseJson.add(line)
    const value = text === undefined ? undefined : parseJson(text)
    if (text !== undefined && value !== undefined) this.#readValue(value, text)
  }

  #readValue(value: JsonValue, text: string): void {
    if (isTextTooDeep(text, value)) throw protocolError('invalid_stream_chunk')
    const exact = keepCallIntegers(text, value)
    for (const payload of Array.isArray(exact) ? exact : [exact]) {
      if (!isJsonObject(payload)) throw protocolError('invalid_stream_chunk')
      this.#readPayload(payload)
    }
  }

  #readPayload(payload: Payload): void {
    const state = this.#state
    state.begin(payload)
    state.feedback(payload.promptFeedback)
    const candidates = payload.candidates ?? []
    if (!Array.isArray(candidates)) throw protocolError('invalid_candidates')
    for (const candidate of candidates) {
      if (!isJsonObject(candidate)) throw protocolError('invalid_candidate')
      // The gateway asks for one candidate.
      if ((candidate.index ?? 0) === 0) {
        state.content(candidate.content)
        state.finishReason(candidate.finishReason)
      } else state.furtherCandidate()
    }
  }
}

/**
 * Finds the objects in lines that are plain JSON: one object over several lines, or the items of a list, the form that streams of this
 * wire have without server-sent events.
 */
class LooseJson {
  #text = ''
  #nesting = new JsonNesting()

  /** Takes a line; returns the text of an object that ends with it. Raises `provider_protocol_error` for one beyond the bound of a frame. */
  add(line: string): string | undefined {
    const isFirst = this.#text === ''
    const start = isFirst ? skip(line, 0, 1) : 0
    if (isFirst && line[start] !== '{') return undefined
    const end = skip(line, line.length - 1, -1) + 1
    const piece = line.slice(start, end)
    if (this.#text.length + line.length > EXTERNAL_FRAME_CHARACTERS_MAX) throw protocolError('response_too_large')
    this.#nesting.add(piece)
    this.#text += piece
    if (this.#nesting.isWhole) {
      const text = this.#text
      this.#text = ''
      this.#nesting = new JsonNesting()
      return text
    }
    const rest = line.slice(end)
    this.#nesting.add(rest)
    this.#text += `${rest}\n`
    return undefined
  }
}

/** What may stand around the items of a list. */
const AROUND_ITEMS: ReadonlySet<string | undefined> = new Set(['[', ']', ',', ' ', '\t'])

/** The first place from `index` on, in steps of `step`, that is not around an item. */
function skip(line: string, index: number, step: 1 | -1): number {
  let at = index
  while (AROUND_ITEMS.has(line[at])) at += step
  return at
}

function parseBody(bytes: Uint8Array): JsonObject {
  const text = asBuffer(bytes).toString('utf8')
  const value = parseJson(text)
  // Some servers send a list with one error.
  const payload = Array.isArray(value) && value.length === 1 ? value[0] : value
  if (!isJsonObject(payload) || isTextTooDeep(text, payload)) throw protocolError('invalid_json_response')
  const exact = keepCallIntegers(text, value as JsonValue)
  return (Array.isArray(exact) ? exact[0] : exact) as JsonObject
}

/** Integers beyond 2^53 as raw JSON, where the arguments of a call may have some: the client gets their text. */
function keepCallIntegers(text: string, value: JsonValue): JsonValue {
  return text.includes('"functionCall"') ? keepExactIntegers(text, value) : value
}
