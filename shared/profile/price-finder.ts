// Which price a model has (keys.md 4): that of the deployment, else that of the alias, else that of the prices file.

import type { Price, PriceList } from '../prices.ts'
import type { ModelAlias, ProviderProfile } from './profile.ts'

/** What a request was planned for. */
export interface PricedRoute {
  /** As the gateway lists it. */
  readonly model?: string | undefined
  readonly profileId?: string | undefined
  readonly upstreamModel?: string | undefined
  /** The profile is that of the target which was chosen for an alias with several deployments. */
  readonly isTarget?: boolean | undefined
}

/** Returns the price of a model; undefined where none is declared. */
export type FindPrice = (route: PricedRoute) => Price | undefined

type PricedProfile = Pick<ProviderProfile, 'profileId'> & {
  readonly models: readonly Pick<ModelAlias, 'publicAlias' | 'upstreamModel' | 'targets' | 'pricing'>[]
}

/** Whether any model has a price: a budget counts nothing without one. */
export function hasPrices(profiles: readonly PricedProfile[], models: PriceList['models']): boolean {
  return (
    Object.keys(models).length > 0 ||
    profiles.some(profile => profile.models.some(({ pricing }) => pricing !== undefined))
  )
}

/** Looks the prices of aliases and of a prices file up. */
export function createPriceFinder(
  profiles: readonly PricedProfile[],
  { models }: Pick<PriceList, 'models'>
): FindPrice {
  const aliases = new Map<string, Price>()
  const deployments = new Map<string, Price>()
  for (const { profileId, models: declared } of profiles) {
    for (const { publicAlias, upstreamModel, targets, pricing } of declared) {
      if (pricing === undefined) continue
      aliases.set(publicAlias, pricing)
      // What is declared for several deployments together says nothing of a single one.
      const key = deploymentKey(profileId, upstreamModel)
      if (targets === undefined && !deployments.has(key)) deployments.set(key, pricing)
    }
  }
  const findListed = createListReader(models)
  return ({ model, profileId, upstreamModel, isTarget }) => {
    const ofTarget =
      isTarget === true && profileId !== undefined && upstreamModel !== undefined
        ? deployments.get(deploymentKey(profileId, upstreamModel))
        : undefined
    return ofTarget ?? (model === undefined ? undefined : (aliases.get(model) ?? findListed(model)))
  }
}

/** The exact name goes before the longest beginning. */
function createListReader(models: PriceList['models']): (model: string) => Price | undefined {
  const exact = new Map(Object.entries(models))
  const beginnings = [...exact]
    .filter(([pattern]) => pattern.endsWith('*'))
    .map(([pattern, price]) => ({ beginning: pattern.slice(0, -1), price }))
    .sort((left, right) => right.beginning.length - left.beginning.length)
  return model => exact.get(model) ?? beginnings.find(({ beginning }) => model.startsWith(beginning))?.price
}

/** An id has no blank, so that the key is of one deployment alone. */
function deploymentKey(profileId: string, upstreamModel: string): string {
  return `${profileId} ${upstreamModel}`
}
