// Bytes as Node's own kind of them, and bytes in pieces.

/** Bytes in one piece, or the pieces of a large body in their order: joining them would copy it. */
export type Bytes = Uint8Array | readonly Uint8Array[]

/** The same bytes as a `Buffer`, not copied. Bytes that came from a socket are one already. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The bytes in one piece; a single piece is not copied. */
export function joinBytes(bytes: Bytes): Uint8Array {
  return bytes instanceof Uint8Array ? bytes : Buffer.concat(bytes)
}

/** How many bytes these are. */
export function countBytes(bytes: Bytes): number {
  return bytes instanceof Uint8Array ? bytes.byteLength : bytes.reduce((sum, piece) => sum + piece.byteLength, 0)
}
