// Reads a streamed response for a client of the provider's own wire. The face's reader gets one whole frame after the other, so that it is known which frames came
// before an error: those go to the client, and the error is written in the client's form.

import { GatewayError, type NormalizedEvent } from '../../../normalized/index.ts'
import type { ResponseEditor, ResponseReader } from '../../provider-face.ts'
import { FrameSplitter } from './frame-splitter.ts'

/** What one read of a stream brought. */
export interface EditedRead {
  events: NormalizedEvent[]
  /** Whole frames for the client; empty when none ended. The frame of an error is not among them. */
  frames: Uint8Array
}

const NO_FRAMES = Buffer.alloc(0)

/** Ends a frame whose blank line did not come any more. */
const BLANK_LINES = Buffer.from('\n\n')

export class EditingReader {
  readonly #reader: ResponseReader
  readonly #editor: ResponseEditor
  readonly #splitter: FrameSplitter
  #isOver = false

  /** @param frameBytesMax as much as a text can have, unless given. */
  constructor(reader: ResponseReader, editor: ResponseEditor, frameBytesMax?: number) {
    this.#reader = reader
    this.#editor = editor
    this.#splitter = new FrameSplitter(frameBytesMax)
  }

  /** Reads the bytes of one read, cut anywhere. An error in them becomes a final `error` event, as that of a `ResponseReader` does. */
  push(bytes: Uint8Array): EditedRead {
    const events: NormalizedEvent[] = []
    const frames: Uint8Array[] = []
    if (this.#isOver) return { events, frames: joinFrames(frames) }
    try {
      for (const frame of this.#splitter.push(bytes)) {
        this.#read(this.#reader.push(frame), frame, { events, frames })
        if (this.#isOver) break
      }
    } catch (thrown) {
      if (!GatewayError.is(thrown)) throw thrown
      this.#isOver = true
      events.push({ type: 'error', error: thrown })
    }
    return { events, frames: joinFrames(frames) }
  }

  /** Ends the stream: its last frame needs no blank line. */
  end(): EditedRead {
    const events: NormalizedEvent[] = []
    const frames: Uint8Array[] = []
    if (this.#isOver) return { events, frames: joinFrames(frames) }
    const rest = this.#splitter.end()
    const last = rest.length === 0 ? rest : Buffer.concat([rest, BLANK_LINES])
    const read = last.length === 0 ? [] : this.#reader.push(last)
    const end = this.#reader.end()
    this.#read(read.concat(end), last, { events, frames })
    if (end.at(-1)?.type === 'finish' && this.#editor.end !== undefined) frames.push(this.#editor.end())
    this.#isOver = true
    return { events, frames: joinFrames(frames) }
  }

  #read(
    read: readonly NormalizedEvent[],
    frame: Uint8Array,
    { events, frames }: { events: NormalizedEvent[]; frames: Uint8Array[] }
  ): void {
    for (const event of read) events.push(event)
    const last = read.at(-1)
    this.#isOver = last?.type === 'error' || last?.type === 'finish'
    if (last?.type !== 'error' && frame.length > 0) frames.push(this.#editor.editFrame(frame))
  }
}

function joinFrames(frames: readonly Uint8Array[]): Uint8Array {
  const [first] = frames
  if (first === undefined) return NO_FRAMES
  return frames.length === 1 ? first : Buffer.concat(frames)
}
