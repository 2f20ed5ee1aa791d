// A failed model discovery on its way to the callers of other workers: they answer as the worker that asked.
import type { CatalogFailure } from '../../shared/catalog.ts'
import {
  type ErrorCode,
  type ErrorKind,
  GatewayError,
  type GatewayErrorOptions,
  toGatewayError
} from '../normalized/index.ts'
import { describeCause } from '../providers/http/call-failure.ts'

/** What of an error may leave the process: everything that a client is told, and the words of its cause. */
export function writeCatalogFailure(thrown: unknown): CatalogFailure {
  const error = toGatewayError(thrown)
  const { code, status, kind, message } = error
  return {
    code,
    status,
    kind,
    message,
    param: error.param ?? null,
    reason: error.reason ?? null,
    retryAfter: error.retryAfter ?? null,
    cause: describeCause(error) ?? null
  }
}

/** The error that a failure of another worker is for a caller of this one. */
export function readCatalogFailure(failure: CatalogFailure): GatewayError {
  const { status, message, param, reason, retryAfter, cause } = failure
  // All workers come from one build, so their words are ours.
  const options: GatewayErrorOptions = { status, kind: failure.kind as ErrorKind, message }
  if (param !== null) options.param = param
  if (reason !== null) options.reason = reason
  if (retryAfter !== null) options.retryAfter = retryAfter
  if (cause !== null) options.cause = cause
  return new GatewayError(failure.code as ErrorCode, options)
}
