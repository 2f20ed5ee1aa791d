// The one taxonomy of failures of a request. A family turns an error into its own status and body in exactly one place
// (`protocols/<family>/client/errors.ts`); no other code builds an error body.

/** The class of a failure: each family has one word of its own for each of these. */
export type ErrorKind =
  | 'invalid-request'
  | 'authentication'
  | 'permission'
  | 'not-found'
  | 'too-large'
  | 'rate-limit'
  | 'overloaded'
  | 'timeout'
  | 'upstream'
  | 'internal'

interface ErrorDefinition {
  status: number
  kind: ErrorKind
  /** Sentence for the client where the place that raises the error gives none. */
  text: string
}

/** Codes that a route of a client protocol can raise; each family has a form of its own for every one of them. */
export const familyErrorDefinitions = {
  // The request itself.
  invalid_json: {
    status: 400,
    kind: 'invalid-request',
    text: 'Invalid JSON body.'
  },
  invalid_request: {
    status: 400,
    kind: 'invalid-request',
    text: 'The request is invalid.'
  },
  unsupported_parameter: {
    status: 400,
    kind: 'invalid-request',
    text: 'The parameter is not supported.'
  },
  unsupported_response_format: {
    status: 400,
    kind: 'invalid-request',
    text: 'The response format is not supported.'
  },
  unsupported_semantic: {
    status: 400,
    kind: 'invalid-request',
    text: 'The selected bridge route cannot preserve this semantic.'
  },
  context_length_exceeded: {
    status: 400,
    kind: 'invalid-request',
    text: 'The input is too long for the model.'
  },
  model_required: {
    status: 400,
    kind: 'invalid-request',
    text: 'No model was given and no default model is configured.'
  },
  request_entity_too_large: {
    status: 413,
    kind: 'too-large',
    text: 'The request is too large.'
  },
  request_timeout: {
    status: 408,
    kind: 'invalid-request',
    text: 'The request body did not arrive in time.'
  },
  unsupported_media_type: {
    status: 415,
    kind: 'invalid-request',
    text: 'The media type is not supported.'
  },
  unsupported_content_encoding: {
    status: 415,
    kind: 'invalid-request',
    text: 'The content encoding is not supported.'
  },
  invalid_url: {
    status: 400,
    kind: 'invalid-request',
    text: 'The URL cannot be fetched.'
  },
  attachment_download_failed: {
    status: 400,
    kind: 'invalid-request',
    text: 'The attachment could not be downloaded.'
  },
  invalid_attachment_ids: {
    status: 400,
    kind: 'invalid-request',
    text: 'The attachment ids are not valid.'
  },
  previous_response_not_found: {
    status: 404,
    kind: 'not-found',
    text: 'The previous response does not exist.'
  },
  // The memory of Responses (memory.md 4).
  object_not_found: {
    status: 404,
    kind: 'not-found',
    text: 'Nothing is stored under this id.'
  },
  conversation_busy: {
    status: 409,
    kind: 'invalid-request',
    text: 'Another response is being created in this conversation.'
  },
  store_unavailable: {
    status: 503,
    kind: 'overloaded',
    text: 'The store of responses is not available.'
  },
  // Routing.
  unknown_url: { status: 404, kind: 'not-found', text: 'Unknown request URL.' },
  method_not_allowed: {
    status: 405,
    kind: 'invalid-request',
    text: 'Method Not Allowed'
  },
  upgrade_required: {
    status: 426,
    kind: 'invalid-request',
    text: 'WebSocket connections are not served here: send the request with POST. The operator of the gateway can switch WebSockets on for /responses (GATEWAY_RESPONSES_WEBSOCKET).'
  },
  unknown_model_alias: {
    status: 404,
    kind: 'not-found',
    text: 'The requested public model alias is not available.'
  },
  model_not_found: {
    status: 404,
    kind: 'not-found',
    text: 'The model does not exist.'
  },
  // Authentication.
  invalid_api_key: {
    status: 401,
    kind: 'authentication',
    text: 'Invalid API key'
  },
  invalid_upstream_authorization: {
    status: 400,
    kind: 'invalid-request',
    text: 'Invalid upstream pass-through token'
  },
  // The gateway.
  gateway_not_ready: {
    status: 503,
    kind: 'overloaded',
    text: 'Gateway routes are not ready.'
  },
  gateway_overloaded: {
    status: 503,
    kind: 'overloaded',
    text: 'The gateway has no capacity left.'
  },
  model_concurrency_limit: {
    status: 429,
    kind: 'rate-limit',
    text: 'Concurrency limit reached for the requested model'
  },
  internal_error: {
    status: 500,
    kind: 'internal',
    text: 'Internal server error'
  },
  client_disconnected: {
    status: 499,
    kind: 'internal',
    text: 'The client closed the connection.'
  },
  // The upstream's own response: the status is the upstream's.
  upstream_rejected: {
    status: 400,
    kind: 'invalid-request',
    text: 'The upstream rejected the request.'
  },
  upstream_unauthorized: {
    status: 401,
    kind: 'authentication',
    text: 'The upstream did not accept the credentials.'
  },
  upstream_forbidden: {
    status: 403,
    kind: 'permission',
    text: 'The upstream denied permission.'
  },
  upstream_not_found: {
    status: 404,
    kind: 'not-found',
    text: 'The upstream does not know what was asked for.'
  },
  rate_limited: {
    status: 429,
    kind: 'rate-limit',
    text: 'The upstream is limiting requests.'
  },
  upstream_error: {
    status: 500,
    kind: 'upstream',
    text: 'The upstream failed.'
  },
  upstream_generation_error: {
    status: 500,
    kind: 'upstream',
    text: 'The upstream reported an error while generating.'
  },
  // The connection to the upstream.
  provider_failure: {
    status: 502,
    kind: 'upstream',
    text: 'The connection to the upstream failed.'
  },
  provider_timeout: {
    status: 504,
    kind: 'timeout',
    text: 'The upstream did not answer in time.'
  },
  provider_connections_exhausted: {
    status: 503,
    kind: 'overloaded',
    text: 'All connections to the provider are in use.'
  },
  provider_protocol_error: {
    status: 502,
    kind: 'upstream',
    text: 'The upstream sent an answer that cannot be used.'
  },
  destination_mismatch: {
    status: 502,
    kind: 'upstream',
    text: 'The upstream destination could not be authorized.'
  },
  credential_unavailable: {
    status: 502,
    kind: 'upstream',
    text: 'The upstream credential is not available.'
  }
} as const satisfies Record<string, ErrorDefinition>

