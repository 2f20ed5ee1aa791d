// Bytes as Node's own kind of them.

/** The same bytes as a `Buffer`, not copied. Bytes that came from a socket are one already. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
