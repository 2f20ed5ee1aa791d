// Carries the error of a failed model discovery to other workers, so that their callers get the same error as those of the worker that
// called the upstream.
import type { CatalogFailure } from '../../shared/catalog/catalog.ts'
import {
  type ErrorCode,
  type ErrorKind,
  GatewayError,
  type GatewayErrorOptions,
  toGatewayError
} from '../normalized/index.ts'
import { describeCause } from '../providers/http/call-failure.ts'

/** The parts of an error that are sent to other processes: everything that its client sees, and a description of its cause. */
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

/** Turns the failure of another worker's discovery into the error that the callers of this worker get. */
export function readCatalogFailure(failure: CatalogFailure): GatewayError {
  const { status, message, param, reason, retryAfter, cause } = failure
  // All workers run the same build, so `code` and `kind` are among the known ones.
  const options: GatewayErrorOptions = { status, kind: failure.kind as ErrorKind, message }
  if (param !== null) options.param = param
  if (reason !== null) options.reason = reason
  if (retryAfter !== null) options.retryAfter = retryAfter
  if (cause !== null) options.cause = cause
  return new GatewayError(failure.code as ErrorCode, options)
}