/** Codes that only system, log, admin and debugging routes raise: their one form is `writeSystemError`. */
const systemErrorDefinitions = {
  invalid_parameter: {
    status: 422,
    kind: 'invalid-request',
    text: 'Invalid request parameters.'
  },
  invalid_normalized_payload: {
    status: 400,
    kind: 'invalid-request',
    text: 'Invalid normalized payload'
  },
  // Access.
  admin_key_required: {
    status: 403,
    kind: 'permission',
    text: 'Admin API key is required'
  },
  invalid_admin_key: {
    status: 403,
    kind: 'permission',
    text: 'Invalid admin API key'
  },
  ip_not_allowed: {
    status: 403,
    kind: 'permission',
    text: 'Access denied: IP not in logs allowlist'
  },
  // The log pages.
  log_file_not_found: { status: 404, kind: 'not-found', text: 'Log file not found.' },
  log_file_unreadable: {
    status: 500,
    kind: 'internal',
    text: 'Log file cannot be read.'
  },
  too_many_streams: {
    status: 429,
    kind: 'rate-limit',
    text: 'Too many log streams are open.'
  },
  // The stored traffic records.
  invalid_cursor: { status: 400, kind: 'invalid-request', text: 'Invalid cursor' },
  invalid_timestamp: { status: 400, kind: 'invalid-request', text: 'Invalid timestamp' },
  invalid_log_id: { status: 400, kind: 'invalid-request', text: 'Invalid traffic log id' },
  thread_not_found: { status: 404, kind: 'not-found', text: 'No stored thread has this id' },
  log_not_found: { status: 404, kind: 'not-found', text: 'Traffic log event not found' },
  query_store_not_configured: {
    status: 503,
    kind: 'overloaded',
    text: 'Traffic log query store is not configured'
  },
  query_store_unavailable: {
    status: 503,
    kind: 'overloaded',
    text: 'Traffic log query store is unavailable'
  },
  replay_not_supported: {
    status: 400,
    kind: 'invalid-request',
    text: 'Only POST traffic log requests can be replayed'
  },
  request_body_not_captured: {
    status: 409,
    kind: 'invalid-request',
    text: 'Traffic log request body was not captured'
  },
  replay_failed: { status: 502, kind: 'upstream', text: 'Replay request failed' },
  replay_in_progress: { status: 429, kind: 'rate-limit', text: 'Another replay is running' }
} as const satisfies Record<string, ErrorDefinition>

/** Every code with its status. Codes are stable: they are documented in `ops/guides/errors.md`. */
export const errorDefinitions = { ...familyErrorDefinitions, ...systemErrorDefinitions }

export type FamilyErrorCode = keyof typeof familyErrorDefinitions
export type ErrorCode = keyof typeof errorDefinitions

