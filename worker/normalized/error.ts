// The one taxonomy of failures of a request. A family turns an error into its own status and body in exactly one place
// (`protocols/<family>/client/errors.ts`); no other code builds an error body.

import { type ErrorCode, type ErrorKind, errorDefinitions } from './error-codes.ts'

/** One wrong place of a request with several. */
export interface ErrorPlace {
  /** Such as `query.lines`. */
  readonly path: string
  readonly message: string
}

/** The limit of a key that a request was refused for (keys.md 2). */
export interface ReachedLimit {
  readonly name: 'requests_per_minute' | 'tokens_per_minute' | 'concurrent_requests' | 'budget'
  /** Whose limit it is: the key's own, or that of its group. */
  readonly holder: 'key' | 'group'
  /** The name of the key. */
  readonly key: string
  /** What the limit allows: a count, or an amount of the currency for a budget. */
  readonly amount: number
  /** Milliseconds until the request fits; null where waiting does not help. */
  readonly retryAfterMs: number | null
}

export interface GatewayErrorOptions {
  /** Sentence for the client: it has passed redaction and names no URL, header or body of the upstream. */
  message?: string
  /**
   * The gateway's own sentence, where `message` has words of a provider or of the request's content: for records and log lines, which hold
   * neither (decisions.md 96).
   */
  ownText?: string | undefined
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
  /** Of `rate_limit_exceeded` and `budget_exceeded`. */
  limit?: ReachedLimit | undefined
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
  readonly ownText: string | undefined
  readonly kind: ErrorKind
  readonly param: string | undefined
  readonly retryAfter: string | undefined
  readonly reason: string | undefined
  readonly allow: string | undefined
  readonly errors: readonly ErrorPlace[] | undefined
  readonly model: string | undefined
  readonly limit: ReachedLimit | undefined

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
    this.ownText = options.ownText
    this.kind = options.kind ?? definition.kind
    this.param = options.param
    this.retryAfter = options.retryAfter
    this.reason = options.reason
    this.allow = options.allow
    this.errors = options.errors
    this.model = options.model
    this.limit = options.limit
  }

  /** The message without words of a provider or of the request's content. */
  get ownMessage(): string {
    return this.ownText ?? this.message
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
