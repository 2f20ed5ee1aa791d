// What is known of a provider: what the calls have seen, the sums of a range of time, and the models that it serves.
import type { CatalogModel, Provider, SumsRow } from './api.ts'

export type ProviderState = 'failing' | 'degraded' | 'working' | 'unused'

export interface ServedModel {
  readonly alias: string
  readonly model: CatalogModel | undefined
  readonly sums: SumsRow | undefined
}

export interface ProviderFacts {
  readonly provider: Provider
  readonly state: ProviderState
  /** Of the range; absent without a request. */
  readonly sums: SumsRow | undefined
  readonly models: readonly ServedModel[]
}

export interface ProviderSources {
  readonly nowMs: number
  readonly providers: readonly Provider[]
  /** By profile. */
  readonly whole: readonly SumsRow[]
  /** By profile and alias. */
  readonly byAlias: readonly SumsRow[]
  readonly models: readonly CatalogModel[]
}

const FAILURES_MIN = 3
/** A failure that is not older makes a provider degraded. */
const RECENT_MS = 5 * 60_000

/** The worst first. */
export function describeProviders({ nowMs, providers, whole, byAlias, models }: ProviderSources): ProviderFacts[] {
  const order: readonly ProviderState[] = ['failing', 'degraded', 'working', 'unused']
  const facts = providers.map(provider => {
    const id = provider.profile_id
    const sums = whole.find(row => row.profile_id === id)
    return {
      provider,
      sums,
      state: readState(provider, nowMs),
      models: listModels(
        byAlias.filter(row => row.profile_id === id),
        models.filter(model => model.provider_profile_id === id)
      )
    }
  })
  return facts.sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state))
}

/** The sums have no part in it: they count the mistakes of clients as well, which the provider's own failures do not (bridge.md 5.4). */
function readState(provider: Provider, nowMs: number): ProviderState {
  const { last_success_at: lastSuccess, consecutive_failures: failures, last_failures, inventory } = provider
  if (failures >= FAILURES_MIN) return 'failing'
  const isListed = inventory === null || inventory.state === 'fresh'
  const hasFailed = last_failures.some(({ at }) => nowMs - Date.parse(at) < RECENT_MS)
  if (failures > 0 || !isListed || hasFailed) return 'degraded'
  return lastSuccess === null ? 'unused' : 'working'
}

/** Models that are listed or were used, those with the most requests first. */
function listModels(rows: readonly SumsRow[], models: readonly CatalogModel[]): ServedModel[] {
  const names = new Set([...rows.map(({ alias }) => alias ?? ''), ...models.map(({ id }) => id)])
  names.delete('')
  const served = [...names].map(alias => ({
    alias,
    model: models.find(({ id }) => id === alias),
    sums: rows.find(row => row.alias === alias)
  }))
  return served.sort(
    (one, other) => (other.sums?.requests ?? 0) - (one.sums?.requests ?? 0) || one.alias.localeCompare(other.alias)
  )
}
