// The bounds of calls to an external provider: what the profile writes, and the defaults of the rest (bridge.md 8.3; decisions.md 87 and 106).

import type { ProviderProfile } from '../../../shared/profile/profile.ts'

export interface CompatibleLimits {
  /** From asking for a connection until it can be used. */
  connectMs: number
  /** From the end of the request until the response's head; 0 sets no limit. */
  firstByteMs: number
  /** Silence of the provider inside a response, and each gap while the request is written; 0 sets no limit. */
  idleMs: number
  /** Of a call with all of its attempts; 0 sets no limit. */
  totalMs: number
  /** Connections of one worker to one profile. */
  connectionsMax: number
  /** A call that gets no connection within this time is refused. */
  connectionWaitMs: number
  /** Calls that wait for a connection; each holds its body. */
  waitersMax: number
  /** Of a whole response, after decompression, and of a stream as a sum. */
  responseBytesMax: number
}

export const compatibleLimits: CompatibleLimits = {
  connectMs: 10_000,
  firstByteMs: 300_000,
  idleMs: 300_000,
  totalMs: 0,
  connectionsMax: 1024,
  connectionWaitMs: 1_000,
  waitersMax: 1024,
  responseBytesMax: 64 * 1024 * 1024
}

/** The bounds of a profile. */
export function readLimits({ timeouts = {}, responseBytesMax, connections }: ProviderProfile): CompatibleLimits {
  const { connectSeconds, firstByteSeconds, idleSeconds, totalSeconds } = timeouts
  const defaults = compatibleLimits
  return {
    ...defaults,
    connectMs: toMs(connectSeconds) ?? defaults.connectMs,
    firstByteMs: toMs(firstByteSeconds) ?? defaults.firstByteMs,
    idleMs: toMs(idleSeconds) ?? defaults.idleMs,
    totalMs: toMs(totalSeconds) ?? defaults.totalMs,
    connectionsMax: connections ?? defaults.connectionsMax,
    responseBytesMax: responseBytesMax ?? defaults.responseBytesMax
  }
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.ceil(seconds * 1000)
}

/** Of the calls to a token server: one at a time, and each phase shorter than the deadline of the whole call. */
export const tokenServerLimits: CompatibleLimits = {
  ...compatibleLimits,
  firstByteMs: 10_000,
  idleMs: 10_000,
  connectionsMax: 1,
  connectionWaitMs: 10_000
}
