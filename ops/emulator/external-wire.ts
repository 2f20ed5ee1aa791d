// What the wire of an external provider has.
import type { ChatWire } from './chat-wire.ts'
import type { Endpoint } from './endpoints.ts'
import type { UpstreamError } from './errors.ts'
import type { Exchange } from './exchange.ts'

export interface ExternalWire {
  /** The chat wire for a path below the base URL; undefined when the path is not a chat endpoint. */
  findChat: (path: string, exchange: Exchange) => ChatWire | undefined
  endpoints: readonly Endpoint[]
  /** The key that a request carries; undefined without one. */
  readKey: (exchange: Exchange) => string | undefined
  /** The error for a missing or a wrong key. */
  refuseKey: (sent: string | undefined) => UpstreamError
  /** Checks the other headers that every request of the wire must have. Throws UpstreamError. */
  checkHeaders?: (exchange: Exchange) => void
  sendError: (exchange: Exchange, error: UpstreamError) => void
}
