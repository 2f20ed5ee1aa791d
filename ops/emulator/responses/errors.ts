// The errors of the Responses wire: each names the member at fault and has a code.
import { UpstreamError } from '../errors.ts'
import { type Exchange, sendBody, sendJson, writeHtmlError } from '../exchange.ts'

/** The error for a member of the request, with the code of the service. */
export class MemberError extends UpstreamError {
  constructor(message: string, { param, code, status = 400 }: MemberErrorOptions = {}) {
    super(status, message, { ...(param != null && { param }), ...(code != null && { code }) })
  }
}

interface MemberErrorOptions {
  param?: string | null
  code?: string | null
  status?: number
}

/** The error for a member that the service does not know. */
export function unknownMember(param: string): MemberError {
  return new MemberError(`Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' })
}

export function missingMember(param: string): MemberError {
  return new MemberError(`Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' })
}

export function wrongType(param: string, expected: string): MemberError {
  return new MemberError(`Invalid type for '${param}': expected ${expected}.`, { param, code: 'invalid_type' })
}

export function wrongValue(param: string, message = `Invalid value for '${param}'.`): MemberError {
  return new MemberError(message, { param, code: 'invalid_value' })
}

const errorTypes: Record<number, { type: string; code: string | null }> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  429: { type: 'requests', code: 'rate_limit_exceeded' }
}

/** Writes an error body. */
export function writeResponsesError(error: { status: number; message: string }): Record<string, unknown> {
  const { status, message } = error
  const fallback = { type: status >= 500 ? 'server_error' : 'invalid_request_error', code: null }
  const named =
    error instanceof MemberError ? { param: error.param ?? null, code: error.code ?? null } : { param: null }
  return { error: { message, ...(errorTypes[status] ?? fallback), ...named } }
}

/** Sends an error in the envelope of this wire, or as a proxy's HTML page. */
export function sendResponsesError(exchange: Exchange, error: UpstreamError): void {
  const { status, headers, message } = error
  if (error.isHtml) {
    sendBody(exchange, { status, contentType: 'text/html', body: writeHtmlError(status, message), headers })
  } else sendJson(exchange, status, writeResponsesError(error), headers)
}

/** The code of a failed response for a status. */
export function failureCode(status: number): string {
  if (status === 429) return 'rate_limit_exceeded'
  return status >= 500 ? 'server_error' : 'invalid_prompt'
}
