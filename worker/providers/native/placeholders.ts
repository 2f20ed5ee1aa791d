// Puts the ids of uploaded files into the bytes of a body, without parsing it again.

/**
 * Returns the body with each placeholder replaced by its file id, wherever the placeholder is a whole JSON string. Returns the same
 * bytes when there is nothing to replace.
 */
export function substitutePlaceholders(body: Uint8Array, fileIds: ReadonlyMap<string, string>): Uint8Array {
  if (fileIds.size === 0) return body
  const source = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const places = findPlaces(source, fileIds)
  if (places.length === 0) return body
  const pieces: Uint8Array[] = []
  let end = 0
  for (const place of places) {
    pieces.push(source.subarray(end, place.start), place.replacement)
    end = place.end
  }
  pieces.push(source.subarray(end))
  return Buffer.concat(pieces)
}

interface Place {
  start: number
  end: number
  replacement: Uint8Array
}

function findPlaces(source: Buffer, fileIds: ReadonlyMap<string, string>): Place[] {
  const places: Place[] = []
  for (const [placeholder, fileId] of fileIds) {
    const replacement = Buffer.from(JSON.stringify(fileId))
    // With its quotes: a placeholder may be a prefix of another one.
    const wanted = Buffer.from(JSON.stringify(placeholder))
    for (let start = source.indexOf(wanted); start >= 0; start = source.indexOf(wanted, start + wanted.length)) {
      places.push({ start, end: start + wanted.length, replacement })
    }
  }
  return places.sort((left, right) => left.start - right.start)
}
