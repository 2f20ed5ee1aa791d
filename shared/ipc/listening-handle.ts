// A listening socket on its way from one process to another over their channel. Node sends them, but its types have no name for what
// arrives: only this file looks into them.
import type { SendHandle } from 'node:child_process'
import type { Server } from 'node:net'

/** A listening socket of the system. Whoever holds one closes it; the socket exists until all of its holders have. */
export interface ListeningHandle {
  close(): void
}

/** The socket of a server that listens by itself; undefined where the cluster's primary listens for it. */
export function findListeningHandle(server: Server): ListeningHandle | undefined {
  const handle: unknown = '_handle' in server ? server._handle : undefined
  // The cluster's stand-in has no address of its own to ask for.
  return isListeningHandle(handle) && 'getsockname' in handle && 'bind' in handle ? handle : undefined
}

export function isListeningHandle(value: unknown): value is ListeningHandle {
  return typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function'
}

export function toSendHandle(handle: ListeningHandle | undefined): SendHandle | undefined {
  return handle as unknown as SendHandle | undefined
}
