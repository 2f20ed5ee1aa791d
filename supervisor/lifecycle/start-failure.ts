// A failed start whose cause is not the configuration: one line on stderr, with a reason id for scripts and an explanation for people.
import { type Address, writeAddress } from '../listening/address.ts'

export class StartFailure extends Error {
  /** Such as `port_in_use`. */
  readonly reason: string

  /** The explanation reaches stderr: it never repeats the message of an unknown error, which may hold secrets. */
  constructor(reason: string, explanation: string, cause?: unknown) {
    super(explanation, { cause })
    this.name = 'StartFailure'
    this.reason = reason
  }

  /** One line for stderr. */
  get summary(): string {
    return `startup_failed: ${this.reason}: ${this.message}`
  }
}

/** Reason and explanation for each system error of listening at an address. */
const LISTEN_PROBLEMS: Readonly<Record<string, { reason: string; explanation: string }>> = {
  EADDRINUSE: { reason: 'port_in_use', explanation: 'the port is already in use' },
  EADDRNOTAVAIL: { reason: 'address_not_available', explanation: 'the address does not belong to this machine' },
  EAFNOSUPPORT: { reason: 'address_not_available', explanation: 'this machine has no addresses of this kind' },
  ENOTFOUND: { reason: 'address_not_available', explanation: 'the host name cannot be resolved' },
  EAI_AGAIN: { reason: 'address_not_available', explanation: 'the host name cannot be resolved at the moment' },
  EACCES: { reason: 'permission_denied', explanation: 'the port may not be used by this user' }
}

/** The failure to listen at an address. */
export function toListenFailure(error: unknown, address: Address): StartFailure {
  const problem = LISTEN_PROBLEMS[codeOf(error)]
  if (problem === undefined) return toStartFailure(error)
  return new StartFailure(problem.reason, `${writeAddress(address)}: ${problem.explanation}`, error)
}

/** The failure that a worker reported in its `worker-failed` message. */
export function workerFailure(reason: string, detail: string, address: Address): StartFailure {
  const isAboutAddress = reason === 'port_in_use' || reason === 'address_not_available'
  return new StartFailure(reason, isAboutAddress ? `${writeAddress(address)}: ${detail}` : detail)
}

/**
 * Turns any error that ended a start into a `StartFailure`. An unexpected error is described only by its name and code; the log, which
 * redacts, has the rest.
 */
export function toStartFailure(error: unknown): StartFailure {
  if (error instanceof StartFailure) return error
  return new StartFailure('internal', `${nameUnexpected(error)}; the log says more`, error)
}

/** Name and code of what was thrown: its message may hold secrets. */
export function nameUnexpected(thrown: unknown): string {
  return [thrown instanceof Error ? thrown.name : 'error', codeOf(thrown)].join(' ').trim()
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
