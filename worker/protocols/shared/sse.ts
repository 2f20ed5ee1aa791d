// Reads server-sent events from bytes that are cut anywhere. It is the first step of every streamed answer, so it works on whole
// reads, keeps no objects per event, and calls back with two texts.

import { GatewayError } from '../../normalized/index.ts'

/** A frame beyond this is no event of a model: the stream is broken or hostile. Counted in UTF-16 units. */
export const SSE_FRAME_CHARACTERS_MAX = 8 * 1024 * 1024

export interface SseParserOptions {
  /**
   * Takes a whole event: the joined `data` lines, and the `event` name or '' when it has none.
   * An event without any data line is dropped.
   */
  onEvent(data: string, name: string): void
  frameCharactersMax?: number
}

export interface SseParser {
  /** Takes the bytes of one read. Raises `provider_protocol_error` when a frame grows beyond the bound. */
  push(bytes: Uint8Array): void
  /** The bytes ended: a last event needs no blank line behind it. */
  end(): void
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const SPACE = 32
const STREAMING = { stream: true }

export function createSseParser(options: SseParserOptions): SseParser {
  const { onEvent, frameCharactersMax = SSE_FRAME_CHARACTERS_MAX } = options
  // Of the two stateful decoders the one that does not slow down on text beyond ASCII. It also drops a byte order mark.
  const decoder = new TextDecoder()
  /** The beginning of a line whose end has not come yet. It is only joined, never searched again. */
  let partialLine = ''
  let data = ''
  let hasData = false
  let name = ''
  let isAfterCarriageReturn = false

  function readLine(line: string): void {
    if (line === '') dispatch()
    else if (line.startsWith('data:')) addData(line.slice(line.charCodeAt(5) === SPACE ? 6 : 5))
    else if (line.startsWith('event:')) name = line.slice(line.charCodeAt(6) === SPACE ? 7 : 6)
    else if (line === 'data') addData('')
    // Comments, ids and retry times say nothing to a gateway.
  }

  function addData(value: string): void {
    data = hasData ? `${data}\n${value}` : value
    hasData = true
    if (data.length > frameCharactersMax) throw tooLarge()
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
      const end = text.indexOf('\n', position)
      if (end < 0) break
      if (partialLine !== '') {
        const line = partialLine + text.slice(position, end)
        partialLine = ''
        readLine(line)
      } else if (end === position) dispatch()
      else if (text.slice(position, position + 6) === 'data: ') addData(text.slice(position + 6, end))
      else readLine(text.slice(position, end))
      position = end + 1
      // The blank line behind the data is there already more often than not: no need to search for its end.
      if (hasData && partialLine === '' && text.charCodeAt(position) === LINE_FEED) {
        dispatch()
        position++
      }
    }
    if (position < text.length) {
      partialLine += position === 0 ? text : text.slice(position)
      if (partialLine.length + data.length > frameCharactersMax) throw tooLarge()
    }
  }

  /** Makes every CR and CR LF a line feed. A CR that ends a read is a line end already; its LF may come with the next read. */
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
      if (partialLine !== '') {
        const line = partialLine
        partialLine = ''
        readLine(line)
      }
      dispatch()
    }
  }
}

function tooLarge(): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: 'a frame of the stream is too large' })
}
