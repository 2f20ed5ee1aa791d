// Cuts a stream of server-sent events into whole frames, for streams that are passed on: what a client gets never ends inside of a frame.

import { asBuffer } from '../../../../shared/bytes.ts'
import { GatewayError } from '../../../normalized/index.ts'
import { EXTERNAL_FRAME_CHARACTERS_MAX } from './sse.ts'

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

export class FrameSplitter {
  readonly #bytesMax: number
  /** The beginning of the frame that has not ended yet. */
  #pieces: Buffer[] = []
  #piecesBytes = 0
  /** Nothing of the current line came in an earlier read. */
  #isLineEmpty = true
  /** The current frame has a line that is not blank: the next blank line ends it. */
  #hasLine = false
  #isAfterCarriageReturn = false
  #isBegun = false

  constructor(bytesMax: number = EXTERNAL_FRAME_CHARACTERS_MAX) {
    this.#bytesMax = bytesMax
  }

  /**
   * The frames that end in these bytes, each with its blank line; they may share the memory of the bytes. Blank lines before a frame belong
   * to it. Raises `provider_protocol_error` for a frame beyond the bound.
   */
  push(read: Uint8Array): Buffer[] {
    const bytes = this.#begin(asBuffer(read))
    const frames: Buffer[] = []
    let frameStart = 0
    // The second half of a line end that was cut.
    let lineStart = this.#isAfterCarriageReturn && bytes[0] === LINE_FEED ? 1 : 0
    let lineFeed = findByte(bytes, LINE_FEED, lineStart)
    let carriageReturn = findByte(bytes, CARRIAGE_RETURN, lineStart)
    for (;;) {
      const lineEnd = Math.min(lineFeed, carriageReturn)
      if (lineEnd === bytes.length) break
      const next = lineEnd === carriageReturn && lineFeed === lineEnd + 1 ? lineEnd + 2 : lineEnd + 1
      const isBlank = this.#isLineEmpty && lineEnd === lineStart
      if (isBlank && this.#hasLine) {
        frames.push(this.#take(bytes.subarray(frameStart, next)))
        frameStart = next
      } else if (!isBlank) this.#hasLine = true
      this.#isLineEmpty = true
      lineStart = next
      if (lineFeed < next) lineFeed = findByte(bytes, LINE_FEED, next)
      if (carriageReturn < next) carriageReturn = findByte(bytes, CARRIAGE_RETURN, next)
    }
    if (bytes.length > 0) this.#isAfterCarriageReturn = bytes.at(-1) === CARRIAGE_RETURN
    if (lineStart < bytes.length) this.#isLineEmpty = false
    if (frameStart < bytes.length) this.#keep(bytes.subarray(frameStart))
    return frames
  }

  /** What came behind the last whole frame; the splitter keeps nothing of it. */
  end(): Buffer {
    return this.#take(EMPTY)
  }

  /** Leaves a byte order mark out: it would stand before the name of the first line. */
  #begin(bytes: Buffer): Buffer {
    if (this.#isBegun || bytes.length === 0) return bytes
    this.#isBegun = true
    return bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
      ? bytes.subarray(BYTE_ORDER_MARK.length)
      : bytes
  }

  #keep(piece: Buffer): void {
    this.#piecesBytes += piece.length
    if (this.#piecesBytes > this.#bytesMax) {
      throw new GatewayError('provider_protocol_error', { cause: 'response_too_large' })
    }
    this.#pieces.push(piece)
  }

  #take(last: Buffer): Buffer {
    this.#hasLine = false
    if (this.#pieces.length === 0) return last
    const frame = Buffer.concat([...this.#pieces, last])
    this.#pieces = []
    this.#piecesBytes = 0
    return frame
  }
}

const EMPTY = Buffer.alloc(0)

function findByte(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from)
  return found < 0 ? bytes.length : found
}
