// Frames of a stream as one text, where they are shown or compared.

import type { StreamFrames } from '../face.ts'

/** Joins the pieces of frames; bytes are UTF-8. */
export function joinFrames(frames: StreamFrames): string {
  if (typeof frames === 'string') return frames
  return frames.map(piece => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())).join('')
}
