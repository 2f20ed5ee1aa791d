// Reads the URL, or the data, by which a client names an image or a file.

import type { MediaSource } from '../../../normalized/index.ts'

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

/** Matches no base64 text, because base64 has no colon. */
const URL_SCHEME = /^[a-z][a-z0-9+.-]*:/i

/** Reads the data of a file. Some clients send only the base64 text; then the media type is '' and follows from the file name. */
export function readFileData(data: string): MediaSource {
  return URL_SCHEME.test(data) ? readMediaUrl(data) : { kind: 'bytes', mediaType: '', base64: data }
}

/** The registered type of each name that clients use beside it. */
const REGISTERED_TYPES: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg']
])

/** A media type in lower case and under its registered name, for services that know no other. */
export function foldMediaType(mediaType: string): string {
  const folded = mediaType.toLowerCase()
  return REGISTERED_TYPES.get(folded) ?? folded
}
