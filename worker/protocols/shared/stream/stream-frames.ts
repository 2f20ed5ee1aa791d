// Frames of a stream are one text, or pieces where they have something large (`StreamFrames`).

import type { StreamFrames } from '../../client-face.ts'

/** Puts frames one behind the other: one text when no part is in pieces. */
export function concatFrames(parts: readonly StreamFrames[]): StreamFrames {
  const pieces: Array<string | Uint8Array> = []
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part
      continue
    }
    if (text !== '') pieces.push(text)
    text = ''
    for (const piece of part) pieces.push(piece)
  }
  if (pieces.length === 0) return text
  if (text !== '') pieces.push(text)
  return pieces
}

/** The text of frames, where they are shown or compared; bytes are UTF-8. */
export function joinFrames(frames: StreamFrames): string {
  if (typeof frames === 'string') return frames
  return frames.map(piece => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())).join('')
}
