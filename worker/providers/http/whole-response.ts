// Collects a whole response of a provider: its body bounded and decompressed, and the long body of an error cut.

import { ByteCollector } from '../../../shared/byte-collector.ts'
import { dropByteOrderMark } from '../../../shared/bytes.ts'
import {
  type CompressedEncoding,
  type ContentEncoding,
  decompress,
  readContentEncoding
} from '../../../shared/net/content-encoding.ts'
import type { ResponseHead } from '../../protocols/provider-face.ts'
import { readHeader } from '../../protocols/shared/errors/response-header.ts'
import { protocolFailure, transportFailure } from './call-failure.ts'
import type { ExchangeControl, ExchangeReceiver } from './exchange-receiver.ts'
import { type ResponseMemory, type ResponseShare, responseMemory } from './response-memory.ts'

/**
 * Largest response body that is held in memory, before and after decompression. A chat response has some kilobytes, and 2048
 * embeddings of 2048 numbers are about 45 MB of JSON; a larger body is treated as a fault.
 */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024

/** How much of an error's body is read: its message is near the start, also in an HTML page. */
const ERROR_BODY_BYTES_MAX = 64 * 1024

const ACCEPTED: readonly CompressedEncoding[] = ['gzip', 'deflate']

/** The `accept-encoding` of calls with whole responses. Streams do not ask for compression: it would delay their events. */
export const ACCEPTED_ENCODINGS = ACCEPTED.join(', ')

/** A response that was taken whole. */
export interface BufferedResponse extends ResponseHead {
  bytes: Buffer
}

/**
 * Collects one response. Raises `CallFailure` from `onHead` and `onData` when the body of a status 200 exceeds the bound; the body of
 * any other status is cut instead.
 */
export class ResponseCollector implements ExchangeReceiver {
  readonly #bytesMax: number
  /** Created with the head, which may announce the size. */
  #collected: ByteCollector | undefined
  #head: ResponseHead | undefined
  #control: ExchangeControl | undefined
  #isCut = false
  readonly #share: ResponseShare

  constructor(bytesMax: number = RESPONSE_BYTES_MAX, memory: ResponseMemory = responseMemory) {
    this.#bytesMax = bytesMax
    this.#share = memory.open()
  }

  onHead(head: ResponseHead, control: ExchangeControl): void {
    this.#head = head
    this.#control = control
    const announced = Number(readHeader(head.headers, 'content-length'))
    if (head.status === 200 && announced > this.#bytesMax) throw protocolFailure('response_too_large')
    this.#collected = new ByteCollector({
      bytesMax: this.#bytesMax,
      announcedBytes: announced > 0 ? announced : undefined
    })
  }

  onData(pieces: readonly Buffer[]): undefined {
    const isSuccess = this.#head?.status === 200
    const bytesMax = isSuccess ? this.#bytesMax : ERROR_BODY_BYTES_MAX
    const collected = this.#collected
    if (collected === undefined) return
    for (const piece of pieces) {
      if (collected.length + piece.length <= bytesMax) {
        collected.add(piece)
        this.#share.hold(collected.length)
        continue
      }
      if (isSuccess) throw protocolFailure('response_too_large')
      this.#isCut = true
      this.#control?.cancel()
      return
    }
  }

  onClosed(): void {
    this.#share.hold(0)
  }

  /** The status of an error decides, for the client, for a retry and for the credential, also when its body does not arrive. */
  onBrokenBody(): boolean {
    if (this.#head === undefined || this.#head.status === 200) return false
    this.#isCut = true
    return true
  }

  /** The response, once the exchange has ended; undefined when it has to be decompressed. */
  take(): BufferedResponse | undefined {
    const { status, headers, encoding } = this.#describe()
    if (encoding === 'identity') return { status, headers, bytes: this.#takeBytes() }
    // A truncated compressed error body is ignored; the status is enough.
    return this.#isCut ? { status, headers, bytes: EMPTY } : undefined
  }

  /**
   * Resolves with the response that `take` could not return. Rejects with `CallFailure` for a body of status 200 that cannot be
   * decompressed; for another status the body is empty then.
   */
  async decompress(): Promise<BufferedResponse> {
    const { status, headers, encoding } = this.#describe()
    const decompressed = decompressResponse(this.#takeBytes(), encoding, this.#bytesMax)
    // The status of an error counts even when its body cannot be decompressed.
    return { status, headers, bytes: await (status === 200 ? decompressed : decompressed.catch(() => EMPTY)) }
  }

  #describe(): ResponseHead & { encoding: ContentEncoding | undefined } {
    const { status, headers } = this.#head ?? NO_HEAD
    return { status, headers, encoding: readContentEncoding(readHeader(headers, 'content-encoding')) }
  }

  #takeBytes(): Buffer {
    return this.#collected?.take() ?? EMPTY
  }
}

const NO_HEAD: ResponseHead = { status: 0, headers: {} }
const EMPTY = Buffer.alloc(0)

/** Parses a response's JSON. Raises the `CallFailure` of a response that cannot be used for anything else. */
export function readJson(response: BufferedResponse): unknown {
  try {
    return JSON.parse(dropByteOrderMark(response.bytes).toString('utf8'))
  } catch {
    throw protocolFailure('invalid_json_response')
  }
}

function isAccepted(encoding: ContentEncoding | undefined): encoding is CompressedEncoding {
  return ACCEPTED.some(accepted => accepted === encoding)
}

async function decompressResponse(
  body: Buffer,
  encoding: ContentEncoding | undefined,
  bytesMax: number
): Promise<Buffer> {
  if (!isAccepted(encoding)) throw protocolFailure('unsupported_content_encoding')
  const decompressed = await decompress(body, encoding, bytesMax).catch(refuseBrokenData)
  if (decompressed === undefined) throw protocolFailure('response_too_large')
  return decompressed
}

function refuseBrokenData(thrown: unknown): never {
  throw transportFailure(thrown)
}
