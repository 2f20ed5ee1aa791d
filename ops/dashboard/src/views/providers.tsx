// The gateway and its providers: whether it is ready, what is in force, how each provider is and which models it serves. No provider is called
// for it.
import { useCallback } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { keepRange } from '../data/address.ts'
import type { Api } from '../data/api.ts'
import { describeProviders } from '../data/providers.ts'
import { alignRange, boundsOf, chooseBucket, DEFAULT_RANGE, endsNow, readRange } from '../data/ranges.ts'
import { useLoaded } from '../loaded.ts'
import { LoadedView } from '../parts/loaded-view.tsx'
import { RangeBar } from '../parts/range-bar.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { ViewHead } from '../parts/view-head.tsx'
import { useGatewayState } from '../state.ts'
import { GatewayCard } from './providers/gateway-card.tsx'
import { ModelTable } from './providers/model-table.tsx'
import { ProviderCard } from './providers/provider-card.tsx'

const REFRESH_MS = 10_000

/** Sums, and the models where a keys file hides them, may be missing: what the calls have seen is there all the same. */
async function load(api: Api, time: string, hidesModels: boolean, signal: AbortSignal) {
  const now = Date.now()
  const range = readRange(JSON.parse(time), now) ?? { fromMs: now - 3_600_000, toMs: now }
  const bucket = chooseBucket(range, now)
  const bounds = { ...boundsOf(alignRange(range, bucket)), bucket }
  const [providers, whole, byAlias, models] = await Promise.all([
    api.providers(signal),
    api.sums({ ...bounds, by: ['profile_id'] }, signal).catch(() => []),
    api.sums({ ...bounds, by: ['profile_id', 'alias'] }, signal).catch(() => []),
    hidesModels ? [] : api.models(signal).catch(() => [])
  ])
  return describeProviders({ providers, whole, byAlias, models })
}

export function Providers() {
  const { params } = useNavigation()
  const state = useGatewayState()?.value
  const { range, from, to } = keepRange(params, DEFAULT_RANGE)
  const time = JSON.stringify({ range, from, to })
  // Before it is known, the models are not asked for: a refusal would be a failure of the page.
  const hidesModels =
    state === undefined || state.readiness === undefined || state.readiness.keys_revision !== undefined
  const ask = useCallback((api: Api, signal: AbortSignal) => load(api, time, hidesModels, signal), [time, hidesModels])
  const everyMs = readsRefresh(params) && endsNow(params) ? REFRESH_MS : undefined
  const { atMs, isLoading, reload, ...loaded } = useLoaded(ask, { everyMs, keeps: true })
  return (
    <section class="view" aria-labelledby="providers-title">
      <ViewHead name="providers" title="Providers">
        <RangeBar fallback={DEFAULT_RANGE} />
        <Refresh atMs={atMs} isLoading={isLoading} onRefresh={reload} />
      </ViewHead>
      <GatewayCard readiness={state?.readiness} health={state?.health} />
      <LoadedView loaded={loaded}>
        {facts => (
          <>
            <ul class="cards" aria-label="Providers">
              {facts.map(one => (
                <ProviderCard key={one.provider.profile_id} facts={one} nowMs={atMs ?? Date.now()} />
              ))}
            </ul>
            <ModelTable facts={facts} />
          </>
        )}
      </LoadedView>
    </section>
  )
}
