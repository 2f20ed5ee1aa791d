// Follows a running response by the events in its store (memory.md 4), from any worker and any host, until it ends.

import {
  type EventPage,
  isEnded,
  type OwnedId,
  type ResponseStore,
  type StoredEvent
} from '../../shared/memory/store.ts'
import { endsStream, readType, writeEventFrame } from './stream-events.ts'

/** Where the frames go: a stream to a client. */
export interface FollowerStream {
  write(frames: Uint8Array): boolean
  whenDrained(): Promise<void>
  end(): void
  /** Breaks the stream off: its client comes again with the number of its last event. */
  cut(): void
  readonly isClosed: boolean
}

export interface FollowOptions extends OwnedId {
  readonly store: Pick<ResponseStore, 'readEvents'>
  /** The number of the last event that the client has; -1 for none. */
  readonly after: number
  /** Begins the stream, once the store has answered. */
  readonly open: () => FollowerStream
  /** The response object in JSON, as it is read by its id: of a response whose runner is gone, and whose stream has no last event. */
  readonly readResponse: () => Promise<Uint8Array | undefined>
  /** Ends the following: the gateway drains, or the client has left. */
  readonly signal: AbortSignal
  /** Waits before the next look; sooner where something is known to be new. */
  readonly pause: (ms: number) => Promise<void>
}

/** Between two looks: the writer stores what came together in a tenth of a second. */
const PAUSE_MS_MIN = 100
/** The same where nothing has come for a while. */
const PAUSE_MS_MAX = 1000
const PAUSE_GROWTH = 1.5
/** Looks in succession that the store may leave without an answer: it takes some seconds to restart. */
const FAILURES_MAX = 10

/**
 * Sends the events behind a number, and those that follow, each exactly once and in their order. Resolves when the stream has ended; with
 * false, and without a stream, where there is no such response. Raises what the store raises before the stream has begun.
 */
export async function followResponse(options: FollowOptions): Promise<boolean> {
  const { store, owner, id, signal, pause } = options
  let { after } = options
  let page = await store.readEvents({ owner, id, after })
  if (page === undefined) return false
  const stream = options.open()
  const isOver = () => signal.aborted || stream.isClosed
  let pauseMs = PAUSE_MS_MIN
  while (await writeEvents(stream, page.events)) {
    const last = page.events.at(-1)
    after = last?.sequenceNumber ?? after
    if (isEnded(page.status)) {
      await writeEnd(stream, last, { ...options, after })
      return true
    }
    pauseMs = last === undefined ? Math.min(pauseMs * PAUSE_GROWTH, PAUSE_MS_MAX) : PAUSE_MS_MIN
    if (isOver()) break
    await pause(pauseMs)
    if (isOver()) break
    const next = await readPatiently({ ...options, after }, isOver)
    if (next === undefined) break
    page = next
  }
  stream.cut()
  return true
}

/** The next events; undefined for a response that was deleted, and where the store gives no answer for long. */
async function readPatiently(options: FollowOptions, isOver: () => boolean): Promise<EventPage | undefined> {
  const { store, owner, id, after, pause } = options
  for (let failures = 0; failures < FAILURES_MAX; failures++) {
    try {
      return await store.readEvents({ owner, id, after })
    } catch {
      await pause(PAUSE_MS_MAX)
      if (isOver()) break
    }
  }
  return undefined
}

/** Frames that go out in one write. */
const BATCH_BYTES = 64 * 1024

/** False: the client has left. */
async function writeEvents(stream: FollowerStream, events: readonly StoredEvent[]): Promise<boolean> {
  let frames: Buffer[] = []
  let bytes = 0
  for (const [index, event] of events.entries()) {
    const frame = writeEventFrame(event)
    frames.push(frame)
    bytes += frame.byteLength
    if (bytes < BATCH_BYTES && index < events.length - 1) continue
    if (stream.isClosed) break
    if (!stream.write(Buffer.concat(frames))) await stream.whenDrained()
    frames = []
    bytes = 0
  }
  return !stream.isClosed
}

/** Ends the stream. That of a response whose runner is gone has no last event, so that it gets one here. */
async function writeEnd(stream: FollowerStream, last: StoredEvent | undefined, options: FollowOptions): Promise<void> {
  const { store, owner, id, after, readResponse } = options
  try {
    // Nothing is behind the number of a client that has all of it: then the event before tells.
    const event = last ?? (await store.readEvents({ owner, id, after: after - 1 }))?.events.at(-1)
    if (event === undefined || !endsStream(readType(event.json))) {
      const response = await readResponse()
      if (response === undefined) {
        stream.cut()
        return
      }
      const head = `{"type":"response.failed","sequence_number":${after + 1},"response":`
      const json = Buffer.concat([Buffer.from(head), response, Buffer.from('}')])
      stream.write(writeEventFrame({ json }))
    }
    stream.end()
  } catch {
    stream.cut()
  }
}
