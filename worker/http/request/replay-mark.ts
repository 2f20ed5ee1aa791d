// Marks a connection inside this process that carries a replayed request: its record names the record
// that it came from, and it needs no key. No client can set the mark (operations.md 9.5).
import type { Socket } from 'node:net'
import type { ModelScope } from '../../../shared/keys/model-scope.ts'

const REPLAY = Symbol('replayed record')

export interface Replay {
  /** The id of the record that is replayed. */
  readonly sourceId: string
  /** The key of the gateway in whose name it is sent: a replay counts for the admin, and no key's limits apply (keys.md 2). */
  readonly keyName: string | undefined
  /** The models of the key that made the record. */
  readonly scope: ModelScope
}

/** Marks the server's side of a connection with what is replayed over it. */
export function markReplay(socket: object, replay: Replay): void {
  Object.assign(socket, { [REPLAY]: replay })
}

/** What the requests of this connection replay; undefined for a connection of a client. */
export function findReplay(socket: Socket): Replay | undefined {
  return (socket as Socket & { [REPLAY]?: Replay })[REPLAY]
}
