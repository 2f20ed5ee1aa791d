// The error that a handler throws so that the response is an error of the upstream, and the upstream's error texts.

export class UpstreamError extends Error {
  readonly status: number
  readonly headers: Record<string, string>
  readonly isHtml: boolean
  /** The code of the error and the member that it is about, on a wire that has them. */
  readonly code: string | undefined
  readonly param: string | undefined

  constructor(status: number, message: string, options: UpstreamErrorOptions = {}) {
    super(message)
    this.status = status
    this.headers = options.headers ?? {}
    this.isHtml = options.isHtml ?? false
    this.code = options.code
    this.param = options.param
  }
}

export interface UpstreamErrorOptions {
  headers?: Record<string, string>
  isHtml?: boolean
  code?: string
  param?: string
}

const statusTexts: Record<number, string> = {
  400: 'Bad request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Permission denied',
  404: 'No such model',
  405: 'Method Not Allowed',
  413: 'Payload too large',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout'
}

/** The upstream's usual text for a status. */
export function describeStatus(status: number): string {
  return statusTexts[status] ?? `Status ${status}`
}

/** Creates the error for malformed parameters, status 400. */
export function badRequest(detail: string): UpstreamError {
  return new UpstreamError(400, `Invalid params: ${detail}`)
}

/** Creates the error for well-formed parameters with an invalid meaning, status 422. */
export function unprocessable(detail: string): UpstreamError {
  return new UpstreamError(422, detail)
}

/** Creates the error for an unknown model, status 404. */
export function noSuchModel(): UpstreamError {
  return new UpstreamError(404, 'No such model')
}
