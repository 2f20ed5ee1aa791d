// The bounds of calls to an external provider (bridge.md 8.3). No setting changes them.

export interface CompatibleLimits {
  /** For each of: connecting, each gap while the request is written, the head, each gap of a response, the wait for a connection. */
  phaseMs: number
  /** Connections of one worker to one profile. */
  connectionsMax: number
  /** Calls that wait for a connection; each holds its body. */
  waitersMax: number
  /** Of a whole response to a chat, after decompression. */
  wholeBytesMax: number
  /** Of a stream: some generated pictures in base64. The face bounds each event. */
  streamBytesMax: number
}

export const compatibleLimits: CompatibleLimits = {
  phaseMs: 30_000,
  connectionsMax: 100,
  waitersMax: 1024,
  wholeBytesMax: 1024 * 1024,
  streamBytesMax: 64 * 1024 * 1024
}

/** Of the calls to a token server: one at a time, and each phase shorter than the deadline of the whole call. */
export const tokenServerLimits: CompatibleLimits = { ...compatibleLimits, phaseMs: 10_000, connectionsMax: 1 }
