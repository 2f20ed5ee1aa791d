// The errors of the Google GenAI wire: the status objects of the RPC framework behind it.
import { UpstreamError } from '../errors.ts'
import { type Exchange, JSON_TYPE, sendBody, writeHtmlError } from '../exchange.ts'

const ERROR_DOMAIN = 'googleapis.com'
const SERVICE = 'generativelanguage.googleapis.com'

const statusWords: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED'
}

/** An error with the `details` that the service adds to its message. */
export class GoogleError extends UpstreamError {
  readonly details: readonly Record<string, unknown>[]

  constructor(status: number, message: string, details: readonly Record<string, unknown>[] = []) {
    super(status, message)
    this.details = details
  }
}

/** Creates the error of a request that the service understands and refuses, status 400. */
export function invalidArgument(message: string): GoogleError {
  return new GoogleError(400, message)
}

/** Creates the error of JSON that does not fit the message's definition, status 400, with the field that does not fit. */
export function invalidPayload(field: string, description: string): GoogleError {
  const violation = { ...(field === '' ? {} : { field }), description }
  return new GoogleError(400, description, [
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [violation] }
  ])
}

/** Creates the error for a key that is not the configured one, status 400. */
export function invalidApiKey(): GoogleError {
  const message = 'API key not valid. Please pass a valid API key.'
  return new GoogleError(400, message, [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
      domain: ERROR_DOMAIN,
      metadata: { service: SERVICE }
    },
    { '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en-US', message }
  ])
}

/** Creates the error for a request without a key, status 403. */
export function missingApiKey(): GoogleError {
  return new GoogleError(
    403,
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."
  )
}

/** Creates the error for a model that does not exist or does not have the method, status 404. */
export function unknownModel(model: string, method: string): GoogleError {
  return new GoogleError(
    404,
    `models/${model} is not found for API version v1beta, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods.`
  )
}

/** The body of an error. A wait in whole seconds is also in its details, as `RetryInfo`. */
export function writeGoogleError(error: {
  status: number
  message: string
  details?: readonly Record<string, unknown>[]
  retryAfter?: string | undefined
}): Record<string, unknown> {
  const { status, message, retryAfter } = error
  const wait = retryAfter !== undefined && /^\d+$/.test(retryAfter) ? retryAfter : undefined
  const details = [
    ...(error.details ?? []),
    ...(wait === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${wait}s` }])
  ]
  const word = statusWords[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'UNKNOWN')
  return { error: { code: status, message, status: word, ...(details.length === 0 ? {} : { details }) } }
}

/** Sends an error in the envelope of this wire, or as a proxy's HTML page. A stream that is an array has it in an array. */
export function sendGoogleError(exchange: Exchange, error: UpstreamError, isArray = false): void {
  if (error.isHtml) {
    const body = writeHtmlError(error.status, error.message)
    sendBody(exchange, { status: error.status, contentType: 'text/html', body, headers: error.headers })
    return
  }
  const { status, message, headers } = error
  const details = error instanceof GoogleError ? error.details : []
  const payload = writeGoogleError({ status, message, details, retryAfter: headers['retry-after'] })
  const body = JSON.stringify(isArray ? [payload] : payload)
  sendBody(exchange, { status, contentType: JSON_TYPE, body, headers })
}
