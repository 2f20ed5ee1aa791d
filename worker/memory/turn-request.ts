// The request whose turn begins, and what its memory works with.

import type { Logger } from '../../shared/logging.ts'
import type { Owner, ResponseStore } from '../../shared/memory/store.ts'
import type { RouteSources, RouteTable } from '../bridge/resolve-route.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import type { ProviderFaces } from '../protocols/registry.ts'

export interface MemoryDependencies {
  readonly store: ResponseStore
  readonly routes: RouteTable
  readonly faces: ProviderFaces
  /** What an absent `store` means. */
  readonly storesByDefault: boolean
  /** The longest body with its history. */
  readonly bodyBytesMax: number
  readonly log: Logger
  readonly nowMs: () => number
  /** Resolves in a turn of the event loop in which no other body begins to be read. */
  readonly ownTurn: () => Promise<void>
  /** Called with each turn: it may go on for a moment when its request is over. */
  readonly onPending: (work: Promise<unknown>) => void
}

export interface TurnRequest {
  readonly body: Buffer
  readonly apiMode: ApiMode
  readonly owner: Owner
  /** The models that its key may use (keys.md 2). */
  readonly scope: RouteSources['scope']
  /** Seconds since the epoch. */
  readonly createdAt: number
  readonly logIds: object
  readonly signal: AbortSignal
  /** Only counts the tokens of a response's request: nothing is stored and nothing runs. */
  readonly isCount?: true
}
