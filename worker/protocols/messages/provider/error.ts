// Reads the errors of the Anthropic Messages wire (messages.md 8, bridge.md 8.7).

import type { GatewayError } from '../../../normalized/index.ts'
import type { ResponseHead } from '../../face.ts'
import { readExternalError } from '../../shared/external-error.ts'

/** The wire's own status of an overloaded service; HTTP has 503 for it. */
const OVERLOADED = 529

/** Reads the error of a response whose status is not 200. */
export function readError(head: ResponseHead, body: Uint8Array): GatewayError {
  return readExternalError(head.status === OVERLOADED ? { ...head, status: 503 } : head, body)
}
