// Reads a stream of server-sent events. `EventSource` cannot send the header with the key, so the stream comes through `fetch`.

/** One event; an absent name is `message`. */
export interface ServerEvent {
  readonly name: string
  readonly id: string | undefined
  readonly data: string
}

export interface ServerEventDecoder {
  /** Takes the next piece of text and returns the events that it completes. Throws when one event is longer than the bound. */
  push(text: string): ServerEvent[]
}

/** A record without content is far below this, even with long metadata. */
const EVENT_CHARS_MAX = 1024 * 1024

/** Creates a decoder for one stream. Line feeds, carriage returns and both together end a line. */
export function createServerEventDecoder(charsMax = EVENT_CHARS_MAX): ServerEventDecoder {
  let rest = ''
  let name = ''
  let id: string | undefined
  let data: string[] = []
  let dataChars = 0

  function readLine(line: string, events: ServerEvent[]): void {
    if (line === '') {
      if (data.length > 0) events.push({ name: name === '' ? 'message' : name, id, data: data.join('\n') })
      name = ''
      data = []
      dataChars = 0
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') name = value
    else if (field === 'id') id = value
    else if (field === 'data') {
      data.push(value)
      dataChars += value.length
    }
  }

  return {
    push(text) {
      const events: ServerEvent[] = []
      const whole = rest + text
      let start = 0
      for (let at = findLineEnd(whole, 0); at >= 0; at = findLineEnd(whole, start)) {
        // A carriage return at the end may be the first half of a line end.
        if (whole[at] === '\r' && at === whole.length - 1) break
        readLine(whole.slice(start, at), events)
        start = whole[at] === '\r' && whole[at + 1] === '\n' ? at + 2 : at + 1
      }
      rest = whole.slice(start)
      if (rest.length + dataChars > charsMax) throw new Error('An event of the stream is too long.')
      return events
    }
  }
}

function findLineEnd(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  // Without this bound a stream that has no carriage return would be searched to its end for each line.
  const until = feed < 0 ? text.length : feed
  for (let at = from; at < until; at++) if (text.charCodeAt(at) === 13) return at
  return feed
}
