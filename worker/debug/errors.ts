// The errors of the debugging routes (operations.md 1.1 and 10.1).

import { GatewayError } from '../normalized/index.ts'

/** A member of the debugging request itself is wrong. */
export function invalidDebugRequest(message: string): GatewayError {
  return new GatewayError('invalid_request', { message })
}

/**
 * The error for a payload that its route would refuse: the refusal's own text, with the field at fault. Errors that are about the debugging
 * request itself, and faults of the gateway, stay as they are.
 */
function refusePayload(thrown: unknown): unknown {
  if (!GatewayError.is(thrown) || thrown.code === 'internal_error' || thrown.errors !== undefined) return thrown
  const { message, param = '' } = thrown
  return new GatewayError('invalid_request', { message, errors: [{ path: param, message }] })
}

/** Runs `work` on a payload; what it raises is raised as a refused payload. */
export function onPayload<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (thrown) {
    throw refusePayload(thrown)
  }
}
