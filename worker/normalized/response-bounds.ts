// Bounds of one response of a provider of any kind: a response beyond one of them ends with `provider_protocol_error`. The
// event assembler and the collectors in front of it count against them, so that every reader has them. They are generous: only a
// provider that is broken or hostile meets them.

import { GatewayError } from './error.ts'

export const TOOL_CALLS_MAX = 1024
export const HOSTED_RUNS_MAX = 1024
export const FILES_MAX = 256

/**
 * Of a streamed response: text, reasoning, arguments and everything else that is passed on, and again as much that is kept. It is several
 * times what the largest models write. The last events of some client protocols repeat all of it, in one turn of the event loop.
 */
export const RESPONSE_CHARACTERS_MAX = 1.5 * 1024 * 1024

/** The same of a whole response: a large one is read and written in a thread. */
export const WHOLE_RESPONSE_CHARACTERS_MAX = 8 * 1024 * 1024

/** Of all generated images together, whose bytes are in memory several times while they are written to the client. */
export const IMAGE_BYTES_MAX = 32 * 1024 * 1024

/** What a block, a call, a file, a citation or a progress report counts beside its characters: the memory of its object. */
export const ENTRY_CHARACTERS = 128

/** What a piece of text counts beside its characters: an endless stream of short pieces is bounded too. */
export const PIECE_CHARACTERS = 4

/** What each event of a stream counts, even one that adds nothing: so that every stream has an end, after a million events. */
export const FRAME_CHARACTERS = 2

/** The error of a response beyond a bound. `what` is for the log. */
export function beyondBound(what: string): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: `the response has too many ${what}` })
}
