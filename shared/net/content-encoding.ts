// The content encodings of request and response bodies: their names in headers, and decompression with Node's own zlib.
import type { Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress
} from 'node:zlib'

export type CompressedEncoding = 'gzip' | 'deflate' | 'br' | 'zstd'
export type ContentEncoding = 'identity' | CompressedEncoding

const ENCODINGS: ReadonlyMap<string, ContentEncoding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd']
])

/** Returns the encoding that a `content-encoding` header names, or undefined for an unknown one or for several. */
export function readContentEncoding(header: string | undefined): ContentEncoding | undefined {
  if (header === undefined) return 'identity'
  const names = header
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => name !== '' && name !== 'identity')
  const [name] = names
  if (name === undefined) return 'identity'
  return names.length === 1 ? ENCODINGS.get(name) : undefined
}

/**
 * Creates the stream that decompresses a body; `firstBytes` is the start of the body and is still
 * to be written to the stream. The caller bounds the output. The window is bounded here, because a
 * few bytes can request one of 128 MB or more: RFC 8878 requires 8 MB of every zstd decoder, and
 * brotli without large windows stays below 16 MB.
 */
export function createDecompressor(encoding: CompressedEncoding, firstBytes: Uint8Array): Transform {
  switch (encoding) {
    case 'gzip':
      return createGunzip()
    case 'deflate':
      return isZlibFormat(firstBytes) ? createInflate() : createInflateRaw()
    case 'br':
      return createBrotliDecompress({ params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: false } })
    case 'zstd':
      return createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } })
  }
}

/**
 * Decompresses a whole body. Resolves with undefined when the output is longer than `bytesMax`, and rejects with zlib's error when
 * the data is broken or cut off.
 */
export async function decompress(
  body: Buffer,
  encoding: CompressedEncoding,
  bytesMax: number
): Promise<Buffer | undefined> {
  const decompressor = createDecompressor(encoding, body)
  decompressor.end(body)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of decompressor) {
    length += chunk.length
    // Leaving the loop destroys the stream, so that the rest is not decompressed.
    if (length > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/**
 * "deflate" means the zlib format, but some senders leave out its header. The low four bits of that header are 8; in a stream without
 * header they would mean an uncompressed block with padding that is not zero, which encoders do not write.
 */
function isZlibFormat([firstByte = 0]: Uint8Array): boolean {
  return (firstByte & 0x0f) === 8
}
