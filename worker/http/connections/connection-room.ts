// How many connections a worker accepts: so many that descriptors are left for calls of providers, threads, files and names. Without that
// bound idle connections take the last one, and then everything else fails as well.

import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:net'

/** Left for all that is no connection of a client: this many, or a quarter of a small limit. */
const RESERVED_MAX = 256

/** The descriptors of this process, where the system tells. */
export interface DescriptorUse {
  readonly limit: number
  readonly open: number
}

/** Why a connection was refused: too many are open, or the system reported an error. */
export type RefusedConnection = { readonly connectionsMax: number } | { readonly cause: Error }

/** How many connections leave enough descriptors for the rest; undefined where the system states no limit. */
export function connectionsMaxOf(use: DescriptorUse | undefined): number | undefined {
  if (use === undefined) return undefined
  const reserved = Math.min(RESERVED_MAX, Math.floor(use.limit / 4))
  return Math.max(1, use.limit - use.open - reserved)
}

/** Reads the descriptors of this process (Linux). */
export function readDescriptorUse(): DescriptorUse | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? undefined : { limit: Number(limit), open: readdirSync('/proc/self/fd').length }
  } catch {
    return undefined
  }
}

/**
 * Bounds the connections of a server that listens. A connection beyond them is closed, and so is one that the system could not accept:
 * `onRefused` is called, and the server goes on.
 */
export function boundConnections(
  server: Server,
  connectionsMax: number | undefined,
  onRefused: (refused: RefusedConnection) => void
): void {
  server.on('error', cause => onRefused({ cause }))
  if (connectionsMax === undefined) return
  server.maxConnections = connectionsMax
  server.on('drop', () => onRefused({ connectionsMax }))
}
