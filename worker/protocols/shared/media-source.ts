// Where the bytes of an image or a file are, when a client names them by a URL.

import type { MediaSource } from '../../normalized/index.ts'

const BASE64_MARK = ';base64'

/**
 * Reads a URL: a base64 data URL becomes bytes, everything else stays a URL for the one who fetches it to judge. The media type
 * is '' where the data URL names none. The data is cut out, not copied or decoded.
 */
export function readMediaUrl(url: string): MediaSource {
  const comma = url.slice(0, 5).toLowerCase() === 'data:' ? url.indexOf(',') : -1
  if (comma < 0) return { kind: 'url', url }
  const head = url.slice(5, comma).toLowerCase()
  if (!head.endsWith(BASE64_MARK)) return { kind: 'url', url }
  const mediaType = head.split(';', 1)[0] ?? ''
  return { kind: 'bytes', mediaType, base64: url.slice(comma + 1) }
}
