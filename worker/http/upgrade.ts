// Requests that ask for another protocol on their connection. WebSockets exist on `/responses` alone (memory.md 5).
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../normalized/index.ts'
import type { Stage } from './stages.ts'

/** A path of the Responses family, repaired. */
const RESPONSES_PATH = /^(?:\/v[12])?\/responses(?:\/|$)/

/**
 * Refuses a WebSocket on a Responses path with 426, before keys and methods are looked at. Agents take this status as the end of their attempts
 * and go on with HTTP; any other one makes them try again (decisions.md 91). On other paths the wish is ignored, as HTTP allows.
 */
export function refuseWebSockets(): Stage {
  return ({ raw, context }) => {
    if (!wantsWebSocket(raw) || !RESPONSES_PATH.test(context.routedPath)) return
    throw new GatewayError('upgrade_required')
  }
}

/** Whether the head of a request begins a WebSocket. */
export function wantsWebSocket({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const { upgrade } = headers
  if (upgrade === undefined || method !== 'GET') return false
  return upgrade.split(',').some(name => name.trim().toLowerCase() === 'websocket')
}
