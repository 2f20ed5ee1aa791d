// How one attempt of a call ended, for the health of its provider and for the choice among deployments (decisions.md 116).

import { CallFailure, type TransportOutcome } from './call-failure.ts'

/** The class of a failure, in the words of the log (operations.md 7.3): every failure to get a credential is `credential_error`. */
export type FailureClass = TransportOutcome | `http_${number}`

export interface CallOutcome {
  readonly profileId: string
  /** Undefined for a success. */
  readonly failure: FailureClass | undefined
  /** That of the response, or the one that an error in its content states; undefined where there was no response. */
  readonly status: number | undefined
  /** The client gets the failure as one of its own request. */
  readonly isOfClient: boolean
  /** As the provider wrote it. */
  readonly retryAfter: string | undefined
  /** False when no byte of the request was written: the provider cannot have seen it. */
  readonly wasSent: boolean
}

/** Must not throw. */
export type OutcomeListener = (outcome: CallOutcome) => void

/**
 * How far an attempt has come: it waits for a free connection of the gateway's own, it gets its authorization, it is given to a
 * connection, or the first byte of its request was written.
 */
export type AttemptProgress = 'queued' | 'authorizing' | 'connecting' | 'sent'

/**
 * The outcome of an attempt; undefined where its end says nothing about the provider: none was asked, or the failure is the gateway's own.
 * @param thrown what ended it; undefined for a success.
 */
export function describeOutcome(
  profileId: string,
  progress: AttemptProgress,
  thrown: unknown
): CallOutcome | undefined {
  const wasSent = progress === 'sent'
  const unknown = {
    profileId,
    failure: undefined,
    status: undefined,
    isOfClient: false,
    retryAfter: undefined,
    wasSent
  }
  if (thrown === undefined) return { ...unknown, status: 200 }
  if (progress === 'queued') return undefined
  if (progress === 'authorizing') return { ...unknown, failure: 'credential_error' }
  if (!(thrown instanceof CallFailure)) return undefined
  const { errorType, error, status, isOfClient, retryAfter = error.retryAfter } = thrown
  return { profileId, failure: errorType, status: status ?? readStatus(errorType), isOfClient, retryAfter, wasSent }
}

function readStatus(failure: FailureClass): number | undefined {
  return failure.startsWith('http_') ? Number(failure.slice('http_'.length)) : undefined
}
