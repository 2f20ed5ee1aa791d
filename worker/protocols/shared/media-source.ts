// Reads the URL by which a client names an image or a file.

import type { MediaSource } from '../../normalized/index.ts'

const BASE64_MARK = ';base64'

/**
 * Reads a URL: a base64 data URL becomes bytes, any other URL stays one and is checked before it is fetched. The media type is ''
 * when the data URL has none. The data is a slice of the URL, neither copied nor decoded.
 */
export function readMediaUrl(url: string): MediaSource {
  const comma = url.slice(0, 5).toLowerCase() === 'data:' ? url.indexOf(',') : -1
  if (comma < 0) return { kind: 'url', url }
  const head = url.slice(5, comma).toLowerCase()
  if (!head.endsWith(BASE64_MARK)) return { kind: 'url', url }
  const mediaType = head.split(';', 1)[0] ?? ''
  return { kind: 'bytes', mediaType, base64: url.slice(comma + 1) }
}
