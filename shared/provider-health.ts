// What the calls of a gateway have seen of each profile, for documents, metrics and the dashboard
// (bridge.md 5.4). No provider is called for it, and readiness does not depend on it.

/** When a certificate ends, and when it was seen. */
export interface SeenCertificate {
  /** Milliseconds since the epoch, as every time here. */
  readonly expiresAtMs: number
  readonly seenAtMs: number
}

/** The certificates of a profile's connections; null where none was seen. */
export interface SeenCertificates {
  /** That of the provider, on the connection that was made last. */
  readonly provider: SeenCertificate | null
  /** The one that is shown to the provider. */
  readonly client: SeenCertificate | null
}

/** The last failure of a class, such as `timeout` or `http_429`. A text of a failure is never kept. */
export interface LastFailure {
  readonly failure: string
  readonly atMs: number
}

export interface ProviderHealth {
  readonly profileId: string
  /** Null where no call has succeeded yet. */
  readonly lastSuccessAtMs: number | null
  /** Failures since the last success, those left out that only the client can correct. */
  readonly consecutiveFailures: number
  /** One of each class, the latest first. */
  readonly lastFailures: readonly LastFailure[]
  readonly certificates: SeenCertificates
}

/** Classes that are kept of one profile: those of the transport, and the latest statuses. */
export const FAILURE_CLASSES_MAX = 16

/** Of a profile that was not called yet. */
export function createHealth(profileId: string): ProviderHealth {
  return {
    profileId,
    lastSuccessAtMs: null,
    consecutiveFailures: 0,
    lastFailures: [],
    certificates: { provider: null, client: null }
  }
}

/**
 * Adds what was seen later, or in another process, to what is known. The failures of a report belong behind its own success; those that
 * another process saw in the same moment count all.
 */
export function addHealth(known: ProviderHealth, report: ProviderHealth): ProviderHealth {
  const isNewSuccess = report.lastSuccessAtMs !== null && report.lastSuccessAtMs > (known.lastSuccessAtMs ?? -1)
  return {
    profileId: known.profileId,
    lastSuccessAtMs: isNewSuccess ? report.lastSuccessAtMs : known.lastSuccessAtMs,
    consecutiveFailures: (isNewSuccess ? 0 : known.consecutiveFailures) + report.consecutiveFailures,
    lastFailures: mergeFailures(known.lastFailures, report.lastFailures),
    certificates: {
      provider: keepLatest(known.certificates.provider, report.certificates.provider),
      client: keepLatest(known.certificates.client, report.certificates.client)
    }
  }
}

function mergeFailures(known: readonly LastFailure[], reported: readonly LastFailure[]): readonly LastFailure[] {
  if (reported.length === 0) return known
  const latest = new Map<string, number>()
  for (const { failure, atMs } of [...known, ...reported]) {
    latest.set(failure, Math.max(atMs, latest.get(failure) ?? 0))
  }
  return [...latest]
    .map(([failure, atMs]) => ({ failure, atMs }))
    .sort((one, other) => other.atMs - one.atMs)
    .slice(0, FAILURE_CLASSES_MAX)
}

function keepLatest(known: SeenCertificate | null, reported: SeenCertificate | null): SeenCertificate | null {
  if (known === null || reported === null) return reported ?? known
  return reported.seenAtMs >= known.seenAtMs ? reported : known
}

/** How a call ended, as far as it matters here. */
export interface SeenOutcome {
  readonly profileId: string
  /** Undefined for a success. */
  readonly failure: string | undefined
  /** Only the client can correct the failure. */
  readonly isOfClient: boolean
}

/** Adds the end of a call. */
export function addOutcome(known: ProviderHealth, { failure, isOfClient }: SeenOutcome, atMs: number): ProviderHealth {
  if (failure === undefined) return { ...known, lastSuccessAtMs: atMs, consecutiveFailures: 0 }
  return {
    ...known,
    consecutiveFailures: known.consecutiveFailures + (isOfClient ? 0 : 1),
    lastFailures: mergeFailures(known.lastFailures, [{ failure, atMs }])
  }
}

/** The health of each profile of a gateway, in their order: the sum of all reports. */
export interface HealthBoard {
  /** A new list after each change. */
  list(): readonly ProviderHealth[]
  /** Ignores a profile that is none of the gateway. */
  add(reports: readonly ProviderHealth[]): void
}

export function createHealthBoard(profileIds: readonly string[]): HealthBoard {
  let healths: readonly ProviderHealth[] = profileIds.map(createHealth)
  return {
    list: () => healths,
    add(reports) {
      const byId = new Map(reports.map(report => [report.profileId, report]))
      healths = healths.map(known => {
        const report = byId.get(known.profileId)
        return report === undefined ? known : addHealth(known, report)
      })
    }
  }
}
