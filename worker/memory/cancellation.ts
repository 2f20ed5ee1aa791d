// The wish of a client to end a response that runs in the background (memory.md 4). Its request ends like one that its client has left.

import { GatewayError } from '../normalized/index.ts'

const CANCELLED = 'response_cancelled'

export function clientCancellation(): GatewayError {
  return new GatewayError('client_disconnected', { message: 'The response was cancelled.', cause: CANCELLED })
}

export function isClientCancellation(error: unknown): boolean {
  return GatewayError.is(error) && error.code === 'client_disconnected' && error.cause === CANCELLED
}
