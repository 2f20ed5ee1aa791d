// Reads request bodies as one buffer, whatever their content type, under one bound that counts both the bytes that arrive and
// the bytes that they unpack to (operations contract, section 3.3; decision 23).
import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress
} from 'node:zlib'
import { GatewayError } from '../normalized/index.ts'
import { type Deadlined, forgetDeadline, UNWATCHED, watchDeadline } from '../performance/deadlines.ts'

export { readJsonObject } from '../translation/json-body.ts'

export interface BodyReading {
  limitBytes: number
  /** Longest silence of a client that has not sent everything yet. */
  idleTimeoutMs: number
  /** False: count the bytes and throw them away, for a request that is refused anyway. */
  isKept: boolean
}

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Whether the bodies of this method are read and bounded. */
export function isBodyMethod(method: string | undefined): boolean {
  return METHODS_WITH_BODY.has(method ?? '')
}

/** Raises `request_entity_too_large` when the announced length is beyond the limit already. */
export function assertAnnouncedLength(incoming: IncomingMessage, limitBytes: number): void {
  const announced = readLength(incoming)
  if (announced !== undefined && announced > limitBytes) throw tooLarge(limitBytes, announced)
}

/** Whether the size of a body is known from its head: no coding to unpack, and a length. */
export function isSizeKnown(incoming: IncomingMessage): boolean {
  const isPlain = readCoding(incoming.headers['content-encoding']) === 'identity'
  return isPlain && incoming.headers['transfer-encoding'] === undefined
}

/**
 * Reads the whole body and calls back once, with the bytes or with the error: `request_entity_too_large`,
 * `unsupported_content_encoding`, `invalid_json` for data that cannot be unpacked, `request_timeout`, or `client_disconnected`.
 * Returns a function that ends the reading with an error of the caller's.
 */
export function readBody(
  incoming: IncomingMessage,
  reading: BodyReading,
  done: (error: GatewayError | undefined, body: Buffer) => void
): (reason: GatewayError) => void {
  const coding = readCoding(incoming.headers['content-encoding'])
  if (coding === undefined) {
    done(new GatewayError('unsupported_content_encoding'), EMPTY)
    return NOTHING_TO_END
  }
  if (incoming.complete && coding === 'identity') {
    takeWhole(incoming, reading, done)
    return NOTHING_TO_END
  }
  const collector = createCollector(reading, finish)
  let unpacker: Transform | undefined
  let receivedBytes = 0
  let isFinished = false
  let idleEndsAtMs = performance.now() + reading.idleTimeoutMs
  const idle: Deadlined = {
    deadlineMs: () => idleEndsAtMs,
    deadlinePlace: UNWATCHED,
    onDeadline: () => finish(new GatewayError('request_timeout'))
  }

  function finish(error: GatewayError | undefined): void {
    if (isFinished) return
    isFinished = true
    forgetDeadline(idle)
    // A decoder may still have data in its thread and report it later.
    unpacker?.removeAllListeners()
    unpacker?.on('error', () => undefined)
    unpacker?.destroy()
    // What still arrives, also behind the end of packed data, is thrown away: a paused body would block the connection for good.
    if (!incoming.readableEnded) incoming.resume()
    done(error, error === undefined ? collector.take() : EMPTY)
  }

  function onData(chunk: Buffer): void {
    if (isFinished) return
    idleEndsAtMs = performance.now() + reading.idleTimeoutMs
    if (coding === 'identity') {
      collector.add(chunk)
      return
    }
    receivedBytes += chunk.length
    if (receivedBytes > reading.limitBytes) {
      finish(tooLarge(reading.limitBytes))
      return
    }
    unpacker ??= startUnpacker(coding ?? 'gzip', chunk)
    if (unpacker.write(chunk)) return
    incoming.pause()
    unpacker.once('drain', () => incoming.resume())
  }

  function startUnpacker(coding: Coding, firstBytes: Buffer): Transform {
    const transform = createUnpacker(coding, firstBytes)
    transform.on('data', (chunk: Buffer) => collector.add(chunk))
    transform.on('end', () => finish(undefined))
    transform.on('error', () => finish(brokenData()))
    return transform
  }

  function onEnd(): void {
    if (isFinished) return
    if (unpacker === undefined) finish(undefined)
    else unpacker.end()
  }

  function onClose(): void {
    if (!incoming.complete) finish(new GatewayError('client_disconnected'))
  }

  incoming.on('data', onData)
  incoming.on('end', onEnd)
  // Also tells of a connection that broke: an error would only be emitted to those who listen for one.
  incoming.on('close', onClose)
  watchDeadline(idle)
  return finish
}

const EMPTY = Buffer.alloc(0)
const NOTHING_TO_END = (): void => undefined

/** Nearly every body came with its head and waits in memory: there is nothing to listen for, and no silence to bound. */
function takeWhole(
  incoming: IncomingMessage,
  { limitBytes, isKept }: BodyReading,
  done: (error: GatewayError | undefined, body: Buffer) => void
): void {
  const body: Buffer = incoming.read() ?? EMPTY
  if (body.length > limitBytes) done(tooLarge(limitBytes), EMPTY)
  else done(undefined, isKept ? body : EMPTY)
}

function createCollector({ limitBytes, isKept }: BodyReading, finish: (error: GatewayError) => void) {
  const chunks: Buffer[] = []
  let totalBytes = 0
  return {
    add(chunk: Buffer): void {
      totalBytes += chunk.length
      if (totalBytes > limitBytes) finish(tooLarge(limitBytes))
      else if (isKept) chunks.push(chunk)
    },
    take(): Buffer {
      const [first] = chunks
      return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks)
    }
  }
}

type Coding = 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd'

const CODINGS = new Map<string, Coding>([
  ['identity', 'identity'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd']
])

/** The one coding of a body, or undefined for an unknown one or several. */
function readCoding(header: string | undefined): Coding | undefined {
  if (header === undefined) return 'identity'
  const names = header
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => name !== '' && name !== 'identity')
  if (names.length === 0) return 'identity'
  return names.length === 1 ? CODINGS.get(names[0] ?? '') : undefined
}

/**
 * The windows are bounded, because a few bytes can ask a decoder for a window of 128 MB: 8 MB is what RFC 8878 wants every
 * decoder of zstd to support, and what brotli needs at its usual settings stays below 16 MB.
 */
function createUnpacker(coding: Coding, firstBytes: Buffer): Transform {
  switch (coding) {
    case 'br':
      return createBrotliDecompress({ params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: false } })
    case 'zstd':
      return createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } })
    case 'deflate':
      // The name means the zlib format, and half of the clients send the bare one. The low four bits tell them apart.
      return ((firstBytes[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw()
    default:
      return createGunzip()
  }
}

/** The announced length; a chunked body announces none, and the parser refuses one that is no number. */
function readLength(incoming: IncomingMessage): number | undefined {
  const header = incoming.headers['content-length']
  return header === undefined ? undefined : Number(header)
}

function tooLarge(limitBytes: number, announcedBytes?: number): GatewayError {
  const size = announcedBytes === undefined ? '' : `${announcedBytes} bytes `
  return new GatewayError('request_entity_too_large', {
    message: `Request body too large: ${size}exceeds limit of ${limitBytes} bytes.`
  })
}

function brokenData(): GatewayError {
  return new GatewayError('invalid_json', { message: 'Invalid JSON body: the compressed data is broken.' })
}
