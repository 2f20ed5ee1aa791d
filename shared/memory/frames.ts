// How a worker and the store process speak over their socket: frames of a length and a serialized value. Bytes of items travel as bytes.
import { DefaultSerializer, deserialize } from 'node:v8'
import { isCount } from '../ipc/checks.ts'
import { STORE_OPERATIONS, type StoreOperation } from './store.ts'

/** Raised when a frame changes its meaning. Both ends come from one build, so a difference is a mistake, not a negotiation. */
export const STORE_PROTOCOL_VERSION = 1

/** A history with many images is the largest value. */
export const FRAME_BYTES_MAX = 256 * 1024 * 1024

/** The first frame of a connection, and a question whether the process runs. Acknowledged by the same. */
export interface Hello {
  readonly kind: 'hello'
  readonly version: number
}

export interface StoreQuestion {
  readonly kind: 'ask'
  readonly id: number
  readonly operation: StoreOperation
  readonly question: unknown
  /** On the clock of the host (`hostNowMs`). The worker has given up by then, so a question that is read later is not begun. */
  readonly deadlineMs: number
}

/** `expired`: the deadline had passed before the question was begun. `too_large`: the answer is no frame. */
export type StoreFailure = 'failed' | 'expired' | 'too_large'

export type StoreReply =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: StoreFailure }

export type WorkerFrame = Hello | StoreQuestion
export type StoreFrame = Hello | StoreReply

/** Raised for a frame beyond the bound. */
export class FrameTooLargeError extends Error {
  constructor() {
    super(`A frame is larger than ${FRAME_BYTES_MAX} bytes.`)
    this.name = 'FrameTooLargeError'
  }
}

/** Milliseconds on a clock that all processes of a host share and that never jumps. */
export function hostNowMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

const PREFIX_BYTES = 4

/** The bytes of a frame. Throws `FrameTooLargeError`. */
export function writeFrame(frame: WorkerFrame | StoreFrame): Buffer {
  const serializer = new DefaultSerializer()
  serializer.writeRawBytes(Buffer.alloc(PREFIX_BYTES))
  serializer.writeHeader()
  serializer.writeValue(frame)
  const bytes = serializer.releaseBuffer()
  const length = bytes.length - PREFIX_BYTES
  if (length > FRAME_BYTES_MAX) throw new FrameTooLargeError()
  bytes.writeUInt32LE(length)
  return bytes
}

/** Cuts the bytes of a connection into frames. */
export class FrameSplitter {
  /** The bytes of the length that have arrived. */
  readonly #prefix = Buffer.alloc(PREFIX_BYTES)
  #prefixLength = 0
  /** The frame that is being read. */
  #frame: Buffer | undefined
  #length = 0

  /** Returns the frames that `chunk` completes. Throws `FrameTooLargeError` for one that announces too much. */
  push(chunk: Buffer): Buffer[] {
    const frames: Buffer[] = []
    let position = 0
    while (position < chunk.length) {
      position +=
        this.#frame === undefined ? this.#readPrefix(chunk, position) : this.#readFrame(this.#frame, chunk, position)
      if (this.#frame === undefined || this.#length < this.#frame.length) continue
      frames.push(this.#frame)
      this.#frame = undefined
    }
    return frames
  }

  #readPrefix(chunk: Buffer, position: number): number {
    const copied = chunk.copy(this.#prefix, this.#prefixLength, position)
    this.#prefixLength += copied
    if (this.#prefixLength < PREFIX_BYTES) return copied
    const length = this.#prefix.readUInt32LE()
    if (length > FRAME_BYTES_MAX) throw new FrameTooLargeError()
    this.#prefixLength = 0
    this.#length = 0
    // Memory of its own: what is read of it may be kept. The system gives the memory as it is written.
    this.#frame = Buffer.allocUnsafeSlow(length)
    return copied
  }

  #readFrame(frame: Buffer, chunk: Buffer, position: number): number {
    const copied = chunk.copy(frame, this.#length, position)
    this.#length += copied
    return copied
  }
}

/** A frame of a worker, or undefined for anything else. The bytes in it share the memory of the frame. */
export function readWorkerFrame(frame: Buffer): WorkerFrame | undefined {
  const value = readValue(frame)
  if (value?.kind === 'hello') return isHello(value) ? value : undefined
  const isQuestion =
    value?.kind === 'ask' &&
    isCount(value.id) &&
    STORE_OPERATIONS.some(operation => operation === value.operation) &&
    typeof value.deadlineMs === 'number'
  return isQuestion ? (value as unknown as StoreQuestion) : undefined
}

/** A frame of the store process, or undefined for anything else. */
export function readStoreFrame(frame: Buffer): StoreFrame | undefined {
  const value = readValue(frame)
  if (value?.kind === 'hello') return isHello(value) ? value : undefined
  const isReply = (value?.kind === 'answer' || value?.kind === 'failure') && isCount(value.id)
  return isReply ? (value as unknown as StoreReply) : undefined
}

function isHello(value: Record<string, unknown>): value is Record<string, unknown> & Hello {
  return value.version === STORE_PROTOCOL_VERSION
}

function readValue(frame: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = deserialize(frame)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
