// Parses server-sent events from bytes that are cut anywhere. It is the first step of every streamed response, so it works on
// whole reads, creates no object per event, and calls back with two strings.

import { constants } from 'node:buffer'
import { ByteCollector } from '../../../../shared/byte-collector.ts'
import { GatewayError } from '../../../normalized/index.ts'

/**
 * The largest frame in UTF-16 units. A larger one is no model event: the stream is broken or hostile. A frame of this size with text or
 * sources takes 10 ms of the event loop, one that consists of empty objects 90 ms.
 */
export const SSE_FRAME_CHARACTERS_MAX = 2 * 1024 * 1024

/**
 * The same in a stream of an external provider, whose bytes the profile bounds as a sum: a generated picture is one event and may be as
 * large as the whole response (bridge.md 8.3). The engine has no longer texts.
 */
export const EXTERNAL_FRAME_CHARACTERS_MAX = constants.MAX_STRING_LENGTH

export interface SseParserOptions {
  /**
   * Called with a whole event: the joined `data` lines, and the `event` name or '' when it has none.
   * An event without any data line is dropped.
   */
  onEvent(data: string, name: string): void
  /** Called with a line that is no field of an event and no comment: some servers send the error of a stream as plain JSON. */
  onOtherLine?(line: string): void
  /** Called where an event begins in the text of a read. Takes whole events and returns where they end; `position` when it takes none. */
  readRun?(text: string, position: number): number
  frameCharactersMax?: number
}

export interface SseParser {
  /** Parses the bytes of one read. Raises `provider_protocol_error` when a frame grows beyond the bound. */
  push(bytes: Uint8Array): void
  /** Ends the stream: its last event needs no blank line after it. */
  end(): void
}

/** Comments, and the fields that are not read; a field may have no value. */
const OTHER_FIELD = /^(?::|(?:event|id|retry)(?::|$))/

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const SPACE = 32
const STREAMING = { stream: true }

/**
 * From this size on the beginning of a line is kept outside the heap: with eight streams of long lines each collection of the young
 * generation copied them again, which took 9 ms on average and 32 at most.
 */
const HEAP_CHARACTERS_MAX = 32 * 1024
const BYTES_PER_CHARACTER_MAX = 3

/** Creates the parser of one stream. A stream that has ended needs a new one. */
export function createSseParser(options: SseParserOptions): SseParser {
  const { onEvent, onOtherLine, readRun, frameCharactersMax = SSE_FRAME_CHARACTERS_MAX } = options
  // Faster than StringDecoder on text beyond ASCII; it also drops a byte order mark.
  const decoder = new TextDecoder()
  /** The beginning of a line whose end has not arrived yet. It is not searched for line ends again. */
  let partialLine = ''
  /** What comes before `partialLine` in a long line, as UTF-8. */
  let longLine: ByteCollector | undefined
  let longLineCharacters = 0
  let data = ''
  let hasData = false
  let name = ''
  let isAfterCarriageReturn = false

  function readLine(line: string): void {
    if (line === '') dispatch()
    else if (line.startsWith('data:')) addData(line.slice(line.charCodeAt(5) === SPACE ? 6 : 5))
    else if (line.startsWith('event:')) name = line.slice(line.charCodeAt(6) === SPACE ? 7 : 6)
    else if (line === 'data') addData('')
    // Comments, ids and retry times have no meaning for a gateway.
    else if (onOtherLine !== undefined && !OTHER_FIELD.test(line)) onOtherLine(line)
  }

  function addData(value: string): void {
    data = hasData ? `${data}\n${value}` : value
    hasData = true
    if (data.length > frameCharactersMax) throw tooLarge()
  }

  /** Keeps the text of a line whose end has not arrived. Raises `provider_protocol_error` when the frame grows beyond the bound. */
  function addPartialLine(text: string): void {
    partialLine += text
    if (longLineCharacters + partialLine.length + data.length > frameCharactersMax) {
      releaseLongLine()
      throw tooLarge()
    }
    if (partialLine.length < HEAP_CHARACTERS_MAX) return
    longLine ??= new ByteCollector({ bytesMax: BYTES_PER_CHARACTER_MAX * frameCharactersMax })
    longLine.add(Buffer.from(partialLine))
    longLineCharacters += partialLine.length
    partialLine = ''
  }

  /** Returns the line that began in an earlier read and ends with `text`. */
  function takePartialLine(text: string): string {
    let line = partialLine + text
    partialLine = ''
    if (longLine === undefined) return line
    longLine.add(Buffer.from(line))
    line = longLine.take().toString()
    releaseLongLine()
    return line
  }

  /** Without it the engine would collect its whole heap to get the memory back. */
  function releaseLongLine(): void {
    longLine?.release()
    longLine = undefined
    longLineCharacters = 0
  }

  function hasPartialLine(): boolean {
    return partialLine !== '' || longLine !== undefined
  }

  function dispatch(): void {
    const eventData = data
    const eventName = name
    const isEvent = hasData
    data = ''
    hasData = false
    name = ''
    if (isEvent) onEvent(eventData, eventName)
  }

  function readText(decoded: string): void {
    const text = isAfterCarriageReturn || decoded.includes('\r') ? unifyLineEnds(decoded) : decoded
    let position = 0
    while (position < text.length) {
      if (readRun !== undefined && !hasData && name === '' && !hasPartialLine()) position = readRun(text, position)
      const end = text.indexOf('\n', position)
      if (end < 0) break
      if (hasPartialLine()) readLine(takePartialLine(text.slice(position, end)))
      else if (end === position) dispatch()
      else if (text.slice(position, position + 6) === 'data: ') addData(text.slice(position + 6, end))
      else readLine(text.slice(position, end))
      position = end + 1
      // The blank line after the data is usually in the same read; this check saves the search for its end.
      if (hasData && text.charCodeAt(position) === LINE_FEED) {
        dispatch()
        position++
      }
    }
    if (position < text.length) addPartialLine(position === 0 ? text : text.slice(position))
  }

  /** Turns every CR and CR LF into a line feed. A CR at the end of a read is a line end; its LF may follow in the next read. */
  function unifyLineEnds(text: string): string {
    if (text === '') return text
    const rest = isAfterCarriageReturn && text.charCodeAt(0) === LINE_FEED ? text.slice(1) : text
    isAfterCarriageReturn = text.charCodeAt(text.length - 1) === CARRIAGE_RETURN
    return rest.replaceAll(/\r\n?/g, '\n')
  }

  return {
    push(bytes) {
      readText(decoder.decode(bytes, STREAMING))
    },
    end() {
      readText(decoder.decode())
      if (hasPartialLine()) readLine(takePartialLine(''))
      dispatch()
    }
  }
}

function tooLarge(): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: 'response_too_large' })
}
