// What can stop a start, as data: the machine code, a text without values, and the setting names and reason ids that belong to it.

const brand = Symbol.for('gateway.startup-error')

/** Codes of `gateway.error.v1` that a start or a preflight can end with (bridge contract, sections 4.6 and 5.2). */
export type StartupErrorCode =
  | 'invalid_profile_schema'
  | 'duplicate_profile_id'
  | 'duplicate_model_alias'
  | 'invalid_destination'
  | 'invalid_policy_reference'
  | 'credential_unavailable'

/** The reason ids of settings that cannot be started with (bridge contract, section 1.3). */
export type StartupReasonId =
  | 'invalid_settings'
  | 'api_key_required'
  | 'upstream_base_url_required'
  | 'demo_refused'
  | 'insecure_prod_refused'

/** One content-free reason: an id, and the name of the setting it is about where there is one. */
export interface StartupErrorDetail {
  readonly reasonId: StartupReasonId
  readonly setting?: string
  /** What a person should know, for stderr. It names settings and what they should be, never what they are. */
  readonly explanation: string
}

/** A configuration that cannot be started. Neither its message nor its details ever hold a value, a path or file content. */
export class StartupError extends Error {
  readonly [brand] = true
  readonly code: StartupErrorCode
  readonly details: readonly StartupErrorDetail[]

  constructor(code: StartupErrorCode, message: string, details: readonly StartupErrorDetail[] = []) {
    super(message)
    this.name = 'StartupError'
    this.code = code
    this.details = details
  }

  /** One line for stderr. */
  get summary(): string {
    const explanations = this.details.map(detail => detail.explanation)
    return `${this.code}: ${explanations.length === 0 ? this.message : explanations.join('; ')}`
  }

  static is(value: unknown): value is StartupError {
    return typeof value === 'object' && value !== null && brand in value
  }
}
