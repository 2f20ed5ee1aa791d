// Why an exchange had no answer, and the lines of the log about it: one for each cause, however many exchanges fail.
import { ErrorReply } from '@redis/client'
import type { Logger } from '../../../shared/logging.ts'

/** `isLost`: the connection is closed, because a new one may reach another server, or be accepted with new credentials. */
const CAUSES = {
  unreachable: { isLost: true, text: 'cannot be reached' },
  tls_failed: { isLost: true, text: 'has no TLS connection that can be trusted' },
  timeout: { isLost: true, text: 'does not answer in time' },
  access_denied: { isLost: true, text: 'refuses the user, the password or a command' },
  read_only: { isLost: true, text: 'is a replica that takes no writes' },
  not_ready: { isLost: true, text: 'is not ready' },
  out_of_memory: { isLost: false, text: 'has no memory left' },
  wrong_type: { isLost: false, text: 'holds something else under the name of a counter' },
  refused: { isLost: false, text: 'refuses the script of the counters' }
} as const
export type FailureCause = keyof typeof CAUSES

/** The first words of replies. Every other one is `refused`. */
const REPLIES: Readonly<Record<string, FailureCause>> = {
  WRONGPASS: 'access_denied',
  NOAUTH: 'access_denied',
  NOPERM: 'access_denied',
  READONLY: 'read_only',
  LOADING: 'not_ready',
  MASTERDOWN: 'not_ready',
  CLUSTERDOWN: 'not_ready',
  OOM: 'out_of_memory',
  WRONGTYPE: 'wrong_type'
}
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO)/
const QUIET_MS = 60_000

/** An exchange, or the start of a connection, took too long. */
export class ExchangeTimeoutError extends Error {
  constructor() {
    super('No answer in time.')
    this.name = 'ExchangeTimeoutError'
  }
}

/** The reply is not that of the script. */
export class UnexpectedReplyError extends Error {
  constructor() {
    super('The reply is not that of the script.')
    this.name = 'UnexpectedReplyError'
  }
}

export interface Failure {
  readonly cause: FailureCause
  /** The connection is of no further use. */
  readonly isLost: boolean
  /** The first word of a reply or the code of an error: nothing that could hold a secret. */
  readonly code: string
}

export function explainError(error: unknown): Failure {
  const { cause, code } = findCause(error)
  return { cause, isLost: CAUSES[cause].isLost, code }
}

function findCause(error: unknown): Pick<Failure, 'cause' | 'code'> {
  if (error instanceof ExchangeTimeoutError) return { cause: 'timeout', code: error.name }
  if (error instanceof UnexpectedReplyError) return { cause: 'refused', code: error.name }
  if (error instanceof ErrorReply) {
    // An error inside the script stands behind the name of the script in servers before Redis 7.
    const words = error.message.match(/\b[A-Z]{3,}\b/g) ?? []
    const code = words.find(word => REPLIES[word] !== undefined)
    if (code !== undefined) return { cause: REPLIES[code] ?? 'refused', code }
    // A command of many words before a password, a password where none is set, and a wrong one before Redis 6.2.
    if (/unauthenticated|without any password|invalid password/i.test(error.message))
      return { cause: 'access_denied', code: 'AUTH' }
    return { cause: 'refused', code: words[0] ?? 'ERR' }
  }
  const code = readCode(error)
  return { cause: TLS_CODE.test(code) ? 'tls_failed' : 'unreachable', code }
}

function readCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.constructor.name
}

export interface OutageLog {
  note(failure: Failure): void
  /** The place has answered. */
  noteAnswer(): void
}

/** Writes one warning for each cause of an outage, and one line at its end. */
export function createOutageLog({ log, nowMs }: { log: Logger; nowMs: () => number }): OutageLog {
  /** When the last line about a cause was written. */
  const written = new Map<FailureCause, number>()
  const inOutage = new Set<FailureCause>()
  let failures = 0
  let isAnnounced = false
  return {
    note({ cause, code }) {
      failures += 1
      const lastMs = written.get(cause)
      if (inOutage.has(cause) || (lastMs !== undefined && nowMs() - lastMs < QUIET_MS)) return
      inOutage.add(cause)
      written.set(cause, nowMs())
      isAnnounced = true
      log.warn({ event: 'shared_limits_unavailable', cause, code }, `The server of shared limits ${CAUSES[cause].text}`)
    },
    noteAnswer() {
      inOutage.clear()
      if (isAnnounced) log.info({ event: 'shared_limits_available', failures }, 'The server of shared limits answers')
      isAnnounced = false
      failures = 0
    }
  }
}
