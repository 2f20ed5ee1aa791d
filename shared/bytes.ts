// Bytes as Node's own kind of them, and bytes in pieces.

/** Bytes in one piece, or the pieces of a large body in their order: joining them would copy it. */
export type Bytes = Uint8Array | readonly Uint8Array[]

/** The same bytes as a `Buffer`, not copied. Bytes that came from a socket are one already. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/** The bytes of a text in UTF-8 without the byte order mark that some programs write first; not copied. */
export function dropByteOrderMark(bytes: Buffer): Buffer {
  return BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
}

/** The bytes in one piece; a single piece is not copied. */
export function joinBytes(bytes: Bytes): Uint8Array {
  return bytes instanceof Uint8Array ? bytes : Buffer.concat(bytes)
}

/** How many bytes these are. */
export function countBytes(bytes: Bytes): number {
  return bytes instanceof Uint8Array ? bytes.byteLength : bytes.reduce((sum, piece) => sum + piece.byteLength, 0)
}

/** Buffers of this size are never shared between bodies; small ones are cut from a common one. */
const OWN_BUFFER_BYTES_MIN = 1024 * 1024

/** Whether the `ArrayBuffer` of a body's bytes holds no other bytes in use. */
export function hasOwnMemory({ buffer, byteLength }: Uint8Array): boolean {
  return byteLength === buffer.byteLength || buffer.byteLength >= OWN_BUFFER_BYTES_MIN
}

/**
 * Frees the whole `ArrayBuffer` of these bytes now; it must not be used afterwards. Otherwise the
 * engine would have to collect its whole heap to free it, and memory that is reused at once is
 * still in the caches.
 */
export function releaseMemory({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
