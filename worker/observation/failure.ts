// Why a request failed, as its record and its access line say it (decisions.md 96).
import type { ClosedFacts } from './observer.ts'

export interface DescribedFailure {
  /** The gateway's code of the error. */
  readonly code: string
  /** The field of the request that the error names. */
  readonly field: string | undefined
  /** The gateway's own message; undefined where there is none. */
  readonly message: string | undefined
  /** The same with the provider's words, which may quote the prompt. */
  readonly contentMessage: string | undefined
}

/** Undefined for a request that has not failed. */
export function describeFailure({ status, errorType, failure }: ClosedFacts): DescribedFailure | undefined {
  if (errorType === undefined && status < 400) return undefined
  if (failure === undefined) {
    return { code: errorType ?? `http_${status}`, field: undefined, message: undefined, contentMessage: undefined }
  }
  const { code, message, ownMessage, param, errors, providerText } = failure
  // The message of several wrong places names none of them.
  const place = errors?.[0]
  const more = place === undefined ? '' : ` ${place.path}: ${place.message}`
  return {
    code,
    field: param ?? place?.path,
    message: ownMessage + more,
    contentMessage: message + more + (providerText === undefined ? '' : ` The provider said: ${providerText}`)
  }
}
