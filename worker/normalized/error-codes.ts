// The codes of failures: what each one means to a client, in the words that all families share. Each family gives a code its own form.

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
  // A browser's page of another site (decisions.md 101).
  host_not_allowed: {
    status: 421,
    kind: 'invalid-request',
    text: 'This gateway serves this machine only, and the Host header names another one. Its operator can allow the name (GATEWAY_ALLOWED_HOSTS) or switch key authentication on.'
  },
  origin_not_allowed: {
    status: 403,
    kind: 'permission',
    text: 'Pages of this origin may not send requests here. The operator of the gateway can allow the origin (GATEWAY_CORS_ALLOW_ORIGINS).'
  },
  // Authentication.
  invalid_api_key: {
    status: 401,
    kind: 'authentication',
    text: 'Invalid API key'
  },
  key_expired: {
    status: 401,
    kind: 'authentication',
    text: 'The API key has expired'
  },
  key_disabled: {
    status: 401,
    kind: 'authentication',
    text: 'The API key is disabled'
  },
  // The limits of keys (keys.md 2).
  rate_limit_exceeded: {
    status: 429,
    kind: 'rate-limit',
    text: 'The limit of the API key is reached.'
  },
  budget_exceeded: {
    status: 429,
    kind: 'rate-limit',
    text: 'The budget of the API key is spent.'
  },
  limits_unavailable: {
    status: 503,
    kind: 'overloaded',
    text: 'The limits of the API key cannot be checked now.'
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
  unknown_parameter: {
    status: 400,
    kind: 'invalid-request',
    text: 'Unknown query parameter.'
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
  key_not_found: { status: 404, kind: 'not-found', text: 'No key has this name' },
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
