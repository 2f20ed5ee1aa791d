// A response taken whole: its bytes under a bound, unpacked, and its errors told apart from its answers.

import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { protocolFailure, transportFailure } from './call-failure.ts'
import type { ExchangeControl, ExchangeHead, ExchangeReceiver } from './exchange.ts'

/**
 * Largest answer that is held in memory, before and after unpacking. A chat answer is kilobytes and 2048 embeddings of 2048
 * numbers are about 45 MB of JSON; what is larger is not an answer but a fault.
 */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** How much of an error's body is read: its message stands at the front, and an HTML page says nothing more at its end. */
const ERROR_BODY_BYTES_MAX = 64 * 1024

/** What a call announces that it can unpack. Streams announce nothing: each event must come through at once. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate'

export interface Answer {
  status: number
  headers: ExchangeHead['headers']
  bytes: Buffer
}

/** Collects one response. Raises `CallFailure` from `onData` when an answer goes beyond its bound; an error's body is cut instead. */
export class ResponseCollector implements ExchangeReceiver {
  readonly #bytesMax: number
  readonly #chunks: Buffer[] = []
  #length = 0
  #head: ExchangeHead | undefined
  #control: ExchangeControl | undefined
  #isCut = false

  constructor(bytesMax: number = ANSWER_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  onHead(head: ExchangeHead, control: ExchangeControl): void {
    this.#head = head
    this.#control = control
    const announced = Number(readHeader(head.headers, 'content-length'))
    if (head.status === 200 && announced > this.#bytesMax) throw protocolFailure('response_too_large')
  }

  onData(chunk: Buffer): void {
    const isSuccess = this.#head?.status === 200
    if (this.#length + chunk.length > (isSuccess ? this.#bytesMax : ERROR_BODY_BYTES_MAX)) {
      if (isSuccess) throw protocolFailure('response_too_large')
      this.#isCut = true
      this.#control?.cancel()
      return
    }
    this.#length += chunk.length
    this.#chunks.push(chunk)
  }

  /**
   * The answer, once the exchange has ended; at once when there is nothing to unpack. Raises `CallFailure` for bytes that cannot be
   * unpacked.
   */
  take(): Answer | Promise<Answer> {
    const { status, headers } = this.#head ?? { status: 0, headers: {} }
    const [first] = this.#chunks
    const packed = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks, this.#length)
    const encoding = readHeader(headers, 'content-encoding')
    // Half of a packed error page cannot be unpacked, and nobody misses it.
    if (this.#isCut && encoding !== undefined) return { status, headers, bytes: Buffer.alloc(0) }
    if (encoding === undefined) return { status, headers, bytes: packed }
    const unpacked = unpack(packed, encoding, this.#bytesMax)
    // An error says most with its status: that must not be lost with a body that nobody can read.
    const readable = status === 200 ? unpacked : unpacked.catch(() => Buffer.alloc(0))
    return readable.then(bytes => ({ status, headers, bytes }))
  }
}

/** Parses a response's JSON. Raises the `CallFailure` of an unusable response for anything else. */
export function readJson(answer: Answer): unknown {
  try {
    return JSON.parse(answer.bytes.toString('utf8'))
  } catch {
    throw protocolFailure('invalid_json_response')
  }
}

/** One header's text; of a repeated header the first. */
export function readHeader(headers: ExchangeHead['headers'], name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

const gunzip = promisify(zlib.gunzip)
const inflate = promisify(zlib.inflate)
const inflateRaw = promisify(zlib.inflateRaw)

async function unpack(bytes: Buffer, encoding: string, bytesMax: number): Promise<Buffer> {
  const options = { maxOutputLength: bytesMax }
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return bytes
    case 'gzip':
    case 'x-gzip':
      return gunzip(bytes, options).catch(refuse)
    case 'deflate':
      // "deflate" is the zlib format, but some servers send the bare stream inside it.
      return (isZlib(bytes) ? inflate(bytes, options) : inflateRaw(bytes, options)).catch(refuse)
    default:
      throw protocolFailure('unsupported_content_encoding')
  }
}

function refuse(thrown: unknown): never {
  const isTooLarge = thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_BUFFER_TOO_LARGE'
  throw isTooLarge ? protocolFailure('response_too_large') : transportFailure(thrown)
}

function isZlib(bytes: Buffer): boolean {
  return bytes.length >= 2 && ((bytes[0] ?? 0) & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0
}
