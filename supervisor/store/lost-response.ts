// A response whose runner has exited: its lease has run out, and it is read as failed (memory.md 4).
import { isEnded, type ResponseStatus } from '../../shared/memory/store.ts'

/** @param leaseUntil undefined where the response has no lease. */
function isLost(status: ResponseStatus, leaseUntil: number | undefined, nowMs: number): boolean {
  return !isEnded(status) && leaseUntil !== undefined && leaseUntil <= nowMs
}

/** The status as a reader finds it. */
export function readStatus(status: ResponseStatus, leaseUntil: number | undefined, nowMs: number): ResponseStatus {
  return isLost(status, leaseUntil, nowMs) ? 'failed' : status
}
