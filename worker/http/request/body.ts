// Reads request bodies of any content type as one buffer. One bound applies to the received bytes
// and to the decompressed bytes (operations.md 3.3; decisions.md 23).
import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { ByteCollector } from '../../../shared/byte-collector.ts'
import {
  type CompressedEncoding,
  type ContentEncoding,
  createDecompressor,
  readContentEncoding
} from '../../../shared/net/content-encoding.ts'
import { GatewayError } from '../../normalized/index.ts'
import { createPacer } from '../../performance/pacer.ts'
import { createTurnBudget } from '../../performance/turn-budget.ts'
import type { BodyShare } from './body-share.ts'

export interface BodyReading {
  limitBytes: number
  /** Longest pause between two chunks, in milliseconds. */
  idleTimeoutMs: number
  /**
   * False: count the received bytes and discard them, for a request that is refused anyway. Nothing is decompressed for a client without
   * a key (decisions.md 102).
   */
  isKept: boolean
  /** What the body takes of the memory of the worker, where that is limited. */
  share?: BodyShare | undefined
}

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Returns whether requests of this method have a body that is read and bounded. */
export function isBodyMethod(method: string | undefined): boolean {
  return METHODS_WITH_BODY.has(method ?? '')
}

/** Raises `request_entity_too_large` when `content-length` exceeds the limit. */
export function assertAnnouncedLength(incoming: IncomingMessage, limitBytes: number): void {
  const announced = readLength(incoming)
  if (announced !== undefined && announced > limitBytes) throw tooLarge(limitBytes, announced)
}

