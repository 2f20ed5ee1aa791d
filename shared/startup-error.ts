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

/** One content-free reason: an id, and the name of the setting it is about where there is one. */
export interface StartupErrorDetail {
  readonly reasonId: string
  readonly setting?: string
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

  static is(value: unknown): value is StartupError {
    return typeof value === 'object' && value !== null && brand in value
  }
}
