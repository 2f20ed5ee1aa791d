// What is known of a provider: what the calls have seen, the sums of a range of time, and the models that it serves.
import type { CatalogModel, Provider, SumsRow } from './api.ts'
import { isMadeUp } from './figures.ts'

export type ProviderState = 'failing' | 'degraded' | 'working' | 'unused'

/** Failed requests by who could have helped it. */
export interface FailedRequests {
  /** Of the provider or the way to it. */
  readonly ofProvider: number
  /** Refused by the gateway, by the provider for what the client sent, or left by the client. */
  readonly others: number
}

export interface ServedModel {
  /** As clients name it. */
  readonly name: string
  /** The filter of its records. */
  readonly filter: Readonly<Record<string, string>>
  readonly model: CatalogModel | undefined
  readonly sums: SumsRow | undefined
  readonly failed: FailedRequests
}

export interface ProviderFacts {
  readonly provider: Provider
  readonly state: ProviderState
  /** Of the range; absent without a request. */
  readonly sums: SumsRow | undefined
  readonly failed: FailedRequests
  readonly models: readonly ServedModel[]
}

export interface ProviderSources {
  readonly nowMs: number
  readonly providers: readonly Provider[]
  /** By profile. */
  readonly whole: readonly SumsRow[]
  /** By profile and alias. */
  readonly byAlias: readonly SumsRow[]
  /** By profile, alias and model: those without an alias are of discovered models. */
  readonly byModel: readonly SumsRow[]
  /** By profile, alias, model and error code. */
  readonly byCode: readonly SumsRow[]
  readonly models: readonly CatalogModel[]
}

const FAILURES_MIN = 3
/** A failure that is not older makes a provider degraded. */
const RECENT_MS = 5 * 60_000

/** The classes of failures that the client gets as a mistake of its own request (bridge.md 5.4). */
const CLIENT_CLASSES: ReadonlySet<string> = new Set(['http_400', 'http_404', 'http_413', 'http_422'])
/** Codes of the other failures of calls; refusals of a provider for what the client sent have others. */
const PROVIDER_CODE =
  /^(?:provider_\w+|upstream_(?:unauthorized|forbidden|error|generation_error)|rate_limited|destination_mismatch|credential_unavailable)$/

/** The worst first. */
export function describeProviders(sources: ProviderSources): ProviderFacts[] {
  const { nowMs, providers, whole, byCode } = sources
  const order: readonly ProviderState[] = ['failing', 'degraded', 'working', 'unused']
  const facts = providers.map(provider => {
    const id = provider.profile_id
    const isOfProfile = (row: SumsRow) => row.profile_id === id
    return {
      provider,
      sums: whole.find(isOfProfile),
      failed: countFailed(byCode.filter(isOfProfile)),
      state: readState(provider, nowMs),
      models: listModels(id, sources)
    }
  })
  return facts.sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state))
}

/** Of all requests in per cent; null without one. */
export function shareOf(failed: number, sums: SumsRow | undefined): number | null {
  return sums === undefined || sums.requests === 0 ? null : (100 * failed) / sums.requests
}

function countFailed(rows: readonly SumsRow[]): FailedRequests {
  let ofProvider = 0
  let others = 0
  for (const { error_code: code, errors } of rows) {
    if (PROVIDER_CODE.test(code ?? '')) ofProvider += errors
    else others += errors
  }
  return { ofProvider, others }
}

/** The sums have no part in it: they count the mistakes of clients as well, which the provider's own failures do not (bridge.md 5.4). */
function readState(provider: Provider, nowMs: number): ProviderState {
  const { last_success_at: lastSuccess, consecutive_failures: failures, last_failures, inventory } = provider
  if (failures >= FAILURES_MIN) return 'failing'
  const isListed = inventory === null || inventory.state === 'fresh'
  const hasFailed = last_failures.some(
    ({ class: name, at }) => !CLIENT_CLASSES.has(name) && nowMs - Date.parse(at) < RECENT_MS
  )
  if (failures > 0 || !isListed || hasFailed) return 'degraded'
  return lastSuccess === null ? 'unused' : 'working'
}

/** Models that are listed or were used, those with the most requests first: by their alias, or else by the name of a discovered model. */
function listModels(profile: string, { byAlias, byModel, byCode, models }: ProviderSources): ServedModel[] {
  const isOfProfile = (row: SumsRow) => row.profile_id === profile
  const listed = new Map(
    models.filter(model => model.provider_profile_id === profile).map(model => [model.id, model] as const)
  )
  // A name that a client made up is refused each time.
  const isServed = (name: string, { requests, errors }: SumsRow) =>
    !isMadeUp('model', name) && (listed.has(name) || requests > errors)
  const used = [
    ...byAlias.filter(row => isOfProfile(row) && row.alias).map(row => [row.alias ?? '', row] as const),
    ...byModel
      .filter(row => isOfProfile(row) && !row.alias && row.model && isServed(row.model, row))
      .map(row => [row.model ?? '', row] as const)
  ]
  const sumsOf = new Map(used)
  const aliases = new Set(byAlias.filter(isOfProfile).map(({ alias }) => alias))
  const served = [...new Set([...sumsOf.keys(), ...listed.keys()])].map(name => {
    const isAlias = aliases.has(name)
    const failed = byCode.filter(
      row => isOfProfile(row) && (isAlias ? row.alias === name : !row.alias && row.model === name)
    )
    return {
      name,
      filter: isAlias ? { alias: name } : { model: name },
      model: listed.get(name),
      sums: sumsOf.get(name),
      failed: countFailed(failed)
    }
  })
  return served.sort(
    (one, other) => (other.sums?.requests ?? 0) - (one.sums?.requests ?? 0) || one.name.localeCompare(other.name)
  )
}