/** Returns whether the head gives the number of bytes that are received: the body is not chunked. */
export function isSizeKnown({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined
}

/**
 * Reads the whole body and calls back once, with the bytes or with the error:
 * `request_entity_too_large`, `unsupported_content_encoding`, `invalid_json` for data that cannot
 * be decompressed, `request_timeout`, or `client_disconnected`. Returns a function that ends the
 * reading with the error that it is given.
 */
export function readBody(
  incoming: IncomingMessage,
  reading: BodyReading,
  done: (error: GatewayError | undefined, body: Buffer) => void
): (reason: GatewayError) => void {
  const named = reading.isKept ? readContentEncoding(incoming.headers['content-encoding']) : 'identity'
  if (named === undefined) {
    done(new GatewayError('unsupported_content_encoding'), EMPTY)
    return NOTHING_TO_END
  }
  const encoding: ContentEncoding = named
  if (incoming.complete && encoding === 'identity') {
    takeWhole(incoming, reading, done)
    return NOTHING_TO_END
  }
  const announced = encoding === 'identity' ? readLength(incoming) : undefined
  const collector = createCollector(reading, announced, finish)
  let decompressor: Transform | undefined
  let receivedBytes = 0
  /** Bytes since the body was last held for other requests. */
  let pieceBytes = 0
  let isHeld = false
  let isFinished = false
  const idleTimer = setTimeout(onIdle, reading.idleTimeoutMs)

  function onIdle(): void {
    // The gateway itself holds the body, so its silence is not the client's.
    if (isHeld) idleTimer.refresh()
    else finish(new GatewayError('request_timeout'))
  }

  function finish(error: GatewayError | undefined): void {
    if (isFinished) return
    isFinished = true
    clearTimeout(idleTimer)
    if (receivedBytes <= LARGE_BODY_BYTES) pacer.noteOther()
    // The decompressor works in a thread and may still report data or an error.
    decompressor?.removeAllListeners()
    decompressor?.on('error', () => undefined)
    decompressor?.destroy()
    // Discard the rest, including bytes after the end of the compressed data: a paused body would
    // block the connection.
    if (!incoming.readableEnded) incoming.resume()
    done(error, error === undefined ? collector.take() : EMPTY)
  }

  function onData(chunk: Buffer): void {
    if (isFinished) return
    idleTimer.refresh()
    receivedBytes += chunk.length
    pieceBytes += chunk.length
    if (encoding === 'identity') {
      collector.add(chunk)
      // The body exceeded the limit: the rest is read and dropped.
      if (isFinished) return
      if (receivedBytes > LARGE_BODY_BYTES && pieceBytes >= PIECE_BYTES && pacer.areOthersServed) {
        pieceBytes = 0
        void hold(pacer.wait())
      } else if (!budget.take(chunk.length)) void hold(budget.wait())
      return
    }
    if (receivedBytes > reading.limitBytes) {
      finish(tooLarge(reading.limitBytes))
      return
    }
    decompressor ??= startDecompressor(encoding, chunk)
    if (decompressor.write(chunk)) return
    incoming.pause()
    decompressor.once('drain', () => incoming.resume())
  }

  /** Pauses the body until `turn` is over. */
  async function hold(turn: Promise<void>): Promise<void> {
    isHeld = true
    incoming.pause()
    await turn
    isHeld = false
    incoming.resume()
  }

  function startDecompressor(compressed: CompressedEncoding, firstBytes: Buffer): Transform {
    const transform = createDecompressor(compressed, firstBytes)
    transform.on('data', (chunk: Buffer) => collector.add(chunk))
    transform.on('end', () => finish(undefined))
    transform.on('error', () => finish(brokenData()))
    return transform
  }

  function onEnd(): void {
    if (isFinished) return
    if (decompressor === undefined) finish(undefined)
    else decompressor.end()
  }

  function onClose(): void {
    if (!incoming.complete) finish(new GatewayError('client_disconnected'))
  }

  const refusal = growShare(reading.share, announced ?? 0)
  if (refusal !== undefined) {
    finish(refusal)
    return NOTHING_TO_END
  }
  incoming.on('data', onData)
  incoming.on('end', onEnd)
  // A broken connection emits `close` too; without a listener for `error` it emits no error.
  incoming.on('close', onClose)
  return finish
}

/**
 * Bytes that are read of a body at a time, and of all bodies in one turn of the event loop: the
 * system hands over megabytes.
 */
const PIECE_BYTES = 256 * 1024
const budget = createTurnBudget(PIECE_BYTES)

/**
 * Beyond this size a body is read slowly while other requests are served; long conversations of
 * agents stay below it.
 */
const LARGE_BODY_BYTES = 2 * 1024 * 1024
const pacer = createPacer()

const EMPTY = Buffer.alloc(0)
const NOTHING_TO_END = (): void => undefined

/**
 * Reads a body that arrived with its head, as nearly all do: it is in memory and needs neither
 * listeners nor a deadline.
 */
function takeWhole(
  incoming: IncomingMessage,
  { limitBytes, isKept, share }: BodyReading,
  done: (error: GatewayError | undefined, body: Buffer) => void
): void {
  pacer.noteOther()
  const body = takeBuffered(incoming)
  const refusal = body.length > limitBytes ? tooLarge(limitBytes) : growShare(share, body.length)
  done(refusal, refusal === undefined && isKept ? body : EMPTY)
}

/** All that is in memory: one call returns it before Node 26, and one piece of it since. */
function takeBuffered(incoming: IncomingMessage): Buffer {
  const first: Buffer = incoming.read() ?? EMPTY
  if (incoming.readableLength === 0) return first
  const pieces = [first]
  for (let piece = incoming.read(); piece !== null; piece = incoming.read()) pieces.push(piece)
  return Buffer.concat(pieces)
}

function createCollector(
  { limitBytes, isKept, share }: BodyReading,
  announced: number | undefined,
  finish: (error: GatewayError) => void
) {
  const collected = new ByteCollector({ bytesMax: limitBytes, announcedBytes: announced })
  let totalBytes = 0
  return {
    add(chunk: Buffer): void {
      totalBytes += chunk.length
      const refusal = totalBytes > limitBytes ? tooLarge(limitBytes) : growShare(share, totalBytes)
      if (refusal !== undefined) finish(refusal)
      else if (isKept) collected.add(chunk)
    },
    take: () => collected.take()
  }
}

/** The error of a body that finds no room. */
function growShare(share: BodyShare | undefined, bytes: number): GatewayError | undefined {
  try {
    share?.grow(bytes)
    return undefined
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
}

/**
 * Returns `content-length`; a chunked body has none, and the parser refuses one that is not a
 * number.
 */
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
