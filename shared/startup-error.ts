// The error that stops a start: a machine code, a text without values, and details with reason ids and setting names.

const brand = Symbol.for('gateway.startup-error')

/** The codes of a keys file that prevents the start (keys.md 1). */
export const KEYS_ERROR_CODES = [
  'invalid_keys_file',
  'key_secret_unavailable',
  'budget_without_prices',
  'budget_without_store'
] as const
export type KeysErrorCode = (typeof KEYS_ERROR_CODES)[number]

/** Codes of `gateway.error.v1` for a failed start or preflight (bridge.md 4.6 and 5.2). */
export type StartupErrorCode =
  | 'invalid_profile_schema'
  | 'duplicate_profile_id'
  | 'duplicate_model_alias'
  | 'invalid_destination'
  | 'invalid_policy_reference'
  | 'credential_unavailable'
  | 'profile_file_unavailable'
  | KeysErrorCode
  | 'invalid_prices_file'

/** The reason ids of settings that prevent the start (bridge.md 1.3). */
export type StartupReasonId =
  | 'invalid_settings'
  | 'api_key_required'
  | 'upstream_base_url_required'
  | 'demo_refused'
  | 'insecure_prod_refused'

/** One reason without content: an id, and the name of the setting that it concerns, if any. */
export interface StartupErrorDetail {
  readonly reasonId: StartupReasonId
  readonly setting?: string
  /** The sentence for stderr. It names settings and their expected values, never the given ones. */
  readonly explanation: string
}

/** Raised for a configuration that prevents the start. Its message and details contain no value, no path and no file content. */
export class StartupError extends Error {
  readonly [brand] = true
  readonly code: StartupErrorCode
  readonly details: readonly StartupErrorDetail[]
  /**
   * Where in a profile file, or in a keys file, the problem is: a line number, or a path of member names of the schema and list indices, with the names of
   * variables that are missing. It is written to stderr and is no part of a document.
   */
  readonly location: string | undefined

  constructor(
    code: StartupErrorCode,
    message: string,
    details: readonly StartupErrorDetail[] = [],
    location: string | undefined = undefined
  ) {
    super(message)
    this.name = 'StartupError'
    this.code = code
    this.details = details
    this.location = location
  }

  /** The file that `location` is in. */
  get file(): 'keys' | 'prices' | 'profile' {
    if (this.code === 'invalid_prices_file') return 'prices'
    return KEYS_ERROR_CODES.some(code => code === this.code) ? 'keys' : 'profile'
  }

  /** One line for stderr. */
  get summary(): string {
    const explanations = this.details.map(detail => detail.explanation)
    const text = explanations.length === 0 ? this.message : explanations.join('; ')
    return `${this.code}: ${text}${this.location === undefined ? '' : ` (${this.location})`}`
  }

  static is(value: unknown): value is StartupError {
    return typeof value === 'object' && value !== null && brand in value
  }
}
