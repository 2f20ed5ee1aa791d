// Reports requests without a valid gateway or admin key: each one to the observers of requests, and
// at most one log line a second for each address (decisions.md 41). The response is never 429: SDKs
// repeat one, and behind a proxy all clients have one address.
import type { Logger } from '../../shared/logging.ts'
import type { AuthenticationFailure } from '../observation/observer.ts'
import type { Fingerprint } from './request/fingerprint.ts'
import type { RequestContext } from './request-context.ts'

export interface AuthenticationFailures {
  /** Reports one refused request. `keyName`: of a key that is configured and may not be used. */
  report(context: RequestContext, reason: AuthenticationFailure, keyName?: string): void
}

const LINE_INTERVAL_MS = 1000
/** About 0.2 MB. A further address replaces the one that was logged longest ago, whose next failure is logged at once. */
const ADDRESSES_MAX = 1024

export function createAuthenticationFailures({
  log,
  fingerprint,
  nowMs
}: {
  log: Logger
  fingerprint: Fingerprint
  nowMs: () => number
}): AuthenticationFailures {
  /** The addresses in the order of their last line, with the number of failures since. */
  const lines = new Map<string, { loggedAtMs: number; unlogged: number }>()

  return {
    report(context, reason, keyName) {
      context.authenticationFailed(reason)
      const address = context.incoming.socket.remoteAddress ?? ''
      const now = nowMs()
      const last = lines.get(address)
      if (last !== undefined && now - last.loggedAtMs < LINE_INTERVAL_MS) {
        last.unlogged += 1
        return
      }
      lines.delete(address)
      lines.set(address, { loggedAtMs: now, unlogged: 0 })
      const oldest = lines.size > ADDRESSES_MAX ? lines.keys().next().value : undefined
      if (oldest !== undefined) lines.delete(oldest)
      log.warn(
        {
          event: 'authentication_failed',
          ...context.logIds,
          reason,
          api_key_name: keyName,
          route: context.route,
          client_ip_hash: fingerprint(address),
          unlogged: last?.unlogged ?? 0
        },
        'A request has no valid key'
      )
    }
  }
}
