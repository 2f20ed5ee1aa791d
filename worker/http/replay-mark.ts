// Marks a connection inside this process that carries a replayed request, so that its record names
// the record that it came from. No client can set the mark (operations.md 9.5).
import type { Socket } from 'node:net'

const SOURCE = Symbol('replayed record')

/** Marks the server's side of a connection with the id of the record that is replayed over it. */
export function markReplay(socket: object, sourceId: string): void {
  Object.assign(socket, { [SOURCE]: sourceId })
}

/** The id of the record that the requests of this connection replay; undefined for a connection of a client. */
export function findReplaySource(socket: Socket): string | undefined {
  return (socket as Socket & { [SOURCE]?: string })[SOURCE]
}