/** One wrong place of a request with several. */
export interface ErrorPlace {
  /** Such as `query.lines`. */
  readonly path: string
  readonly message: string
}

export interface GatewayErrorOptions {
  /** Sentence for the client: it has passed redaction and names no URL, header or body of the upstream. */
  message?: string
  /** Path of the field at fault in the client's own body, such as `messages[0].content`. */
  param?: string | undefined
  /** The upstream's status where it is kept instead of the code's own. */
  status?: number | undefined
  /** The status that the provider's own error states; null for one that states none. For counts and the log only. */
  upstreamStatus?: number | null | undefined
  /** The provider's own code of a refusal: a short word that clients of the completions family act on (decisions.md 81). */
  providerCode?: string | undefined
  /** The provider's own name of the member that it refuses. */
  providerParam?: string | undefined
  /** The provider's words where no client may see them. For the log only. */
  providerText?: string | undefined
  /** The class of the failure, where the code stands for several: a kept status of 402 is no failure of the server. */
  kind?: ErrorKind | undefined
  /** Seconds to wait before another attempt, or the date the upstream gave, passed on as `retry-after`. */
  retryAfter?: string | undefined
  /** Stable reason for machines beside the code, such as `gateway_shutting_down`. */
  reason?: string | undefined
  /** Methods that the path has, for `method_not_allowed`. */
  allow?: string | undefined
  /** Every wrong place, for the system form (operations.md 1.1). */
  errors?: readonly ErrorPlace[] | undefined
  /** The public model that refuses the request, for the log; the message names it already. */
  model?: string | undefined
  /** The internal cause. For the log only: it never reaches a client. */
  cause?: unknown
}

const brand = Symbol.for('gateway.error')

/** A failure that is reported to a client. Recognised by its brand, so that it survives a thread or a second copy of the module. */
export class GatewayError extends Error {
  readonly [brand] = true
  readonly code: ErrorCode
  readonly status: number
  readonly upstreamStatus: number | null | undefined
  readonly providerCode: string | undefined
  readonly providerParam: string | undefined
  readonly providerText: string | undefined
  readonly kind: ErrorKind
  readonly param: string | undefined
  readonly retryAfter: string | undefined
  readonly reason: string | undefined
  readonly allow: string | undefined
  readonly errors: readonly ErrorPlace[] | undefined
  readonly model: string | undefined

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    const definition = errorDefinitions[code]
    // A provider's text may hold half of a surrogate pair, which some clients cannot read.
    super(
      (options.message ?? definition.text).toWellFormed(),
      options.cause === undefined ? undefined : { cause: options.cause }
    )
    this.name = 'GatewayError'
    this.code = code
    this.status = options.status ?? definition.status
    this.upstreamStatus = options.upstreamStatus
    this.providerCode = options.providerCode
    this.providerParam = options.providerParam
    this.providerText = options.providerText
    this.kind = options.kind ?? definition.kind
    this.param = options.param
    this.retryAfter = options.retryAfter
    this.reason = options.reason
    this.allow = options.allow
    this.errors = options.errors
    this.model = options.model
  }

  /** The same error with other details. */
  with(changes: GatewayErrorOptions): GatewayError {
    return new GatewayError(this.code, { ...this, message: this.message, cause: this.cause, ...changes })
  }

  static is(value: unknown): value is GatewayError {
    return typeof value === 'object' && value !== null && brand in value
  }
}

/** An error of another room has its code under this symbol: `StoreUnavailable`, which the supervisor's rooms raise too, has one. */
const errorCode: unique symbol = Symbol.for('gateway.error-code')

/** Turns a thrown value into a `GatewayError`: one without a code becomes the cause of an `internal_error`. */
export function toGatewayError(thrown: unknown): GatewayError {
  return GatewayError.is(thrown) ? thrown : new GatewayError(findCode(thrown) ?? 'internal_error', { cause: thrown })
}

function findCode(thrown: unknown): ErrorCode | undefined {
  if (!(thrown instanceof Error) || !(errorCode in thrown)) return undefined
  const code = thrown[errorCode]
  return typeof code === 'string' && code in errorDefinitions ? (code as ErrorCode) : undefined
}

/**
 * The error for a part of a request that its bridge route cannot keep (bridge.md 7.1).
 * @param param the client's field; '' or undefined where it has none.
 * @param reasonId for the log only.
 */
export function unsupportedSemantic(param: string | undefined, reasonId?: string): GatewayError {
  return new GatewayError('unsupported_semantic', {
    param: param === '' ? undefined : param,
    cause: reasonId
  })
}

/** The error for a field that is missing or of the wrong type. `message` names what was expected. */
export function invalidRequest(param: string, message: string): GatewayError {
  return new GatewayError('invalid_request', { param, message })
}
