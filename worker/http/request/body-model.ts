// The model of a path as a member of the body, for clients that name it there only: every reader of
// the body then finds it at its usual place.

/**
 * The JSON object with this model. It is its last member, so that it also wins over a model that the
 * client gave there. Anything but an object is returned as it is.
 */
export function setModel(body: Buffer, model: string): Buffer {
  const end = lastVisible(body, body.length)
  if (body[end] !== CLOSE) return body
  const before = body[lastVisible(body, end)]
  if (before === undefined) return body
  const member = `${before === OPEN ? '' : ','}"model":${JSON.stringify(model)}}`
  return Buffer.concat([body.subarray(0, end), Buffer.from(member)])
}

const OPEN = 0x7b
const CLOSE = 0x7d
/** Space, tab, line feed, carriage return. */
const BLANKS = new Set([0x20, 0x09, 0x0a, 0x0d])

/** The index of the last byte before `end` that is no white space; -1 without one. */
function lastVisible(bytes: Uint8Array, end: number): number {
  let index = end - 1
  while (index >= 0 && BLANKS.has(bytes[index] ?? 0)) index -= 1
  return index
}
