// How the gateway, its providers, keys and sinks are: asked again and again, for the overview and for the mark in the navigation.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Api } from './data/api.ts'
import { findProblems, type GatewayState, type Problem } from './data/attention.ts'
import { type Answer, useLoaded } from './loaded.ts'

const REFRESH_MS = 15_000

export interface WatchedState extends GatewayState {
  readonly problems: readonly Problem[]
}

export const StateContext = createContext<Answer<WatchedState> | undefined>(undefined)

export function useGatewayState(): Answer<WatchedState> | undefined {
  return useContext(StateContext)
}

/** Each part may fail by itself: the views say why. */
export function useWatchedState(): Answer<WatchedState> {
  return useLoaded(ask, { everyMs: REFRESH_MS })
}

async function ask(api: Api, signal: AbortSignal): Promise<WatchedState> {
  const [readiness, health, providers, keys] = await Promise.allSettled([
    api.readiness(signal),
    api.health(signal),
    api.providers(signal),
    api.keys(signal)
  ])
  const state: GatewayState = {
    ...(readiness.status === 'fulfilled' && { readiness: readiness.value }),
    ...(health.status === 'fulfilled' && { health: health.value }),
    ...(providers.status === 'fulfilled' && { providers: providers.value }),
    ...(keys.status === 'fulfilled' && { keys: keys.value })
  }
  return { ...state, problems: findProblems(state, Date.now()) }
}
