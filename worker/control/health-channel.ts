// Reports to the supervisor how the calls of this worker ended, a few times a second at most, and
// keeps what all workers have seen (bridge.md 5.4).
import {
  addOutcome,
  createHealth,
  type ProviderHealth,
  type SeenCertificate,
  type SeenCertificates,
  type SeenOutcome
} from '../../shared/provider-health.ts'

/** Between the first outcome and the report of it and of those that follow. */
const REPORT_DELAY_MS = 250

export interface HealthReporter {
  /** Takes the end of a call. */
  record(outcome: SeenOutcome): void
  /** Sends what has not been sent. */
  flush(): void
  /** Sends it for the last time: the worker exits. */
  close(): void
}

export interface HealthReporterOptions {
  report: (reports: ProviderHealth[]) => void
  /** The certificates of a profile's connections as of now. */
  readCertificates: (profileId: string) => SeenCertificates | undefined
  /** Milliseconds since the epoch. */
  now: () => number
}

/** Creates the reporter of a worker. Its reports hold each profile that was called, once. */
export function createHealthReporter({ report, readCertificates, now }: HealthReporterOptions): HealthReporter {
  let seen = new Map<string, ProviderHealth>()
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (seen.size === 0) return
    const reports = [...seen.values()].map(health => ({
      ...health,
      certificates: copyCertificates(readCertificates(health.profileId))
    }))
    seen = new Map()
    report(reports)
  }

  return {
    record(outcome) {
      const { profileId } = outcome
      seen.set(profileId, addOutcome(seen.get(profileId) ?? createHealth(profileId), outcome, now()))
      // It must not keep the process alive.
      timer ??= setTimeout(flush, REPORT_DELAY_MS).unref()
    },
    flush,
    close: flush
  }
}

function copyCertificates({ provider = null, client = null }: Partial<SeenCertificates> = {}): SeenCertificates {
  return { provider: copy(provider), client: copy(client) }
}

/** A message holds nothing but what it is described by. */
function copy(certificate: SeenCertificate | null): SeenCertificate | null {
  return certificate && { expiresAtMs: certificate.expiresAtMs, seenAtMs: certificate.seenAtMs }
}
