// The headers of a call to an external provider: exactly these and those of its wire reach it, besides its credential (bridge.md 8.2).

export const WIRE_HEADERS: readonly string[] = [
  'accept',
  'text/event-stream, application/json',
  'content-type',
  'application/json'
]

/** Without the member a server may choose any encoding, and decompression would delay the events. */
export const STREAM_HEADERS: readonly string[] = [...WIRE_HEADERS, 'accept-encoding', 'identity']
